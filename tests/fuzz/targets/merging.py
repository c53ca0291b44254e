"""settings.json (LIFE-4): our entries go in and out again, and every other character stays."""

from __future__ import annotations

import json
from typing import Any

from agent_ways.ways.settings.jsonedit import NotEditableError, parse
from agent_ways.ways.settings.merge import Base, Offer, merge, view, withdraw
from tests.fuzz.shapes import near, text_of
from tests.fuzz.target import Pump, Target

BETWEEN = b"\n\x00\n"
"""What stands between a settings.json and, where there is one, the base of an earlier merge."""
OFFERS = (
    Offer(("permissions", "allow"), "mcp__agent-ways__attend_inbox"),
    Offer(("permissions", "allow"), "Monitor(attend run)"),
    Offer(("hooks", "Stop"), {"hooks": [{"type": "command", "command": "/home/me/.claude/hooks/agent-ways-stop.sh"}]}),
    Offer(
        ("hooks", "SessionStart"),
        {"matcher": "*", "hooks": [{"type": "command", "command": "'/a b/hooks/agent-ways-start.sh' start", "timeout": 10}]},
    ),
)  # fmt: skip
SETTINGS = {
    "model": "opus",
    "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/usr/bin/say done"}]}]},
    "statusLine": {"type": "command", "command": "ways statusline"},
}
BASE = {
    "entries": [
        {"state": state, "where": list(offer.where), "value": offer.value}
        for state, offer in zip(("added", "declined", "found", "adding"), OFFERS, strict=True)
    ],
    "made": [[["hooks"], None], [["permissions", "deny"], "[]"]],
}


def check(data: bytes) -> None:
    text, _, rest = data.partition(BETWEEN)
    try:
        settings = text.decode("utf-8")
        base = Base.from_json(json.loads(rest)) if rest else Base()
    except (ValueError, RecursionError):
        return
    _base(base)
    try:
        merged = merge(settings, OFFERS, base)
    except NotEditableError as error:
        assert str(error)
        return
    before, after = _value(settings), _value(merged.text)
    assert after is not None
    parse(merged.text or "")
    if merged.text != settings:
        assert merged.added or merged.removed or rest, "something was changed and nothing is told"
    again = merge(merged.text, OFFERS, merged.base)
    assert (again.text, again.added, again.removed) == (merged.text, (), ()), "a second merge changes something"
    assert view(after, merged.base) == view(before, base, merged.base), "something of the person's is not as it was"
    if rest:
        _value(withdraw(merged.text, merged.base).text or "{}")
        return
    assert withdraw(merged.text, merged.base).text == settings, "withdrawn, and not as it was"
    for entry in merged.added:
        assert entry in {offer.name for offer in OFFERS}


def _base(base: Base) -> None:
    again = Base.from_json(json.loads(json.dumps(base.to_json())))
    assert again == base, "a base is written otherwise than it was read"


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text.removeprefix("\ufeff"))  # a mark that an editor put there stays


TARGET = Target(
    "merging",
    check,
    text_of(near(SETTINGS)) | text_of(near(SETTINGS)).flatmap(lambda one: text_of(near(BASE)).map(lambda two: one + BETWEEN + two)),
    (
        *(b'"permissions":{', b'"allow":[', b'"hooks":{', b'"Stop":[', b'"mcp__agent-ways__attend_inbox",', b"\t", b"\r\n", b"  ", BETWEEN),
        *(json.dumps(OFFERS[2].value).encode(), b'"command":"/home/me/.claude/hooks/agent-ways-stop.sh"', b'"made":[[["hooks"],"x"]]'),
        *(json.dumps(BASE).encode(), b'"where":["hooks","Stop"]', b'"state":"added"', b'"command":"\'"'),
    ),
    (
        Pump(b" "),
        Pump(b"x", b'{"a":"', b'"}'),
        Pump(b'"a":1,', b"{", b'"b":1}'),
        Pump(b'"x",', b'{"permissions":{"allow":[', b'"y"]}}'),
        Pump(b'{"hooks":[{"command":"/x"}]},', b'{"hooks":{"Stop":[', b"{}]}}"),
        Pump(b"\n", b"{", b"}"),
    ),
)  # fmt: skip
