"""One step of keepalive: look, judge, and where the judge says so, push, with the intent written before.

Owns the order of those acts (KA-7) for whoever hosts it: the server's module, and the sensor loop where no conduit
can push. Eyes, store and push come in by name. Must not know a clock, a transcript or a conduit.

    keeper = Keeper(eyes, store, push)
    step = keeper.step(settings)      # again after step.after_ms, or when something changed
"""

from __future__ import annotations

from agent_ways.base.errors import WaysError
from agent_ways.base.values import Value
from agent_ways.keepalive import events, moves
from agent_ways.keepalive.judge import PING, STOP, WAIT, WRAP, Answer, View, judge
from agent_ways.keepalive.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, Protocol

    from agent_ways.keepalive.events import Event
    from agent_ways.keepalive.situation import Settings, Situation

    Push = Callable[[str, Event], str]

    class Eyes(Protocol):
        """What looks at the session."""

        def look(self, record: Record | None) -> Situation:
            """All there is to see now; traces of the events in `record`, which is that of the session seen last."""

        def session(self) -> str:
            """The session's id now, empty where none resolves."""

        def still_idle(self, session: str) -> bool:
            """Whether it is that session still, and idle by its own record, this very moment (ID-9)."""

    class Records(Protocol):
        """What keeps the records: `store.Store`."""

        def read(self, session: str) -> Record | None:
            """See `Store.read`."""

        def change(self, session: str, change: Callable[[Record | None], Record | None]) -> None:
            """See `Store.change`."""


class Step(Value):
    """What one step came to: the judge's answer, the event that was `pushed`, and when to step again at the latest.

    `after_ms` is None where nothing is due by itself.
    """

    __slots__ = ("after_ms", "answer", "pushed")

    def __init__(self, answer: Answer, after_ms: int | None, pushed: Event | None = None) -> None:
        self.answer: Final = answer
        self.after_ms: Final = after_ms
        self.pushed: Final = pushed


class Keeper:
    """Keepalive for one process. `push` sends an event by a conduit; it answers why it could not, or nothing."""

    __slots__ = ("_eyes", "_memory", "_new_id", "_push", "_store")

    def __init__(self, eyes: Eyes, store: Records, push: Push, new_id: Callable[[], str] = events.new_id) -> None:
        self._eyes: Final = eyes
        self._store: Final = store
        self._push: Final = push
        self._new_id: Final = new_id
        self._memory: moves.Memory | None = None

    def step(self, settings: Settings) -> Step:
        """Look and act once. What goes wrong with our own files is an answer, never an exception."""
        try:
            return self._step(settings)
        except WaysError as error:
            return Step(Answer(STOP, f"{error.message}. {error.hint}".strip(), rule="state"), settings.tick_ms)

    def _step(self, settings: Settings) -> Step:
        session = self._eyes.session()
        saved = self._store.read(session) if session else None
        if not settings.armed and saved is None:
            return Step(Answer(STOP, "keepalive is off: ways keepalive on arms it", rule="off"), None)
        situation = self._eyes.look(saved)
        if situation.session != session or not session or situation.excluded:
            return self._resting(judge(situation, Record(session=situation.session), settings), settings)
        seen = self._seen(saved, situation, settings)
        answer = judge(situation, seen, settings)
        if answer.action in (PING, WRAP):
            return self._act(session, settings)
        self._memory = moves.remember(self._memory, seen, situation)
        if _worth_saving(saved, seen, situation):
            self._store.change(session, lambda found: self._seen(found, situation, settings))
        return self._resting(answer, settings)

    def _seen(self, saved: Record | None, situation: Situation, settings: Settings) -> Record:
        record = saved or Record(session=situation.session)
        return moves.observe(record, situation, settings, self._memory)

    def _resting(self, answer: Answer, settings: Settings) -> Step:
        """Never longer than a tick: timers stand still while the machine sleeps."""
        if not settings.armed:
            return Step(answer, None)
        due = settings.tick_ms if answer.after_ms is None else min(answer.after_ms, settings.tick_ms)
        return Step(answer, max(1, due))

    def _act(self, session: str, settings: Settings) -> Step:
        """Write the intent, look once more whether the session is idle, and push."""
        held = _Held()

        def intend(saved: Record | None) -> Record | None:
            # Seen and judged again under the lock: another server may have acted since.
            situation = self._eyes.look(saved)
            if situation.session != session:
                return None
            before = self._seen(saved, situation, settings)
            self._memory = moves.remember(self._memory, before, situation)
            held.answer = answer = judge(situation, before, settings)
            if answer.action not in (PING, WRAP):
                return before
            name = answer.event or self._new_id()
            after = moves.intend(before, answer.action, name, answer.conduit, situation)
            held.intent = (situation, before, after)
            return after

        self._store.change(session, intend)
        answer = held.answer
        if held.intent is None:
            return self._resting(answer, settings)
        situation, before, after = held.intent
        if not self._eyes.still_idle(session):
            self._store.change(session, lambda saved: saved and moves.withdraw(saved, before, after, answer.action))
            return self._resting(Answer(WAIT, "not idle: a turn began just now", rule="busy"), settings)
        event = _worded(answer, after, situation, settings)
        failed = self._push(answer.conduit, event)
        if failed:
            self._store.change(session, lambda saved: saved and moves.refused(saved, after, answer.action, failed))
            return Step(answer, 1)
        return Step(answer, max(1, settings.patience_ms // 5), event)


class _Held:
    """What was decided under the lock; `intent` is the situation, and the record before and after, where one was."""

    __slots__ = ("answer", "intent")

    def __init__(self) -> None:
        self.answer = Answer(WAIT, "the session changed just now")
        self.intent: tuple[Situation, Record, Record] | None = None


def _worded(answer: Answer, record: Record, situation: Situation, settings: Settings) -> Event:
    attempt = record.ping if answer.action == PING else record.wrap
    name = attempt.id if attempt is not None else ""
    if answer.action == PING:
        return events.ping(name, answer.conduit)
    typed = View(situation, record, settings).since_typed or 0
    return events.wrap(name, answer.conduit, typed, again=bool(answer.event))


def _worth_saving(saved: Record | None, seen: Record, situation: Situation) -> bool:
    """Whether what was seen is written.

    Of a session that no conduit reaches nothing is (KA-7), and while it works its requests and prompts are written
    once it rests.
    """
    if saved is None:
        return bool(situation.conduits.usable) and seen.operator_ms is not None and situation.idle.state
    if (saved.ping, saved.wrap, saved.stopped, saved.armed) != (seen.ping, seen.wrap, seen.stopped, seen.armed):
        return True
    return seen != saved and situation.idle.state
