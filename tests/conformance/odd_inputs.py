"""Odd input, line by line, each with the answer that is expected: what no public suite sends (SRV-5).

Owns the cases and the judging of answers. After each case a ping must be answered; whatever came before its answer
is what the case brought. All cases go to one server, which at the end must leave with its input.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.conformance.outcome import Outcome
from tests.support.wire import Wire, WireError, initialize, initialized

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.outcome import Target
    from tests.support.wire import JSON

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
LEAVES_WITHIN = 0.1
"""Seconds from the end of input to the exit (SRV-8)."""
TRIES = 3
"""A machine that is busy with other things may be late; not thrice."""


@dataclass(frozen=True)
class Case:
    """`data` goes to the server; `expected` judges the one answer to it, or is None where there must be none.

    In `pieces` it is written byte by byte.
    """

    name: str
    data: bytes
    expected: Callable[[JSON], bool] | None
    pieces: bool = False


def error(code: int, id_: Any = None, saying: str = "") -> Callable[[JSON], bool]:
    """An error answer with that code and exactly that id, naming `saying`."""

    def judge(answer: JSON) -> bool:
        found = answer.get("error", {})
        return "result" not in answer and _same(answer, id_) and found["code"] == code and saying in found["message"]

    return judge


def result(id_: Any, saying: str = "", *, failed: bool = False) -> Callable[[JSON], bool]:
    """A result under exactly that id, in whose JSON `saying` stands; `failed`: one that says the call went wrong."""

    def judge(answer: JSON) -> bool:
        found = answer.get("result", {})
        right = "error" not in answer and _same(answer, id_) and bool(found.get("isError")) == failed
        return right and saying in json.dumps(found)

    return judge


def _same(answer: JSON, id_: Any) -> bool:
    """Equal with the type kept: 1 is not "1", not 1.0 and not true."""
    return "id" in answer and type(answer["id"]) is type(id_) and bool(answer["id"] == id_)


def _ping(id_: str, rest: str = "") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{id_},"method":"ping"{rest}}}'.encode()


def _call(id_: str, params: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":"{id_}","method":"tools/call","params":{params}}}\n'.encode()


DISCOVER = b'{"jsonrpc":"2.0","id":"sd","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"odd","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}\n'  # noqa: E501 - one line is what it is
AGAIN = b'{"jsonrpc":"2.0","id":"re","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"odd","version":"0"}}}\n'  # noqa: E501 - as above

CASES = (
    Case("blank line", b"\n", None),
    Case("spaces and a carriage return", b"  \t\r\n", None),
    Case("CRLF line end", _ping('"crlf"') + b"\r\n", result("crlf")),
    Case("byte order mark", b"\xef\xbb\xbf" + _ping('"bom"') + b"\n", error(PARSE)),
    Case("not JSON", b"hello\n", error(PARSE)),
    Case("truncated", b'{"jsonrpc":"2.0","id":9,"method":"pi\n', error(PARSE)),
    Case("something behind the message", _ping('"two"') + b" 1\n", error(PARSE)),
    Case("NaN", _ping('"nan"', ',"params":{"a":NaN}') + b"\n", error(PARSE)),
    Case(
        "bad UTF-8 in a string",
        _ping('"u8"', ',"params":{"x":"\xff"}').replace(b"\xc3\xbf", b"\xff") + b"\n",
        result("u8"),
    ),
    Case("escaped NUL in a name", _call("nul", '{"name":"a\\u0000b","arguments":{}}'), error(PARAMS, "nul")),
    Case("raw NUL", _ping('"rawnul"') + b"\x00\n", error(PARSE)),
    Case("batch", b"[" + _ping('"b1"') + b"," + _ping('"b2"') + b"]\n", error(REQUEST, saying="batch")),
    Case("empty batch", b"[]\n", error(REQUEST)),
    Case("scalar", b"42\n", error(REQUEST)),
    Case("id null", _ping("null") + b"\n", error(REQUEST)),
    Case("id float", _ping("1.5") + b"\n", error(REQUEST)),
    Case("id bool", _ping("true") + b"\n", error(REQUEST)),
    Case("id object", _ping('{"a":1}') + b"\n", error(REQUEST)),
    Case("id zero", _ping("0") + b"\n", result(0)),
    Case("id empty", _ping('""') + b"\n", result("")),
    Case("id 1", _ping("1") + b"\n", result(1)),
    Case('id "1"', _ping('"1"') + b"\n", result("1")),
    Case("id negative", _ping("-7") + b"\n", result(-7)),
    Case("id beyond a double", _ping("9007199254740993") + b"\n", result(9007199254740993)),
    Case("duplicate key", b'{"jsonrpc":"2.0","id":"d1","id":"d2","method":"ping"}\n', result("d2")),
    Case("no jsonrpc", b'{"id":"nj","method":"ping"}\n', error(REQUEST, "nj")),
    Case("no method", b'{"jsonrpc":"2.0","id":"nm"}\n', error(REQUEST, "nm")),
    Case("unknown method", b'{"jsonrpc":"2.0","id":"um","method":"no/such"}\n', error(METHOD, "um")),
    Case("unknown notification", b'{"jsonrpc":"2.0","method":"notifications/no/such"}\n', None),
    Case(
        "notification with params that are no object",
        b'{"jsonrpc":"2.0","method":"notifications/x","params":1}\n',
        None,
    ),
    Case("server/discover", DISCOVER, error(METHOD, "sd")),
    Case(
        "cancel of nothing",
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nope"}}\n',
        None,
    ),
    Case("stray response", b'{"jsonrpc":"2.0","id":"zz","result":{}}\n', None),
    Case("stray error", b'{"jsonrpc":"2.0","id":"zz","error":{"code":1,"message":"x"}}\n', None),
    Case("second initialize", AGAIN, result("re", '"protocolVersion": "2025-06-18"')),
    Case("params a list", b'{"jsonrpc":"2.0","id":"pa","method":"tools/list","params":[]}\n', error(PARAMS, "pa")),
    Case(
        "params null", b'{"jsonrpc":"2.0","id":"pn","method":"tools/list","params":null}\n', result("pn", "ways_status")
    ),
    Case("unknown tool", _call("ut", '{"name":"ways_statu","arguments":{}}'), error(PARAMS, "ut", "ways_status")),
    Case("no tool name", _call("nt", '{"arguments":{}}'), error(PARAMS, "nt")),
    Case("arguments a string", _call("as", '{"name":"ways_status","arguments":"x"}'), error(PARAMS, "as")),
    Case("arguments left out", _call("al", '{"name":"ways_status"}'), result("al", "structuredContent")),
    Case(
        "unknown argument",
        _call("ua", '{"name":"ways_status","arguments":{"zzz":1}}'),
        result("ua", "zzz", failed=True),
    ),
    Case("20,000 levels deep", _ping('"deep"', f',"params":{{"a":{"[" * 20000}{"]" * 20000}}}') + b"\n", error(PARSE)),
    Case("a line of 8 MB", _ping('"big"', f',"params":{{"_meta":{{"x":"{"a" * 8_000_000}"}}}}') + b"\n", result("big")),
    Case("one byte at a time", _ping('"slow"') + b"\n", result("slow"), pieces=True),
    Case("two messages in one write", _ping('"first"') + b"\n\n\r\n", result("first")),
)


def run(target: Target) -> list[Outcome]:
    """All cases, then the end of input; stops at a server that is gone."""
    outcomes = []
    with Wire(target.command, env=target.env, stderr="unread") as wire:
        wire.send(initialize(), initialized())
        wire.answer(0)
        for case in CASES:
            try:
                outcomes.append(_one(wire, case))
            except (WireError, OSError) as problem:
                outcomes.append(Outcome(f"odd: {case.name}", passed=False, detail=str(problem).splitlines()[0]))
                return outcomes
    return [*outcomes, _unfinished(target), _leaving(target)]


def _one(wire: Wire, case: Case) -> Outcome:
    for piece in [case.data[at : at + 1] for at in range(len(case.data))] if case.pieces else [case.data]:
        wire.send_bytes(piece)
    answers = [line.data for line in wire.until_ping()]
    shown = " ".join(answer.decode("utf-8", "replace")[:150] for answer in answers) or "silence"
    if case.expected is None:
        return Outcome(f"odd: {case.name}", not answers, shown)
    try:
        right = len(answers) == 1 and case.expected(json.loads(answers[0]))
    except (ValueError, LookupError, TypeError, AttributeError):
        right = False
    return Outcome(f"odd: {case.name}", right, shown)


def _unfinished(target: Target) -> Outcome:
    """Input that ends without a newline: the line counts."""
    with Wire(target.command, env=target.env, stderr="unread") as wire:
        wire.send_bytes(_ping('"last"'))
        wire.close_stdin()
        lines = [line.data for line in wire.rest()]
        code = wire.wait_exit()
    answered = len(lines) == 1 and result("last")(json.loads(lines[0]))
    return Outcome("odd: last line without a newline", answered and code == 0, f"{lines!r}, exit {code}")


def _leaving(target: Target) -> Outcome:
    took, codes = [], []
    for _ in range(TRIES):
        with Wire(target.command, env=target.env, stderr="unread") as wire:
            wire.handshake()
            began = time.monotonic()
            wire.close_stdin()
            codes.append(wire.wait_exit())
            took.append(time.monotonic() - began)
    detail = f"exit {codes[0]} after {min(took) * 1000:.0f} ms"
    return Outcome("end of input", codes == [0] * TRIES and min(took) <= LEAVES_WITHIN, detail)
