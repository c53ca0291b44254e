"""What keepalive knows at one moment: frozen values, gathered by edges, judged elsewhere.

Owns the clock of three hands, how old a time stamp is by it, and the evidence of one look. Must not know how any of
it was read (`look.py`) nor what follows from it (`judge.py`).

Ages, not stamps, decide. Every stamp that matters (the last request, the operator's last prompt) is sighted: where a
clock that counts sleep but is never set says more time has passed since than the wall clock does, it is believed.
So a wall clock that was set back makes nothing look younger, and one that ran ahead, as after the pause of a virtual
machine, counts as time that passed: a cache is never taken for warmer than it is (KA-3, KA-9).
"""

from __future__ import annotations

from agent_ways.base.values import Value
from agent_ways.claude.cache import FIVE_MINUTES, HOUR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from agent_ways.base.config import Config
    from agent_ways.base.process import Owner
    from agent_ways.claude.cache import CacheEvidence
    from agent_ways.claude.idle import Idle

CHANNEL, INBOX_SOCKET, LOOP = "channel", "inbox_socket", "loop"
"""The conduits that can wake an idle session."""

SLACK_MS = 5_000
"""How far in the future a stamp may lie and still be taken for one of just now (a clock being slewed)."""


class Clock(Value):
    """One moment, in ms. `wall` counts from 1970 and may be set; the others only go forward, within one `boot`.

    `awake` stands still while the machine sleeps; `steady` does not, and is None where the system has no such clock.
    """

    __slots__ = ("awake_ms", "boot", "steady_ms", "wall_ms")

    def __init__(self, *, wall_ms: int, awake_ms: int, steady_ms: int | None = None, boot: str = "") -> None:
        self.wall_ms: Final = wall_ms
        self.awake_ms: Final = awake_ms
        self.steady_ms: Final = steady_ms
        self.boot: Final = boot


class Sight(Value):
    """When a stamp was first seen: its age then (None: it lay in the future, so it is not known), and both clocks."""

    __slots__ = ("age_ms", "boot", "stamp_ms", "steady_ms", "wall_ms")

    def __init__(
        self, *, stamp_ms: int, age_ms: int | None, wall_ms: int, steady_ms: int | None = None, boot: str = ""
    ) -> None:
        self.stamp_ms: Final = stamp_ms
        self.age_ms: Final = age_ms
        self.wall_ms: Final = wall_ms
        self.steady_ms: Final = steady_ms
        self.boot: Final = boot


class Look(Value):
    """What one process remembers of its looks at a session.

    `clock` is of the last one; `rest` of the last that found no turn, None where there was none; `back_ms` is by how
    much the wall clock was set back since that. `stopped` says that the last one found the client stopped; `runs_ms` is
    when it was first seen to run again, by `awake_ms`, 0 where it was never seen stopped.
    """

    __slots__ = ("back_ms", "clock", "rest", "runs_ms", "stopped")

    def __init__(
        self, clock: Clock, rest: Clock | None = None, back_ms: int = 0, *, stopped: bool = False, runs_ms: int = 0
    ) -> None:
        self.clock: Final = clock
        self.rest: Final = rest
        self.back_ms: Final = back_ms
        self.stopped: Final = stopped
        self.runs_ms: Final = runs_ms


def looked(before: Look | None, clock: Clock, idle: bool, stopped: bool) -> Look:
    """The look after `before`, at `clock`."""
    last = before or Look(clock)
    return Look(
        clock,
        clock if idle else last.rest,
        0 if idle else last.back_ms + _set_back(last.clock, clock),
        stopped=stopped,
        runs_ms=runs_since(last, clock),
    )


def runs_since(last: Look | None, clock: Clock) -> int:
    """Since when the client is known to run and take events, by `awake_ms`; 0 where it was never seen otherwise."""
    if last is None:
        return 0
    return clock.awake_ms if last.stopped else last.runs_ms


def sighted(previous: Sight | None, stamp_ms: int | None, clock: Clock, last: Look | None = None) -> Sight | None:
    """The sight of `stamp_ms`, given the one before: the same where it is of the same stamp in the same boot.

    A new stamp is of something that happened since the last look that found the session at rest. Where the wall clock
    was set back since then (without such a look, since the previous sight), the stamp may be from before that: it is
    taken for that much older, but not for older than that look, nor than what was sighted before it.
    """
    if stamp_ms is None:
        return None
    if previous is not None and previous.stamp_ms == stamp_ms and previous.boot == clock.boot:
        return previous
    back = _set_back(previous, clock) if last is None else last.back_ms + _set_back(last.clock, clock)
    age: int | None = clock.wall_ms - stamp_ms + back
    passed = None if last is None else _passed(last.rest, clock)
    if age is not None and passed is not None:
        age = min(age, passed)
    since = _passed(previous, clock)
    if age is not None and since is not None and previous is not None and previous.age_ms is not None:
        age = min(age, previous.age_ms + since)
    if age is not None and age < 0:
        age = 0 if age >= -SLACK_MS else None
    return Sight(stamp_ms=stamp_ms, age_ms=age, wall_ms=clock.wall_ms, steady_ms=clock.steady_ms, boot=clock.boot)


def _set_back(since: Clock | Sight | None, clock: Clock) -> int:
    """By how many ms the wall clock was set back since then, as far as is known."""
    passed = _passed(since, clock)
    return 0 if since is None or passed is None else max(0, since.wall_ms + passed - clock.wall_ms)


def _passed(since: Clock | Sight | None, clock: Clock) -> int | None:
    """Ms since then by the steady clock, None where the two can not be compared."""
    if since is None or since.boot != clock.boot or since.steady_ms is None or clock.steady_ms is None:
        return None
    passed = clock.steady_ms - since.steady_ms
    return passed if passed >= 0 else None


def age_ms(stamp_ms: int, sight: Sight | None, clock: Clock) -> int | None:
    """How long ago `stamp_ms` was, by the clock that says more; None where it lies in the future."""
    by_wall = clock.wall_ms - stamp_ms
    passed = _passed(sight, clock)
    if sight is None or passed is None or sight.stamp_ms != stamp_ms:
        return max(0, by_wall) if by_wall >= -SLACK_MS else None
    return None if sight.age_ms is None else max(0, by_wall, sight.age_ms + passed)


def operator_seen(history_ms: int | None, typed_ms: int | None, clock: Clock, passed_ms: int | None) -> int | None:
    """The operator's newest act, from the newest in the history and the last in the transcript.

    A history line of the future, or one that is known to be from before the clock was set back (`passed_ms`), is none
    where the transcript knows better.
    """
    if history_ms is not None and passed_ms is not None and history_ms <= passed_ms and typed_ms is not None:
        history_ms = None
    end = clock.wall_ms + SLACK_MS
    if history_ms is not None and typed_ms is not None and typed_ms <= end < history_ms:
        history_ms = None
    return max((at for at in (history_ms, typed_ms) if at is not None), default=None)


class Conduits(Value):
    """The conduits that this process could push through, best first, and why the others are not among them."""

    __slots__ = ("reason", "usable")

    def __init__(self, usable: tuple[str, ...] = (), reason: str = "") -> None:
        self.usable: Final = usable
        self.reason: Final = reason


class Proof(Value):
    """The line by which an event was given to the model: `kind` (of `claude.proof`), its time in ms, its offset."""

    __slots__ = ("at_ms", "kind", "line")

    def __init__(self, *, kind: str, at_ms: int | None, line: int) -> None:
        self.kind: Final = kind
        self.at_ms: Final = at_ms
        self.line: Final = line


class Trace(Value):
    """What the transcript shows of one event of ours.

    `arrived`: it is or was in the client's queue. `answer`: the usage of the first answer after the proof;
    `compacted`: the conversation was compacted in between, so the answer says nothing about the cache.
    """

    __slots__ = ("answer", "arrived", "compacted", "proof")

    def __init__(
        self,
        *,
        arrived: bool = False,
        proof: Proof | None = None,
        answer: CacheEvidence | None = None,
        compacted: bool = False,
    ) -> None:
        self.arrived: Final = arrived
        self.proof: Final = proof
        self.answer: Final = answer
        self.compacted: Final = compacted


class Situation(Value):
    """All that one look found of one session.

    `history_ms` is the operator's newest act in the prompt history, `typed_ms` that of the last line of the
    transcript that is the operator's, and `typed_line` its offset.
    `excluded` says why nothing is ever pushed into this session, `elsewhere` which other process does it; both are
    empty as a rule. `stopped`: its Claude process is stopped (ctrl-z) and takes nothing now. `blind`: its transcript
    can not be read, so nothing can be proven. `traces` is what is seen of our events, by their id.
    """

    __slots__ = (
        "blind",
        "cache",
        "clock",
        "conduits",
        "elsewhere",
        "excluded",
        "history_ms",
        "idle",
        "owner",
        "session",
        "stopped",
        "traces",
        "typed_line",
        "typed_ms",
    )

    def __init__(
        self,
        *,
        clock: Clock,
        session: str,
        owner: Owner,
        idle: Idle,
        cache: CacheEvidence,
        conduits: Conduits,
        history_ms: int | None = None,
        typed_ms: int | None = None,
        typed_line: int = -1,
        traces: tuple[tuple[str, Trace], ...] = (),
        excluded: str = "",
        elsewhere: str = "",
        stopped: bool = False,
        blind: bool = False,
    ) -> None:
        self.clock: Final = clock
        self.session: Final = session
        self.owner: Final = owner
        self.idle: Final = idle
        self.cache: Final = cache
        self.conduits: Final = conduits
        self.history_ms: Final = history_ms
        self.typed_ms: Final = typed_ms
        self.typed_line: Final = typed_line
        self.traces: Final = traces
        self.excluded: Final = excluded
        self.elsewhere: Final = elsewhere
        self.stopped: Final = stopped
        self.blind: Final = blind

    def trace(self, event: str) -> Trace:
        """What is seen of the event with that id; nothing, where it was not looked for."""
        return next((trace for name, trace in self.traces if name == event), Trace())


class Settings(Value):
    """What the operator set, and the numbers of the rule.

    `limit_hour` and `limit_five` are what may be spent on pings since the operator's last prompt, in thousandths of
    the context's price as fresh input (KA-5); one ping costs `PING_COST`. Times are ms. `hour_ms` and `five_ms` are
    how long the two tiers keep a cache.
    """

    __slots__ = (
        "armed",
        "five_ms",
        "hour_ms",
        "limit_five",
        "limit_hour",
        "patience_ms",
        "tick_ms",
        "window_ms",
    )

    def __init__(
        self,
        *,
        armed: bool = False,
        window_ms: int = 8 * 3_600_000,
        limit_hour: int = 2_000,
        limit_five: int = 1_250,
        hour_ms: int = 3_600_000,
        five_ms: int = 300_000,
        patience_ms: int = 5_000,
        tick_ms: int = 60_000,
    ) -> None:
        self.armed: Final = armed
        self.window_ms: Final = window_ms
        self.limit_hour: Final = limit_hour
        self.limit_five: Final = limit_five
        self.hour_ms: Final = hour_ms
        self.five_ms: Final = five_ms
        self.patience_ms: Final = patience_ms
        self.tick_ms: Final = tick_ms

    def ttl_ms(self, tier: str | None) -> int | None:
        """How long `tier` keeps a cache."""
        return {HOUR: self.hour_ms, FIVE_MINUTES: self.five_ms}.get(tier or "")

    def limit(self, tier: str | None) -> int:
        """What may be spent where the cache is kept for `tier`; the smaller limit where that is not known."""
        return self.limit_hour if tier == HOUR else min(self.limit_hour, self.limit_five)


PING_COST = 100
"""A cache read costs a tenth of fresh input."""


def settings(config: Config, *, faster: float = 1.0) -> Settings:
    """The settings in the user config. `faster` divides how long a cache lives and every wait, for trials only."""
    return Settings(
        armed=config.keepalive_armed,
        window_ms=int(config.keepalive_window * 1000),
        limit_hour=int(config.keepalive_limit_hour * 1000),
        limit_five=int(config.keepalive_limit_five_minutes * 1000),
        hour_ms=int(3_600_000 / faster),
        five_ms=int(300_000 / faster),
        tick_ms=max(100, int(60_000 / faster)),
    )
