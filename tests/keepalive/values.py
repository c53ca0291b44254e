"""Values of keepalive for tests: each with everything in order, and what a test is about changed by name."""

from __future__ import annotations

from typing import Any

from agent_ways.base.process import Owner
from agent_ways.claude.cache import HOUR, CacheEvidence
from agent_ways.claude.idle import Idle
from agent_ways.keepalive.moves import observe
from agent_ways.keepalive.record import Attempt, Record
from agent_ways.keepalive.situation import Clock, Conduits, Settings, Situation

NOON = 1_796_040_000_000
MIN, HOURS = 60_000, 3_600_000
SESSION = "00000000-0000-4000-8000-00000000abcd"
ME = Owner(host="here", boot="b", namespace="", pid=100, start="1")
OTHER = Owner(host="here", boot="b", namespace="", pid=200, start="2")
ARMED = Settings(armed=True)


def clock(now: int = NOON, **more: Any) -> Clock:
    return Clock(
        **{"wall_ms": now, "awake_ms": now - NOON + HOURS, "steady_ms": now - NOON + HOURS, "boot": "b", **more}
    )


def cache(age: int = 50 * MIN, now: int = NOON, **more: Any) -> CacheEvidence:
    known = {"tier": HOUR, "context_tokens": 50_000, "last_read_tokens": 49_000, "last_write_tokens": 1_000}
    return CacheEvidence(**{"last_request_ms": now - age, **known, **more})


def situation(now: int = NOON, **more: Any) -> Situation:
    """Idle for 50 minutes after a prompt 51 minutes ago, on the hour tier, both conduits there.

    `operator_ms` sets what history and transcript say of the operator in one.
    """
    if "operator_ms" in more:
        more["history_ms"] = more["typed_ms"] = more.pop("operator_ms")
    plain = {
        "clock": clock(now),
        "session": SESSION,
        "owner": ME,
        "idle": Idle(True, "the session's record says idle"),
        "cache": cache(now=now),
        "conduits": Conduits(("channel", "inbox_socket")),
        "history_ms": now - 51 * MIN,
        "typed_ms": now - 51 * MIN,
        "typed_line": 10,
    }
    return Situation(**{**plain, **more})


def observed(found: Situation, record: Record | None = None, settings: Settings = ARMED) -> Record:
    return observe(record or Record(session=SESSION), found, settings)


def attempt(kind: str = "ping", state: str = "intent", now: int = NOON, **more: Any) -> Attempt:
    plain = {
        "kind": kind,
        "id": "00000000000000aa",
        "state": state,
        "at_ms": now,
        "awake_ms": clock(now).awake_ms,
        "boot": "b",
        "owner": ME,
        "conduits": ("channel",),
        "operator_ms": NOON - 51 * MIN,
        "context_tokens": 50_000,
    }
    return Attempt(**{**plain, **more})
