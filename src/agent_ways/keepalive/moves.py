"""How the record changes: what a look adds to it, and what is written before and after a push.

Owns the transitions of KA-7 and the read-back of KA-4. Pure: a record and what was seen in, a record out. Must not
know files, nor when to push: that is the judge's.
"""

from __future__ import annotations

from agent_ways.base.values import Value
from agent_ways.claude.cache import FIVE_MINUTES
from agent_ways.keepalive.record import (
    ARRIVED,
    COLD,
    INTENT,
    LOST,
    PING,
    PROVEN,
    UNKNOWN,
    UNTRACED,
    WARM,
    WRAP,
    Attempt,
    Down,
)
from agent_ways.keepalive.situation import PING_COST, SLACK_MS, Look, Sight, looked, operator_seen, runs_since, sighted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from agent_ways.claude.cache import CacheEvidence
    from agent_ways.keepalive.record import Record
    from agent_ways.keepalive.situation import Clock, Settings, Situation, Trace


class Memory(Value):
    """What one process observed last, saved or not, and its looks until then."""

    __slots__ = ("last", "record")

    def __init__(self, record: Record, last: Look) -> None:
        self.record: Final = record
        self.last: Final = last


def remember(memory: Memory | None, record: Record, situation: Situation) -> Memory:
    """The memory after one more look, of which `record` is what was observed."""
    before = memory.last if memory is not None and memory.record.session == record.session else None
    return Memory(record, looked(before, situation.clock, situation.idle.state, situation.stopped))


def observe(record: Record, situation: Situation, settings: Settings, memory: Memory | None = None) -> Record:
    """The record with what `situation` shows added. `memory` is this process's own."""
    seen = _sights(_operator(record, situation), situation, memory)
    runs_ms = runs_since(None if memory is None else memory.last, situation.clock)
    if seen.wrap is not None:
        wrap, down = _settled(seen.wrap, situation, settings, runs_ms)
        seen = seen.but(wrap=wrap, down=_with(seen.down, down))
    if seen.ping is not None:
        seen = _ping(seen, seen.ping, situation, settings, runs_ms)
    return seen.but(armed=settings.armed, window_ms=settings.window_ms)


def _operator(record: Record, situation: Situation) -> Record:
    """A later act of the operator opens the window anew and with it the budget; the wrap may be sent again (KA-6).

    The time only moves forward (ID-8): a history that was cut off is no new prompt. But a later line of the transcript
    is a later act also where its time is not later, since the clock was set back in between; unless it is the line of
    the act that the history told of before.
    """
    last, passed = record.operator_ms, record.passed_ms
    found = operator_seen(situation.history_ms, situation.typed_ms, situation.clock, passed)
    if found is not None and situation.history_ms is not None and found < situation.history_ms:
        passed = situation.history_ms  # left out, and to be left out still when the clock has caught up with it
    line = max(situation.typed_line, record.operator_line)
    typed = situation.typed_ms if line > record.operator_line else None  # of a line that was not there before
    act_line = record.act_line
    if last is not None and typed is not None and typed <= last and act_line is None and last - typed <= SLACK_MS:
        act_line = line
    elif last is not None and typed is not None and typed <= last and record.operator_line >= 0:
        return _begun(record, typed, max(last, situation.history_ms or last), line, line)
    if found is None or (last is not None and found <= last):
        return record.but(operator_line=line, act_line=act_line, passed_ms=passed)
    if typed is not None:
        act_line = line if found - typed <= SLACK_MS else None
    elif last is None or found - last > SLACK_MS:
        act_line = None
    return _begun(record, found, passed, line, act_line)


def _begun(record: Record, operator_ms: int, passed_ms: int | None, line: int, act_line: int | None) -> Record:
    """The record with a window that was opened by that act."""
    return record.but(
        operator_sight=None if record.operator_ms == operator_ms else record.operator_sight,
        passed_ms=passed_ms,
        operator_ms=operator_ms,
        operator_line=line,
        act_line=act_line,
        tries=0,
        pings=0,
        tokens=0,
        wrap=None,
        stopped="",
    )


def _sights(record: Record, situation: Situation, memory: Memory | None) -> Record:
    clock = situation.clock
    known = memory if memory is not None and memory.record.session == record.session else None
    last = None if known is None else known.last

    def sight(saved: Sight | None, remembered: Sight | None, stamp: int) -> Sight | None:
        if saved is not None and saved.stamp_ms == stamp and saved.boot == clock.boot:
            return saved
        return sighted(remembered or saved, stamp, clock, last)

    operator, request = record.operator_sight, record.request_sight
    if record.operator_ms is not None:
        other = known is not None and known.record.act_line not in (None, record.act_line)  # of the same time, even
        operator = sight(operator, known.record.operator_sight if known and not other else None, record.operator_ms)
        if operator is not None and operator.age_ms is None:
            # A prompt of the future was typed just now by some clock: the window counts from when it was seen.
            operator = Sight(
                stamp_ms=operator.stamp_ms,
                age_ms=0,
                wall_ms=operator.wall_ms,
                steady_ms=operator.steady_ms,
                boot=operator.boot,
            )
    if situation.cache.last_request_ms is not None:
        request = sight(request, known.record.request_sight if known else None, situation.cache.last_request_ms)
    return record.but(operator_sight=operator, request_sight=request)


def _settled(attempt: Attempt, situation: Situation, settings: Settings, runs_ms: int) -> tuple[Attempt, Down | None]:
    """What became of an event, by its trace and by the time since, as far as the client was not stopped."""
    trace = situation.trace(attempt.id)
    if attempt.state == PROVEN:
        return attempt, None
    if trace.proof is not None:
        return attempt.but(state=PROVEN, proof=trace.proof, reason=""), None
    if trace.arrived:
        reason = "it is in the client's queue and was not yet given to the model"
        return attempt.but(state=ARRIVED, reason=reason), None
    if attempt.state != INTENT or situation.stopped:
        return attempt, None
    waited = waited_ms(attempt, situation.clock, runs_ms)
    if attempt.owner == situation.owner:
        if waited is not None and waited < settings.patience_ms:
            return attempt, None
        if situation.blind:
            return attempt.but(state=LOST, reason="shown, unproven: the transcript can not be read"), None
        conduit = attempt.conduits[-1]
        reason = f"{conduit} left no trace of it in {settings.patience_ms / 1000:g} s"
        return attempt.but(state=UNTRACED, reason=reason), Down(
            conduit=conduit,
            owner=situation.owner,
            reason=f"an event left no trace in {settings.patience_ms / 1000:g} s",
        )
    if waited is not None and waited < 2 * settings.patience_ms:
        return attempt, None  # the process that pushed it may live and decide
    return attempt.but(state=LOST, reason="the process that pushed it ended before a trace of it was seen"), None


def waited_ms(attempt: Attempt, clock: Clock, runs_ms: int = 0) -> int | None:
    """How long the machine was awake since the last try; None where it was booted since: longer than any patience.

    `runs_ms` is since when the client is known to run, by the same clock: before, it could take nothing.
    """
    waited = clock.awake_ms - max(attempt.awake_ms, runs_ms)
    return waited if attempt.boot == clock.boot and waited >= 0 else None


def _ping(record: Record, before: Attempt, situation: Situation, settings: Settings, runs_ms: int) -> Record:
    ping, down = _settled(before, situation, settings, runs_ms)
    current = ping.operator_ms == record.operator_ms
    pings = record.pings + (1 if current and ping.state == PROVEN != before.state else 0)
    seen = record.but(ping=ping, pings=pings, down=_with(record.down, down))
    trace = situation.trace(ping.id)
    if ping.state != PROVEN or ping.verdict or trace.answer is None:
        return seen
    return _read_back(seen, ping, trace, trace.answer, current)


def _read_back(record: Record, ping: Attempt, trace: Trace, answer: CacheEvidence, current: bool) -> Record:
    """KA-4: at least half of the context before the ping must have come from the cache."""
    read, context = answer.last_read_tokens or 0, ping.context_tokens or 0
    verdict = UNKNOWN if trace.compacted or not context else WARM if 2 * read >= context else COLD
    tokens = record.tokens + (cost(answer) if current else 0)
    stopped = record.stopped
    if verdict == COLD and current:
        stopped = f"the last ping found the cache cold: it read {read:,} of {context:,} tokens"
    return record.but(ping=ping.but(verdict=verdict, read_tokens=read), tokens=tokens, stopped=stopped)


def cost(answer: CacheEvidence) -> int:
    """What a request cost, output aside, in tokens of fresh input: a read counts a tenth, a write 1.25 or 2."""
    read, write = answer.last_read_tokens or 0, answer.last_write_tokens or 0
    fresh = max(0, (answer.context_tokens or 0) - read - write)
    return fresh + read * PING_COST // 1000 + write * (5 if answer.tier == FIVE_MINUTES else 8) // 4


def _with(downs: tuple[Down, ...], down: Down | None) -> tuple[Down, ...]:
    return downs if down is None else (*(one for one in downs if one.conduit != down.conduit), down)


def intend(record: Record, kind: str, name: str, conduit: str, situation: Situation) -> Record:
    """The record with the intent to push the event `name` through `conduit` now, for the first or second time."""
    before = record.ping if kind == PING else record.wrap
    clock = situation.clock
    if before is not None and before.id == name:
        attempt = before.but(
            state=INTENT,
            at_ms=clock.wall_ms,
            awake_ms=clock.awake_ms,
            boot=clock.boot,
            owner=situation.owner,
            conduits=(*before.conduits, conduit),
            reason="",
        )
    else:
        attempt = Attempt(
            kind=kind,
            id=name,
            state=INTENT,
            at_ms=clock.wall_ms,
            awake_ms=clock.awake_ms,
            boot=clock.boot,
            owner=situation.owner,
            conduits=(conduit,),
            operator_ms=record.operator_ms,
            request_ms=situation.cache.last_request_ms,
            context_tokens=situation.cache.context_tokens,
        )
    return record.but(ping=attempt, tries=record.tries + 1) if kind == PING else record.but(wrap=attempt)


def withdraw(record: Record, before: Record, intended: Record, kind: str) -> Record:
    """The record as if the intent had not been: nothing was pushed, since the session was no longer idle.

    `before` and `intended` are the record around the intent. Where anything happened to it since, it stays.
    """
    if kind == PING and record.ping == intended.ping:
        return record.but(ping=before.ping, tries=max(0, record.tries - 1))
    if kind == WRAP and record.wrap == intended.wrap:
        return record.but(wrap=before.wrap)
    return record


def refused(record: Record, intended: Record, kind: str, reason: str) -> Record:
    """The conduit took nothing: it is down for this process, and the event may be tried on the next one at once."""
    attempt = intended.ping if kind == PING else intended.wrap
    if attempt is None or attempt != (record.ping if kind == PING else record.wrap):
        return record
    conduit = attempt.conduits[-1]
    down = _with(record.down, Down(conduit=conduit, owner=attempt.owner, reason=reason))
    failed = attempt.but(state=UNTRACED, reason=f"{conduit} did not take it: {reason}")
    return record.but(ping=failed, down=down) if kind == PING else record.but(wrap=failed, down=down)


QUIET = "kept: wrapped"
"""What is said of mail for a session that is quiet."""


def quiet(record: Record | None, operator_ms: int | None) -> bool:
    """Whether nothing may be pushed into the session, mail included (KA-6).

    So it is once a wrap was sent, until the operator types. `operator_ms` is the operator's last act as the caller sees
    it, None where it sees none.
    """
    if record is None or record.wrap is None:
        return False
    sent_for = record.wrap.operator_ms
    return operator_ms is None or sent_for is None or operator_ms <= sent_for
