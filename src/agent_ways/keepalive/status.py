"""What keepalive says of itself: one plain value for `keepalive_status` and `ways keepalive status` (KA-2).

Owns how it follows from a look; its form is in `shape.py`. It asks the judge that acts. Pure but for `status_now`,
which looks and reads the record, and writes nothing. What is not known is null, never left out. Times are ISO 8601
in UTC, durations seconds.
"""

from __future__ import annotations

import time

from agent_ways.base.errors import WaysError
from agent_ways.keepalive.judge import PING, STOP, WRAP, Answer, View, judge, note
from agent_ways.keepalive.moves import observe, quiet
from agent_ways.keepalive.record import Record
from agent_ways.keepalive.situation import PING_COST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_ways.keepalive.keeper import Eyes, Records
    from agent_ways.keepalive.record import Attempt
    from agent_ways.keepalive.situation import Settings, Situation

KNOWN_BY = "the newest cache write in the transcript"


def status(situation: Situation, record: Record, settings: Settings, notes: tuple[str, ...] = ()) -> dict[str, Any]:
    """All that is known. `record` has had the situation observed; `notes` name what of the config made no sense."""
    view = View(situation, record, settings)
    answer = judge(situation, record, settings)
    cache, typed = situation.cache, record.operator_ms is not None
    told = note(settings, cache.tier)
    left = view.limit - record.tries * PING_COST
    expires = None if view.ttl is None or view.cache_age is None else max(0, view.ttl - view.cache_age)
    return {
        "session": situation.session or None,
        "armed": settings.armed,
        "window": {
            "length_s": settings.window_ms / 1000,
            "typed_at": iso(record.operator_ms),
            "closes_at": iso(situation.clock.wall_ms + view.closes_in) if typed and not view.closed else None,
            "closes_in_s": _seconds(view.closes_in) if typed else None,
            "open": typed and settings.armed and not view.closed,
        },
        "cache": {
            "tier": cache.tier,
            "kept_s": _seconds(settings.ttl_ms(cache.tier)),
            "known_by": KNOWN_BY if cache.tier else None,
            "age_s": _seconds(view.cache_age),
            "expires_in_s": _seconds(expires),
            "context_tokens": cache.context_tokens,
            "reason": cache.reason,
        },
        "next": {
            "action": answer.action,
            "rule": answer.rule,
            "reason": answer.reason,
            "then": _then(answer, view),
            "in_s": _seconds(answer.after_ms),
        },
        "pings": {
            "sent": record.tries,
            "proven": record.pings,
            "cost_tokens": record.tokens,
            "spent": record.tries * PING_COST / 1000,
            "limit": view.limit / 1000,
            "left": max(0, left // PING_COST),
            "last": None if record.ping is None else _told(record.ping),
        },
        "readback": _readback(record.ping),
        "wrap": {
            "state": record.wrap.state if record.wrap else "none",
            "at": iso(record.wrap.at_ms) if record.wrap else None,
            "reason": record.wrap.reason if record.wrap else "",
        },
        "quiet": quiet(record, record.operator_ms),
        "conduit": {
            "name": next(iter(view.conduits()), None),
            "reason": "; ".join([*_downs(record, situation), *filter(None, [situation.conduits.reason])]),
        },
        "notes": [*notes, *([told] if told else [])],
    }


def status_now(eyes: Eyes, store: Records, settings: Settings, notes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Look, read the record, and say what would be done now; nothing is written and nothing pushed."""
    session = eyes.session()
    trouble = ""
    try:
        saved = store.read(session) if session else None
    except WaysError as error:
        saved, trouble = None, f"{error.message}. {error.hint}".strip()
    situation = eyes.look(saved)
    record = saved if saved is not None and saved.session == situation.session else Record(session=situation.session)
    found = status(situation, observe(record, situation, settings), settings, notes)
    if trouble:
        found["next"] = {"action": STOP, "rule": "state", "reason": trouble, "then": None, "in_s": None}
    return found


def _then(answer: Answer, view: View) -> str | None:
    """What the wait is for: the event that comes at its end, as far as is known."""
    if answer.action in (PING, WRAP):
        return answer.action
    if answer.after_ms is None or answer.rule != "fresh":
        return None
    return WRAP if answer.after_ms >= view.closes_in else PING


def _told(attempt: Attempt) -> str:
    said = f"{attempt.state} by {attempt.conduits[-1]} at {iso(attempt.at_ms)}"
    return f"{said}: {attempt.reason}" if attempt.reason else said


def _readback(ping: Attempt | None) -> dict[str, Any]:
    known = ping if ping is not None and ping.verdict else None
    return {
        "verdict": known.verdict if known else None,
        "read_tokens": known.read_tokens if known else None,
        "context_tokens": known.context_tokens if known else None,
        "at": iso(known.at_ms) if known else None,
    }


def _downs(record: Record, situation: Situation) -> list[str]:
    return [f"{one.conduit} is down: {one.reason}" for one in record.down if one.owner == situation.owner]


def iso(ms: int | None) -> str | None:
    """A time as text, in UTC; None where the calendar has no such day."""
    if ms is None:
        return None
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms // 1000))
    except (ValueError, OverflowError, OSError):
        return None


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
