"""The client's transcripts: read in pieces or whole, and judged for proofs, cache, idleness and mode (ID-6 to ID-9)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent_ways.attend import evidence, headers, ids
from agent_ways.claude import cache, idle, permission, prompts, proof, transcript
from agent_ways.claude.records import SessionRecord
from agent_ways.claude.transcript import Row, Rows
from agent_ways.keepalive import traces
from tests.fuzz.shapes import lines_of
from tests.fuzz.target import Pump, Target
from tests.support import transcripts as rows

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = 1764537072123
ID = "06hm3k2v9wqa-7c4n0zpd"
RECORD = SessionRecord(pid=1, session="s", config_dir="/c", status="idle", start="1")
READERS = evidence.READERS
SAMPLES = (
    rows.typed("hello", NOW),
    rows.channel_event(f"[attend signal {ID} from Fern-alpha (s) to Moss-beta]\nhello", NOW),
    rows.peer_message("hello", NOW),
    rows.notification("[attend] 1 message", NOW),
    rows.queued("hello", NOW, {"kind": "channel", "server": "agent-ways"}),
    rows.enqueue(f"[attend waiting {ID}]", NOW),
    rows.stop_feedback("[attend] 1 message", NOW),
    rows.hook_context("[attend] 1 message", NOW),
    rows.interruption(NOW),
    rows.assistant("msg_1", NOW, [rows.tool_use("toolu_1", READERS[0])]),
    rows.tool_result("toolu_1", NOW, json.dumps({"signals": [{"id": ID, "body": "x"}]})),
    rows.api_request("req_1", NOW),
    rows.compact_boundary(NOW),
    {"type": "permission-mode", "permissionMode": "plan", "sessionId": "s"},
)


def check(data: bytes) -> None:
    whole = _walk(data, 1 << 22)
    longest = max((len(line) for line in data.split(b"\n")), default=0)
    for limit in (97, 1024):
        pieces = _walk(data, limit)
        assert {row.line for row in pieces} <= {row.line for row in whole}
        if longest < limit:
            assert pieces.rows == whole.rows, "the rows hang on how the file was read"
            assert pieces.damaged == whole.damaged
    tail = transcript._tail(-1, len(data), 1024, _reader(data))
    assert tail.rows == tuple(row for row in whole if row.line >= tail.start and tail.start + 1024 >= len(data))
    assert tail.end == whole.end or not tail.rows
    assert transcript._line_in(-1, len(data) - 1024, len(data), _reader(data)) == tail.start
    for row in whole:
        assert row.at is None or -(10**15) < row.at < 10**15
    _judged(whole)


def _reader(data: bytes) -> Callable[[int, int, int], bytes]:
    return lambda _fd, size, offset: data[offset : offset + size]


def _walk(data: bytes, limit: int) -> Rows:
    found: list[Row] = []
    at = damaged = 0
    while True:
        part = transcript._since(-1, len(data), at, limit, _reader(data))
        assert part.end > at or not part.more, "a look that does not come forward"
        assert not part.rewritten
        found += part.rows
        damaged += part.damaged
        at = part.end
        if not part.more:
            assert data[at - 1 : at] in (b"", b"\n")
            assert at == data.rfind(b"\n") + 1 or len(data) - at > limit or b"\n" not in data[at:]
            return Rows(tuple(found), end=at, damaged=damaged)


def _judged(found: Rows) -> None:
    shown = proof.shown(found)
    for one in (*shown, *proof.arrivals(found), *proof.tool_results(found, READERS, proof.calls(found))):
        assert isinstance(one.text, str)
        assert isinstance(one.source, str)
        whole, named = headers.read_back(one.text)
        assert all(ids.is_id(each) for each in (*whole, *named))
        assert all(ids.is_id(each) and 0 < part <= parts for each, part, parts in evidence.in_result(one.text))
        assert not whole & named
    aside = [Row({**row.raw, "isSidechain": True}, row.line) for row in found]
    assert proof.shown(aside) == proof.arrivals(aside) == (), "a subagent's row is proof"
    assert prompts.in_transcript(aside) is None
    _counts(cache.cache_evidence(found))
    _counts(cache.cache_evidence(aside))
    at = prompts.in_transcript(found)
    assert at is None or at in {row.at for row in found}
    assert prompts.newest(10**15, at) == 10**15, "the operator's clock runs backwards"
    assert isinstance(idle.idle(RECORD, found).reason, str)
    assert isinstance(permission.asks(found), bool)
    mode: Any = permission.mode(found)
    assert mode is None or isinstance(mode, str)
    traces.traces(found.rows, ("p1",), "agent-ways")
    traces.first_answer(found.rows, NOW)


def _counts(found: cache.CacheEvidence) -> None:
    assert found.tier in (None, cache.HOUR, cache.FIVE_MINUTES)
    for number in (found.context_tokens, found.last_read_tokens, found.last_write_tokens):
        assert number is None or number >= 0
    assert found.reason or None not in (found.last_request_ms, found.tier, found.context_tokens)


TARGET = Target(
    "transcripts",
    check,
    lines_of(*SAMPLES),
    (
        *(b'"type":"user"', b'"type":"assistant"', b'"isSidechain":true,', b'"origin":{"kind":"channel","server":"agent-ways"}'),
        *(b'"timestamp":"9999-12-31T23:59:59.999-23:59"', b'"timestamp":"0000-01-01T00:00:00Z"', b'"usage":', b'"content":'),
        *(b'"cache_creation":{"ephemeral_1h_input_tokens":5}', b'"attachment":{"type":"queued_command"}', b'"message":', b'"id":'),
        *(f"[attend signal {ID} ".encode(), f"[attend waiting {ID}]".encode(), b"Stop hook feedback:\\n", b"\n{}\n", b"\n"),
    ),
    (
        Pump(b"\n"),
        Pump(b"{}\n"),
        Pump(b"a"),
        Pump(json.dumps(SAMPLES[1]).encode() + b"\n"),
        Pump(json.dumps(SAMPLES[9]).encode() + b"\n"),
        Pump(json.dumps(SAMPLES[12]).encode() + b"\n"),
        Pump(f"[attend waiting {ID} ".encode(), json.dumps(SAMPLES[1]).encode()[:-2] + b'","x":"', b'"}\n'),
        Pump(b"[", b'{"type":"user","x":', b"\n"),
    ),
)  # fmt: skip
