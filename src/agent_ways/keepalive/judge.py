"""The judge of keepalive: given one look at a session and its record, what is to be done now, and why.

Owns the rules, in order; the first that applies answers. Pure: no clock, no file, no process. Must not know how an
event travels or is worded. `keepalive_status`, `ways keepalive status`, the server and the sensor loop all ask it.

     1 excluded      no session resolved, or one of -p or an SDK                     stop
     2 off           not armed                                                       stop
     3 no-window     the window is zero or negative                                  stop
     4 elsewhere     another process keeps this session warm                         wait
     5 in-flight     an event was pushed, no trace yet, patience not over            wait
     6 never-typed   no prompt of the operator is known                              wait
     7 wrapped       a wrap was sent for the last prompt, and no second try is left  stop
     8 stopped       a ping found the cache cold                                     stop
     9 no-conduit    no conduit, or all of them left no trace                        wait
    10 busy          not idle, or the client is stopped                              wait
    11 unknown       cache, tier or age not known; compacted since                   wait
    12 expired       the cache has expired, or does within moments                   stop
    13 close         the window is closed                                            wrap
    14 spent         one more ping would cost more than a cold start                 stop
    15 pinged        this idle stretch had its ping, and no second try is left       wait
    16 last-quarter  the cache is in the last quarter of its time                    ping
    17 fresh         otherwise                                                       wait
"""

from __future__ import annotations

from agent_ways.base.values import Value
from agent_ways.claude.cache import HOUR
from agent_ways.keepalive import record as records
from agent_ways.keepalive.moves import waited_ms
from agent_ways.keepalive.situation import PING_COST, age_ms
from agent_ways.keepalive.words import spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from agent_ways.keepalive.record import Attempt, Record
    from agent_ways.keepalive.situation import Settings, Situation

WAIT = "wait"
"""Nothing now; look again after the time given, or when something changes."""
STOP = "stop"
"""Nothing until something happens outside: a prompt, a turn, a change of the config."""
PING = records.PING
WRAP = records.WRAP

TRIES = 2
"""Conduits that one event is tried on."""


class Answer(Value):
    """What is to be done: `action`, by which rule, why (a sentence without its stop).

    `after_ms` is how long a wait is at most, None where nothing is due by itself. A ping or a wrap names its
    `conduit`, and the `event` whose second try it is, empty for a new one.
    """

    __slots__ = ("action", "after_ms", "conduit", "event", "reason", "rule")

    def __init__(
        self,
        action: str,
        reason: str,
        *,
        rule: str = "",
        after_ms: int | None = None,
        conduit: str = "",
        event: str = "",
    ) -> None:
        self.action: Final = action
        self.reason: Final = reason
        self.rule: Final = rule
        self.after_ms: Final = after_ms
        self.conduit: Final = conduit
        self.event: Final = event


class View:
    """What the rules look at: the situation, the record with it observed, and what follows from both."""

    __slots__ = ("cache_age", "limit", "record", "settings", "since_typed", "situation", "ttl")

    def __init__(self, situation: Situation, record: Record, settings: Settings) -> None:
        self.situation: Final = situation
        self.record: Final = record
        self.settings: Final = settings
        cache, clock = situation.cache, situation.clock
        self.ttl: Final = settings.ttl_ms(cache.tier) if not cache.reason else None
        self.limit: Final = settings.limit(cache.tier)
        self.cache_age: Final = (
            None if cache.last_request_ms is None else age_ms(cache.last_request_ms, record.request_sight, clock)
        )
        self.since_typed: Final = (
            None if record.operator_ms is None else age_ms(record.operator_ms, record.operator_sight, clock)
        )

    @property
    def closed(self) -> bool:
        """Whether the window is over; a prompt of the future that was never sighted counts as one of now."""
        return (self.since_typed or 0) >= self.settings.window_ms

    @property
    def closes_in(self) -> int:
        """Ms until the window closes."""
        return max(0, self.settings.window_ms - (self.since_typed or 0))

    @property
    def margin(self) -> int:
        """How long before its end a cache counts as gone: an event takes a moment to become a request."""
        return min(10_000, (self.ttl or 0) // 30)

    @property
    def expired(self) -> bool:
        """Whether the cache is gone, or as good as."""
        return self.ttl is None or self.cache_age is None or self.cache_age >= self.ttl - self.margin

    @property
    def used(self) -> bool:
        """Whether this idle stretch had its ping: it got no answer yet, and no request is newer than it (KA-3)."""
        ping, request = self.record.ping, self.situation.cache.last_request_ms
        if ping is None or ping.verdict:
            return False
        # The very request from before it, too: it bears a later time where the clock was set back in between.
        return request is None or request <= ping.at_ms or request == ping.request_ms

    def conduits(self, attempt: Attempt | None = None) -> tuple[str, ...]:
        """The conduits to choose from; for a second try those that the first did not take."""
        down = {one.conduit for one in self.record.down if one.owner == self.situation.owner}
        tried = attempt.conduits if attempt is not None else ()
        return tuple(one for one in self.situation.conduits.usable if one not in down and one not in tried)

    def again(self, attempt: Attempt | None) -> bool:
        """Whether an event may have its second try: watched, no trace, and a conduit left that was not tried."""
        return (
            attempt is not None
            and attempt.state == records.UNTRACED
            and len(attempt.conduits) < TRIES
            and bool(self.conduits(attempt))
        )


def judge(situation: Situation, record: Record, settings: Settings) -> Answer:
    """What is to be done now. `record` has had the situation observed (`moves.observe`)."""
    view = View(situation, record, settings)
    for rule in RULES:
        answer = rule.ask(view)
        if answer is not None:
            return Answer(
                answer.action,
                answer.reason,
                rule=rule.name,
                after_ms=answer.after_ms,
                conduit=answer.conduit,
                event=answer.event,
            )
    raise AssertionError("the last rule always answers")


class Rule(Value):
    """One row of the table: when it applies, what it answers, and what ends that."""

    __slots__ = ("action", "ask", "name", "then", "when")

    def __init__(self, name: str, when: str, action: str, then: str, ask: Callable[[View], Answer | None]) -> None:
        self.name: Final = name
        self.when: Final = when
        self.action: Final = action
        self.then: Final = then
        self.ask: Final = ask


def _excluded(view: View) -> Answer | None:
    return Answer(STOP, view.situation.excluded) if view.situation.excluded else None


def _off(view: View) -> Answer | None:
    return None if view.settings.armed else Answer(STOP, "keepalive is off: ways keepalive on arms it")


def _no_window(view: View) -> Answer | None:
    if view.settings.window_ms > 0:
        return None
    return Answer(STOP, "the window has no length, so it is never open: ways keepalive on --window 8h gives it one")


def _elsewhere(view: View) -> Answer | None:
    return Answer(WAIT, view.situation.elsewhere) if view.situation.elsewhere else None


def _in_flight(view: View) -> Answer | None:
    for attempt in (view.record.wrap, view.record.ping):
        if attempt is not None and attempt.state == records.INTENT:
            waited = waited_ms(attempt, view.situation.clock) or 0
            patience = view.settings.patience_ms
            left = (patience if attempt.owner == view.situation.owner else 2 * patience) - waited
            if view.situation.stopped:
                return Answer(WAIT, f"a {attempt.kind} was pushed, and the client is stopped (ctrl-z)")
            reason = f"a {attempt.kind} was pushed by {attempt.conduits[-1]}; its trace is awaited"
            return Answer(WAIT, reason, after_ms=max(50, min(left, patience // 5)))
    return None


def _never_typed(view: View) -> Answer | None:
    if view.record.operator_ms is not None:
        return None
    return Answer(WAIT, "no prompt of the operator is known in this session, so no window is open")


def _wrapped(view: View) -> Answer | None:
    wrap = view.record.wrap
    if wrap is None or view.again(wrap):
        return None
    said = {
        records.PROVEN: "the window closed and the wrap was given to the model",
        records.ARRIVED: "the window closed and the wrap was sent",
        records.LOST: "the window closed; a wrap was sent and what became of it is not known",
    }.get(wrap.state, "the window closed and the wrap could not be delivered")
    because = f" ({wrap.reason})" if wrap.reason else ""
    return Answer(STOP, f"{said}{because}; quiet until the operator types")


def _stopped(view: View) -> Answer | None:
    return Answer(STOP, f"{view.record.stopped}; stopped until the operator types") if view.record.stopped else None


def _no_conduit(view: View) -> Answer | None:
    if view.conduits():
        return None
    why = [f"{one.conduit}: {one.reason}" for one in view.record.down if one.owner == view.situation.owner]
    why += [view.situation.conduits.reason] if view.situation.conduits.reason else []
    return Answer(WAIT, "no conduit can wake this session" + (f" ({'; '.join(why)})" if why else ""))


def _busy(view: View) -> Answer | None:
    if view.situation.stopped:
        return Answer(WAIT, "the session's Claude process is stopped (ctrl-z)")
    return None if view.situation.idle.state else Answer(WAIT, f"not idle: {view.situation.idle.reason}")


def _unknown(view: View) -> Answer | None:
    if view.ttl is None:
        return Answer(WAIT, f"the cache is not known: {view.situation.cache.reason or 'no tier'}")
    if view.cache_age is None:
        return Answer(WAIT, "the cache's age is not known: its last request lies in the future of this clock")
    return None


def _expired(view: View) -> Answer | None:
    if not view.expired:
        return None
    reason = f"the cache has expired ({spell(view.cache_age or 0)} old, kept for {spell(view.ttl or 0)})"
    if view.closed:
        return Answer(STOP, f"{reason}, and the window closed: no wrap is sent, since waking it would be a cold start")
    return Answer(STOP, f"{reason}; an expired cache is never woken")


def _close(view: View) -> Answer | None:
    if not view.closed:
        return None
    wrap = view.record.wrap
    reason = f"the operator typed nothing for {spell(view.since_typed or 0)}: the window is closed"
    return Answer(WRAP, reason, conduit=view.conduits(wrap)[0], event=wrap.id if wrap else "")


def _spent(view: View) -> Answer | None:
    if (view.record.tries + 1) * PING_COST <= view.limit:
        return None
    return Answer(
        STOP,
        f"{view.record.tries} pings cost as much as one cold start may ({view.limit / 1000:g} times the context); "
        "no more until the operator types",
        after_ms=view.closes_in,
    )


def _had_its_ping(view: View) -> Answer | None:
    ping = view.record.ping
    if ping is None or not view.used or view.again(ping):
        return None
    said = {
        records.PROVEN: "this idle stretch had its ping",
        records.ARRIVED: "this idle stretch's ping is in the client's queue",
        records.LOST: "what became of this idle stretch's ping is not known",
    }.get(ping.state, "this idle stretch's ping could not be delivered")
    return Answer(
        WAIT,
        said + (f" ({ping.reason})" if ping.reason else ""),
        after_ms=min(view.closes_in, (view.ttl or 0) - (view.cache_age or 0)),
    )


def _last_quarter(view: View) -> Answer | None:
    ttl, age = view.ttl or 0, view.cache_age or 0
    if 4 * age < 3 * ttl:
        return None
    ping = view.record.ping if view.used else None
    reason = f"the cache is {spell(age)} old and kept for {spell(ttl)}: its last quarter has begun"
    return Answer(PING, reason, conduit=view.conduits(ping)[0], event=ping.id if ping else "")


def _fresh(view: View) -> Answer | None:
    left = -(-3 * (view.ttl or 0) // 4) - (view.cache_age or 0)
    reason = f"the cache is {spell(view.cache_age or 0)} old: warm, and its last quarter begins in {spell(left)}"
    if view.closes_in < left:
        reason = f"the cache is warm, and the window closes in {spell(view.closes_in)}"
    return Answer(WAIT, reason, after_ms=min(left, view.closes_in))


NEXT_PROMPT = "the operator types"
A_TURN = "the next turn"

RULES: tuple[Rule, ...] = (
    Rule("excluded", "no session resolved, or one of -p or an SDK", STOP, "never", _excluded),
    Rule("off", "not armed", STOP, "the config arms it", _off),
    Rule("no-window", "the window is zero or negative", STOP, "the config says a length", _no_window),
    Rule("elsewhere", "another process keeps this session warm", WAIT, "it is gone", _elsewhere),
    Rule("in-flight", "an event was pushed, no trace yet, patience not over", WAIT, "a trace, or 5 s", _in_flight),
    Rule("never-typed", "no prompt of the operator is known", WAIT, NEXT_PROMPT, _never_typed),
    Rule("wrapped", "a wrap was sent for the last prompt, and no second try is left", STOP, NEXT_PROMPT, _wrapped),
    Rule("stopped", "a ping found the cache cold", STOP, NEXT_PROMPT, _stopped),
    Rule("no-conduit", "no conduit, or all of them left no trace", WAIT, "restart or /clear", _no_conduit),
    Rule("busy", "not idle, or the client is stopped", WAIT, "it is idle", _busy),
    Rule("unknown", "cache, tier or age not known; compacted since", WAIT, A_TURN, _unknown),
    Rule("expired", "the cache has expired, or does within moments", STOP, A_TURN, _expired),
    Rule("close", "the window is closed", WRAP, "wrapped", _close),
    Rule("spent", "one more ping would cost more than a cold start", STOP, NEXT_PROMPT, _spent),
    Rule("pinged", "this idle stretch had its ping, and no second try is left", WAIT, A_TURN, _had_its_ping),
    Rule("last-quarter", "the cache is in the last quarter of its time", PING, "in-flight", _last_quarter),
    Rule("fresh", "otherwise", WAIT, "last quarter, or the window closes", _fresh),
)


def note(settings: Settings, tier: str | None) -> str:
    """What a person must know of keepalive on this tier before it surprises them; empty where nothing (KA-5)."""
    ttl = settings.ttl_ms(tier)
    if ttl is None or tier == HOUR:
        return ""
    lasts = settings.limit(tier) // PING_COST * ttl * 3 // 4
    if lasts >= settings.window_ms:
        return ""
    return (
        f"This session's cache is kept for {spell(ttl)}: pings end after about {spell(lasts)}, when they have cost as "
        "much as a cold start, and by the time the window closes the cache has expired, so normally no wrap is sent."
    )
