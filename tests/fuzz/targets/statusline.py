"""What the client writes to its status line command (KA-2): the answer is one short line, or nothing, never an error."""

from __future__ import annotations

import json
import os
import tempfile

from agent_ways.attend.statusline import line
from tests.fuzz.shapes import near, text_of
from tests.fuzz.target import Pump, Target
from tests.fuzz.targets.ours import ATTEMPT, KEEPALIVE

SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
SAMPLE = {
    "session_id": SESSION,
    "transcript_path": "/home/person/.claude/projects/x/y.jsonl",
    "cwd": "/home/person/web",
    "model": {"id": "m", "display_name": "M"},
    "prompt_cache": {"warm": True, "expires_at": 1764537072, "tier": "1h"},
}
NOW = 1764537000000
BETWEEN = b"\n\x00\n"
"""What stands between the input and, where there is one, keepalive's record of that session."""
FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-statusline-")
STATE = os.path.join(FOLDER.name, "agent-ways", "keepalive")
ENV = {"HOME": FOLDER.name, "XDG_STATE_HOME": FOLDER.name}
os.makedirs(STATE)


def check(data: bytes) -> None:
    given, _, record = data.partition(BETWEEN)
    path = os.path.join(STATE, f"{SESSION}.json")
    if record:
        with open(path, "wb") as file:
            file.write(record)
    try:
        told = line(given, ENV, NOW)
    finally:
        if record:
            os.unlink(path)
    assert len(told) <= 200
    assert told.isprintable()
    told.encode("utf-8")
    assert os.listdir(FOLDER.name) == ["agent-ways"], "the status line writes something"


TARGET = Target(
    "statusline",
    check,
    text_of(near(SAMPLE)) | text_of(near(KEEPALIVE | {"wrap": ATTEMPT})).map(lambda record: json.dumps(SAMPLE).encode() + BETWEEN + record),
    (
        *(b'"session_id":"', b'"prompt_cache":{', b'"expires_at":', b'"warm":false', b"1e10", b"99999999999", b"0.5", BETWEEN),
        *(b'"window_ms":', b'"operator_ms":', b'"armed":true', b'"stopped":"x"', b"9" * 30),
    ),
    (Pump(b"x", b'{"session_id":"', b'"}'), Pump(b"["), Pump(b" "), Pump(b'"a":1,', b"{", b'"b":1}')),
)  # fmt: skip
