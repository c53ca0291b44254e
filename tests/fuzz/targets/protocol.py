"""The server's standard input: any bytes, split in any way (SRV-1, SRV-5, SRV-7)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from agent_ways.server import messages
from agent_ways.server.protocol import REVISIONS, Call, Protocol, Reply
from agent_ways.server.surface import SURFACE
from agent_ways.server.tools import LONGEST_TEXT, failure_text, problems
from tests.fuzz.shapes import lines_of
from tests.fuzz.target import Pump, Target

if TYPE_CHECKING:
    from agent_ways.server.protocol import Event

CODES = {messages.PARSE_ERROR, messages.INVALID_REQUEST, messages.METHOD_NOT_FOUND, messages.INVALID_PARAMS}
PING = b'{"jsonrpc":"2.0","id":"the last","method":"ping"}\n'
ROOM = 8_000
"""Characters of an error beside what it echoes."""
LISTED = tuple((name, entry) for name, entry in SURFACE)
SCHEMAS = {name: json.loads(entry)["inputSchema"] for name, entry in LISTED}


def check(data: bytes) -> None:
    whole = _protocol()
    events = whole.receive(data) if data else []
    for split in (1, 7, 4096):
        pieces = _protocol()
        found = [event for at in range(0, len(data), split) for event in pieces.receive(data[at : at + split])]
        assert found == events, "the events hang on how the bytes were split"
        if len(data) > 4096:
            break
    events += whole.receive(b"")
    lines = data.split(b"\n")
    replies = [event for event in events if isinstance(event, (Reply, Call))]
    assert len(replies) <= len([line for line in lines if line.strip()]), "more answers than lines"
    for event in events:
        _event(event, data)
    after = _protocol()
    after.receive(data + b"\n")
    last = after.receive(PING)
    assert [one.id for one in last if isinstance(one, Reply)] == ["the last"], "the next ping gets no answer"


def _protocol() -> Protocol:
    return Protocol(version="1.2.3", instructions="read", tools=LISTED)


def _event(event: Event, data: bytes) -> None:
    if isinstance(event, Call):
        found = problems(SCHEMAS[event.tool], event.arguments)
        assert all(found)
        _line(Reply(event.id, messages.result_line(event.id, failure_text(*found))), data)
    elif isinstance(event, Reply):
        _line(event, data)


def _line(reply: Reply, data: bytes) -> None:
    text = reply.data.decode("ascii")
    assert text.endswith("\n")
    assert text.count("\n") == 1, "an answer of more than one line"
    answer: dict[str, Any] = json.loads(text)
    assert answer["jsonrpc"] == "2.0"
    assert answer["id"] == reply.id
    if "error" in answer:
        assert answer["error"]["code"] in CODES
        assert len(answer["error"]["message"]) <= ROOM
        assert (answer["id"] is None) >= (answer["error"]["code"] == messages.PARSE_ERROR)
    elif "tools" in answer["result"]:
        assert text.endswith("]}}\n")
    elif "protocolVersion" in answer["result"]:
        assert answer["result"]["protocolVersion"] in REVISIONS
    assert len(text) <= 12 * len(data) + LONGEST_TEXT, "an answer out of all proportion"


TARGET = Target(
    "protocol",
    check,
    lines_of(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "attend_send", "arguments": {"to": ["a"]}}},
        {"jsonrpc": "2.0", "id": "1", "method": "initialize", "params": {"protocolVersion": REVISIONS[0]}},
        {"jsonrpc": "2.0", "id": 0, "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "attend_inbox", "arguments": {"limit": 3}}},
        [{"jsonrpc": "2.0", "id": 2**53 + 1, "method": "ping", "params": None}],
        {"jsonrpc": "2.0", "id": 3, "result": {}},
    )
    | st.binary(max_size=100),
    (
        *(b'"jsonrpc":"2.0"', b'"id":', b'"method":"tools/call"', b'"params":', b'"name":"attend_inbox"', b'"arguments":'),
        *(b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n', b'"method":"notifications/initialized"', b'"requestId":', b"}\n{"),
    ),
    (
        Pump(b"a", b'{"jsonrpc":"2.0","id":1,"method":"', b'"}\n'),
        Pump(b"["),
        Pump(b"\n"),
        Pump(b" "),
        Pump(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'),
        Pump(b'"x":1,', b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"attend_send","arguments":{', b'"y":1}}}\n'),
        Pump(b"a", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"', b'"}}\n'),
        Pump(b"9", b'{"jsonrpc":"2.0","method":"ping","id":', b"}\n"),
    ),
)  # fmt: skip
