"""Records of our own on disk, after damage or an edit by hand: read whole or refused, and written back with all keys."""

from __future__ import annotations

import json
from typing import Any

from agent_ways.attend import instances
from agent_ways.attend.ledger import Ledger
from agent_ways.base.errors import DamagedRecordError, NewerRecordError
from agent_ways.base.jsontext import dumps
from agent_ways.base.process import Owner
from agent_ways.base.records import parse_record
from agent_ways.keepalive.record import Record
from agent_ways.ways import targets
from tests.fuzz.shapes import near, text_of
from tests.fuzz.target import Pump, Target

OWNER = {"host": "north", "boot": "b1", "namespace": "pid:[1]", "pid": 4242, "start": "812345"}
SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
ID = "06hm3k2v9wqa-7c4n0zpd"
INSTANCE = {
    "v": 1,
    "key": "k1",
    "nickname": "Fern",
    "ordinal": 1,
    "project": "/home/person/web",
    "host": "north",
    "sessions": [SESSION],
    "config_dir": "/home/person/.claude",
    "client": OWNER,
    "enrolled": ["sent"],
    "updated": 1764537072123,
}
CLAIM = {
    "state": "pushed",
    "conduit": "channel",
    "at": 1764537072123,
    "since": 12.5,
    "client": OWNER,
    "by": 4243,
    "sessions": [SESSION],
    "offset": 100,
    "tries": 1,
    "stalls": 0,
    "left": False,
}
LEDGER = {
    "v": 1,
    "key": "k1",
    "claims": {ID: CLAIM},
    "down": {"channel": {"reason": "no trace", "client": OWNER, "session": SESSION}},
    "looked": {SESSION: [0, 100]},
    "calls": {"toolu_1": "mcp__agent-ways__attend_inbox"},
    "last": {"ids": [ID], "conduit": "channel", "at": 1764537072123},
    "cold": OWNER,
    "counted": 0,
    "more": {"rounds": 1},
}
ATTEMPT = {
    "kind": "ping",
    "id": "p1",
    "state": "proven",
    "at_ms": 1,
    "awake_ms": 1,
    "boot": "b1",
    "owner": OWNER,
    "conduits": ["channel"],
    "operator_ms": 1,
    "request_ms": 1,
    "context_tokens": 1,
    "proof": {"kind": "channel", "at_ms": 1, "line": 0},
    "verdict": "warm",
    "read_tokens": 1,
    "reason": "",
}
SIGHT = {"stamp_ms": 1, "age_ms": 1, "wall_ms": 1, "steady_ms": 1, "boot": "b1"}
KEEPALIVE = {
    "v": 1,
    "session": SESSION,
    "armed": True,
    "window_ms": 28_800_000,
    "operator_ms": 1,
    "operator_line": 0,
    "passed_ms": None,
    "tries": 1,
    "pings": 1,
    "tokens": 100,
    "stopped": "",
    "ping": ATTEMPT,
    "wrap": None,
    "down": [{"conduit": "channel", "owner": OWNER, "reason": "no trace"}],
    "request_sight": SIGHT,
    "operator_sight": SIGHT,
}
PLACES = {
    "v": 1,
    "targets": [
        {
            "config_dir": "/home/person/.claude",
            "enabled": True,
            "registered": [True],
            "links": {"skills/attend": "x"},
            "moved": {},
            "settings": {"entries": [], "made": []},
        }
    ],
}


def check(data: bytes) -> None:
    try:
        record = parse_record(data, "/state/record.json", 1)
    except (DamagedRecordError, NewerRecordError) as error:
        assert error.message.startswith("/state/record.json")
        assert len(error.message) < 400
        return
    kept = record | {"ours": 1}
    assert json.loads(dumps(kept)) == kept, "a record that was read can not be written back"
    _instance(record)
    _ledger(record)
    _keepalive(record)
    _places(record)


def _instance(record: dict[str, Any]) -> None:
    try:
        found = instances.parse(record, str(record.get("key")), "/state/record.json")
    except DamagedRecordError:
        return
    again = instances.parse(json.loads(dumps(found.to_record())), found.key, "/state/record.json")
    assert again.but(raw={}) == found.but(raw={})
    assert found.but(ordinal=7).to_record().keys() >= record.keys(), "an unknown key is lost"
    assert found.session
    assert isinstance(found.name, str)


def _ledger(record: dict[str, Any]) -> None:
    found = Ledger("k1", record)
    written = json.loads(dumps(found.to_record()))
    assert Ledger("k1", written).to_record() == found.to_record()
    assert not Ledger("k1", written).changed
    for conduit in (*found.down, "channel"):
        assert isinstance(found.why_down(conduit, Owner.from_json(OWNER), SESSION), str)


def _keepalive(record: dict[str, Any]) -> None:
    try:
        found = Record.from_json(record)
    except DamagedRecordError as error:
        assert len(error.message) < 400
        return
    written = json.loads(dumps(found.to_json()))
    assert Record.from_json(written) == found
    assert written.keys() >= record.keys(), "an unknown key is lost"


def _places(record: dict[str, Any]) -> None:
    listed = record.get("targets")
    for each in listed if isinstance(listed, list) else [record]:
        found = targets._known(each, "/home/person")
        if found is not None:
            assert targets._known(json.loads(dumps(found.to_json())), "/home/person") == found


TARGET = Target(
    "ours",
    check,
    text_of(near(INSTANCE) | near(LEDGER) | near(KEEPALIVE) | near(PLACES)),
    (
        *(b'"v":1,', b'"v":2,', b'"v":true,', b'"sessions":', b'"client":', b'"claims":', b'"looked":', b'"ping":', b'"key":'),
        *(json.dumps(OWNER).encode(), b'"targets":[', b'"config_dir":"/x",', b'"settings":', b'"more":', b'"since":'),
    ),
    (Pump(b"x", b'{"v":1,"key":"', b'"}'), Pump(b"["), Pump(b'"a":1,', b'{"v":1,', b'"b":1}'), Pump(b'"a":[1,2],', b'{"v":1,"looked":{', b'"b":1}}')),
)  # fmt: skip
