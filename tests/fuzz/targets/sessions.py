"""The client's session records (ID-1)."""

from __future__ import annotations

import json
import os

from agent_ways.claude.records import SessionRecord, parse, session_name
from tests.fuzz.shapes import near, text_of
from tests.fuzz.target import Pump, Target

SAMPLE = {
    "pid": 4242,
    "sessionId": "aaaaaaaa-0000-4000-8000-000000000001",
    "cwd": "/home/person/web",
    "startedAt": 1764537072123,
    "procStart": "812345",
    "version": "2.1.332",
    "kind": "interactive",
    "entrypoint": "cli",
    "status": "waiting",
    "waitingFor": "permission prompt",
    "messagingSocketPath": "/tmp/cc-socks/4242.sock",
    "name": "the web shop",
    "updatedAt": 1764537072999,
    "statusUpdatedAt": 1764537072999,
}
TEXTS = ("cwd", "start", "version", "kind", "entrypoint", "status", "waiting_for", "socket", "name")
COUNTS = ("pid", "started_at", "updated_at", "status_updated_at")


def check(data: bytes) -> None:
    found = parse(data, "/home/person/.claude")
    if found is None:
        return
    assert session_name(found.session) == found.session
    assert os.path.basename(found.session) == found.session
    assert found.session not in ("", ".", "..")
    for name in TEXTS:
        text = getattr(found, name)
        assert text is None or (isinstance(text, str) and text and text.encode("utf-8")), name
    for name in COUNTS:
        number = getattr(found, name)
        assert number is None or (type(number) is int and number >= 0), name
    assert found.pid > 0
    assert found.start is None or found.start == " ".join(found.start.split())
    assert found.is_sdk is bool(found.entrypoint and found.entrypoint.startswith("sdk-"))
    assert parse(_rendered(found), found.config_dir) == found, "what it says is not read back"


def _rendered(record: SessionRecord) -> bytes:
    fields = {
        "pid": record.pid,
        "sessionId": record.session,
        "cwd": record.cwd,
        "startedAt": record.started_at,
        "procStart": record.start,
        "version": record.version,
        "kind": record.kind,
        "entrypoint": record.entrypoint,
        "status": record.status,
        "waitingFor": record.waiting_for,
        "messagingSocketPath": record.socket,
        "name": record.name,
        "updatedAt": record.updated_at,
        "statusUpdatedAt": record.status_updated_at,
    }
    return json.dumps(fields).encode()


TARGET = Target(
    "sessions",
    check,
    text_of(near(SAMPLE)),
    (*(f'"{key}":'.encode() for key in SAMPLE), b'"sessionId":"..",', b'"sessionId":"a/../b",', b'"procStart":7,', b"1e3", b"1.5"),
    (Pump(b"x", b'{"pid":1,"sessionId":"a","cwd":"', b'"}'), Pump(b" x", b'{"pid":1,"sessionId":"a","procStart":"', b'"}'), Pump(b"["), Pump(b'"a":1,', b"{")),
)  # fmt: skip
