"""The loop guard: two sessions that answer each other can not go on for a night (CON-4).

Owns the rule and its words. Pure. Must not know how exchanges are counted.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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


def counts(senders: Iterable[str]) -> dict[str, int]:
    """How many messages each session has sent."""
    found: dict[str, int] = {}
    for sender in senders:
        found[sender] = found.get(sender, 0) + 1
    return found
