"""The client's global file, `.claude.json` (LIFE-5): what stands under our name, and what is to be done about it."""

from __future__ import annotations

import json

from agent_ways.claude.registration import NAME, Found, parse, plan_registration, plan_removal
from tests.fuzz.shapes import near, text_of
from tests.fuzz.target import Pump, Target

COMMAND = "/home/me/.claude/bin/ways-mcp"
SECRET = "sk-secret-0123456789"  # noqa: S105  # a word to look for where it must not be
ENTRY = {
    "type": "stdio",
    "command": "/old/ways-mcp",
    "args": [],
    "env": {"KEY": SECRET},
    "timeout": 5000,
    "alwaysLoad": True,
}
SAMPLE = {
    "numStartups": 12,
    "mcpServers": {"other": {"type": "http", "url": "https://example.org/mcp"}, NAME: ENTRY},
    "projects": {"/home/me/web": {"mcpServers": {}, "history": []}},
}
STATES = ("current", "add", "replace", "foreign", "unreadable")


def check(data: bytes) -> None:
    found = parse(data)
    for plan in (plan_registration(found, COMMAND), plan_removal(found, COMMAND)):
        assert plan.state in (*STATES, "remove", "absent")
        assert plan.reason
        assert (plan.state in ("add", "replace", "remove")) is bool(plan.steps)
        assert len(plan.reason) <= 900
        if SECRET in data.decode("utf-8", "replace") and isinstance(found.entry, dict):
            shown = {**found.entry, "env": None}
            assert SECRET not in plan.reason or SECRET in str(shown), "a secret of the entry's environment is shown"
        for step in plan.steps:
            assert all("\0" not in word for word in step)
            if step[1] == "add-json":
                _added(found, json.loads(step[3]))
    if found.state == "entry" and found.command == COMMAND:
        assert plan_registration(found, COMMAND).state == "current"


def _added(found: Found, entry: dict[str, object]) -> None:
    assert entry["type"] == "stdio"
    assert entry["command"] == COMMAND
    for key, value in (found.entry or {}).items():
        assert key in ("type", "command") or entry[key] == value, f"{key} is not carried over"


TARGET = Target(
    "registration",
    check,
    text_of(near(SAMPLE)),
    (
        *(b'"mcpServers":{', b'"agent-ways":', b'"command":"/x/ways-mcp"', b'"type":"stdio",', b'"args":["x"],', SECRET.encode()),
        *(COMMAND.encode(), b'"type":"http"', b'"command":"ways-mcp.exe"', b'"command":"a\\u0000/ways-mcp"'),
    ),
    (
        Pump(b"x", b'{"mcpServers":{"agent-ways":{"command":"', b'"}}}'),
        Pump(b'"a":1,', b'{"mcpServers":{"agent-ways":{"command":"/x/ways-mcp",', b'"b":1}}}'),
        Pump(b"["),
        Pump(b'"a",', b'{"mcpServers":{"agent-ways":{"command":"/x","args":[', b'"b"]}}}'),
    ),
)  # fmt: skip
