"""The loop guard: two sessions that answer each other can not go on for a night (CON-4).

Owns the rule and its words. Pure. Must not know how messages are counted (`waking.py`), nor which conduit asks: server
and sensor loop go by the same rule.
"""

from __future__ import annotations

PACED, HELD = 10, 30
"""Messages of one session since the operator last typed: from the first on one a minute may wake, then none."""
PACE = 60_000
"""Milliseconds between two messages of one session that may wake, once it is paced."""

NOW, LATER, NEVER = "now", "later", "never"


def verdict(count: int, last: int | None, now: int) -> str:
    """Whether a session's next message may wake, after `count` since the operator typed; one woke at `last` ms."""
    if count >= HELD:
        return NEVER
    if count >= PACED and last is not None and now - last < PACE:
        return LATER
    return NOW


def note(name: str, count: int) -> str:
    """What the woken session is told of it, from the last message that comes at once on; empty before."""
    if count < PACED - 1:
        return ""
    return (
        f"agent-ways: {count + 1} messages from {name} since your user last typed. Further ones wake this session "
        f"at most once a minute, and none after {HELD}: they wait until your user types."
    )


def told(name: str, count: int) -> str:
    """What the sender is told, after `count` messages to that session since its user typed; empty before the pace."""
    if count > HELD:
        return f"kept: more than {HELD} messages from here to {name} since its user last typed; none wakes it before"
    if count > PACED:
        return f"more than {PACED} messages from here to {name} since its user last typed; one a minute may wake it"
    return ""
