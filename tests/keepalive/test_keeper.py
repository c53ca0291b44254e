"""One step, with eyes, a store and a push that fail in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_ways.base.errors import LockHeldError, StateError
from agent_ways.claude.idle import Idle
from agent_ways.keepalive.keeper import Keeper
from agent_ways.keepalive.situation import Settings
from tests.keepalive.values import ARMED, MIN, SESSION, cache, observed, situation

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_ways.base.errors import WaysError
    from agent_ways.keepalive.events import Event
    from agent_ways.keepalive.record import Record
    from agent_ways.keepalive.situation import Situation


class Parts:
    """Eyes, store and push in one, each of which a test may spoil."""

    def __init__(self) -> None:
        self.found = situation()
        self.idle = True
        self.saved: Record | None = None
        self.error: WaysError | None = None
        self.pushed: list[tuple[str, Event, Record | None]] = []
        self.failing = ""
        self.looks = 0
        self.other_after = 1_000  # looks after which the session is another

    def session(self) -> str:
        return SESSION

    def still_idle(self, session: str) -> bool:
        return self.idle and session == self.found.session

    def look(self, record: Record | None) -> Situation:
        assert record == self.saved
        self.looks += 1
        return situation(session="another") if self.looks > self.other_after else self.found

    def read(self, session: str) -> Record | None:
        assert session == SESSION
        return self.saved

    def change(self, session: str, change: Callable[[Record | None], Record | None]) -> None:
        assert session == SESSION
        if self.error is not None:
            raise self.error
        after = change(self.saved)
        self.saved = self.saved if after is None else after

    def push(self, conduit: str, event: Event) -> str:
        self.pushed.append((conduit, event, self.saved))
        return self.failing

    def keeper(self) -> Keeper:
        return Keeper(self, self, self.push)


@pytest.mark.demand("KA-7")
def test_the_intent_is_on_record_when_the_push_happens() -> None:
    parts = Parts()
    step = parts.keeper().step(ARMED)
    [(conduit, event, saved)] = parts.pushed
    assert (conduit, event.kind, step.pushed) == ("channel", "ping", event)
    assert saved is not None
    assert saved.ping is not None
    assert (saved.ping.state, saved.ping.id, saved.tries) == ("intent", event.id, 1)
    assert step.after_ms == 1_000


@pytest.mark.demand("KA-7")
@pytest.mark.parametrize(
    "error", [StateError("cannot write: No space left on device", "Free some space."), LockHeldError("held by 7")]
)
def test_what_can_not_be_written_is_not_pushed_and_said(error: WaysError) -> None:
    parts = Parts()
    parts.error = error
    step = parts.keeper().step(ARMED)
    assert parts.pushed == []
    assert step.answer.rule == "state"
    assert error.message in step.answer.reason
    assert step.after_ms == ARMED.tick_ms


@pytest.mark.demand("KA-3", "ID-9")
def test_a_turn_that_begins_between_the_look_and_the_push_takes_the_intent_back() -> None:
    parts = Parts()
    parts.idle = False
    keeper = parts.keeper()
    step = keeper.step(ARMED)
    assert (parts.pushed, step.answer.rule) == ([], "busy")
    assert parts.saved is not None
    assert (parts.saved.ping, parts.saved.tries) == (None, 0)
    parts.idle = True
    assert keeper.step(ARMED).pushed is not None


@pytest.mark.demand("KA-3")
def test_a_push_that_fails_is_tried_on_the_next_conduit_in_the_next_step() -> None:
    parts = Parts()
    parts.failing = "the socket is not there"
    keeper = parts.keeper()
    assert keeper.step(ARMED).after_ms == 1
    keeper.step(ARMED)
    keeper.step(ARMED)
    assert [conduit for conduit, _, _ in parts.pushed] == ["channel", "inbox_socket"]
    assert len({event.id for _, event, _ in parts.pushed}) == 1


@pytest.mark.demand("KA-1")
def test_unarmed_it_does_not_even_look_where_nothing_is_on_record() -> None:
    parts = Parts()
    step = parts.keeper().step(Settings())
    assert (parts.looks, step.answer.rule, step.after_ms) == (0, "off", None)


@pytest.mark.demand("KA-9")
def test_a_wait_is_never_longer_than_a_tick_for_timers_stand_still_in_sleep() -> None:
    parts = Parts()
    parts.found = situation(cache=cache(10 * MIN))
    step = parts.keeper().step(Settings(armed=True, tick_ms=7_000))
    assert (step.answer.rule, step.after_ms) == ("fresh", 7_000)


@pytest.mark.demand("KA-7")
def test_of_a_session_that_changed_in_the_middle_of_a_step_nothing_is_pushed_or_written() -> None:
    for looks_before_the_change in (0, 1):
        parts = Parts()
        parts.other_after = looks_before_the_change
        step = parts.keeper().step(ARMED)
        assert (parts.pushed, parts.saved, step.pushed) == ([], None, None)
        assert parts.looks == looks_before_the_change + 1


@pytest.mark.demand("KA-2")
def test_while_the_session_works_its_requests_are_not_written_one_by_one() -> None:
    parts = Parts()
    parts.saved = observed(situation(cache=cache(10 * MIN)))
    before = parts.saved
    parts.found = situation(cache=cache(MIN), idle=Idle(False, "busy"))
    keeper = parts.keeper()
    keeper.step(ARMED)
    assert parts.saved is before
    parts.found = situation(cache=cache(MIN))
    keeper.step(ARMED)
    assert parts.saved is not before
