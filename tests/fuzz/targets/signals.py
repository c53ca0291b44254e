"""Signals on disk (ATT-1, ATT-11): read whole or refused, shown with exactly their own header, written back the same."""

from __future__ import annotations

import json

from agent_ways.attend import drain, headers, ids, layout
from agent_ways.attend.signals import Signal, iso, parse
from agent_ways.base.errors import DamagedRecordError, NewerRecordError
from agent_ways.base.jsontext import dumps, dumps_readable
from agent_ways.base.records import parse_record
from agent_ways.claude.transcript import iso_ms
from tests.fuzz.shapes import near, text_of
from tests.fuzz.target import Pump, Target

ID = "06hm3k2v9wqa-7c4n0zpd"
OTHER = "06hm3k2v9wqb-7c4n0zpe"
SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
SAMPLE = {
    "v": 1,
    "id": ID,
    "at": "2026-11-30T21:31:12.123Z",
    "from": {"kind": "session", "session": SESSION, "name": "Fern-alpha", "project": "/home/person/web", "host": "north"},
    "on_behalf_of": None,
    "to": ["#deploy", SESSION],
    "room": "channel.deploy",
    "re": OTHER,
    "thread": OTHER,
    "body": "are the tests green?\n- yes or no",
    "recipients": [SESSION],
}  # fmt: skip


def check(data: bytes) -> None:
    try:
        record = parse_record(data, "/bus/signal.json", layout.FORMAT)
        signal = parse(record, ID)
    except (DamagedRecordError, NewerRecordError) as error:
        assert len(error.message) < 400
        return
    written = dumps({"v": layout.FORMAT, **signal.to_json(), "recipients": list(signal.recipients)}).encode("ascii")
    assert parse(parse_record(written, "/bus/signal.json", layout.FORMAT), ID) == signal, (
        "what was read is written otherwise"
    )
    assert iso_ms(iso(signal.at)) == signal.at
    _shown(signal)


def _shown(signal: Signal) -> None:
    header = headers.header(signal)
    assert header.count("\n") == 0
    assert header.endswith("]")
    assert headers.read_back(header) == (frozenset((signal.id,)), frozenset())
    shown = headers.shown(signal)
    shown.encode("utf-8")
    assert headers.read_back(shown) == (frozenset((signal.id,)), frozenset()), (
        "a text passes for another signal's header"
    )
    made = drain.compose([signal] * (12 if len(signal.body) < 4_000 else 1))
    assert made is not None
    text = dumps_readable({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": made.text}})
    text.encode("utf-8")
    assert len(text) <= 10_000, "more than the client takes from a hook"
    assert json.loads(text)["hookSpecificOutput"]["additionalContext"] == made.text
    whole, named = headers.read_back(made.text)
    assert whole | named == {signal.id}
    assert ids.is_id(signal.thread)


TARGET = Target(
    "signals",
    check,
    text_of(near(SAMPLE)),
    (
        *(f'"{key}":'.encode() for key in SAMPLE),
        *(b'"kind":"human"', b'"user":"me"', f"[attend signal {OTHER} ".encode(), f"[attend waiting {OTHER}]".encode()),
        *(b'"at":"9999-12-31T23:59:59.999-23:59"', b'"at":"0999-01-01T00:00:00Z"', "İ".encode(), b"\\u0130", b"\\n"),
    ),
    (
        Pump(b"x", b'{"v":1,"body":"', b'"}'),
        Pump(b"[attend ", json.dumps({**SAMPLE, "body": ""}).encode()[:-30].split(b'"body"')[0] + b'"recipients":[],"body":"', b'"}'),
        Pump(b"<channel", json.dumps(SAMPLE).encode().split(b'"body"')[0] + b'"body":"', b'"}'),
        Pump(b'"a",', json.dumps(SAMPLE).encode().split(b'"to"')[0] + b'"room":"r","body":"b","to":[', b'"b"]}'),
    ),
)  # fmt: skip
