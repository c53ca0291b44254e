"""Days that hypothesis makes up: whatever happens, no push that may not be, and the wrap at most once.

The invariants are the simulator's own: it raises at the moment of a push that breaks one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st

from agent_ways.claude.cache import FIVE_MINUTES, HOUR
from agent_ways.keepalive.situation import Settings
from tests.keepalive.simulator import MIN, H, S, World

if TYPE_CHECKING:
    from collections.abc import Callable

    Act = Callable[[World], None]

MINUTES = st.integers(1, 12 * 60)


def _set(name: str, value: object) -> Act:
    return lambda world: setattr(world, name, value)


def _open_for(minutes: int) -> Act:
    def act(world: World) -> None:
        world.dialog = True
        world.do(world.true + minutes * MIN, lambda: setattr(world, "dialog", False))

    return act


def _stopped_for(minutes: int) -> Act:
    def act(world: World) -> None:
        world.stopped = True
        world.do(world.true + minutes * MIN, world.continues)

    return act


def _turn_of(minutes: int) -> Act:
    """A turn that lasts: the operator types into it, too."""

    def act(world: World) -> None:
        before, world.turn_lasts = world.turn_lasts, minutes * MIN
        world.types()
        world.turn_lasts = before

    return act


ACTS: st.SearchStrategy[Act] = st.one_of(
    st.sampled_from(
        [
            World.types,
            lambda world: world.types(same=True),
            World.gets_mail,
            World.restart,
            World.start_server,
            World.clear,
            World.compact,
            _set("tier", HOUR),
            _set("tier", FIVE_MINUTES),
            _set("api_down", True),
            _set("api_down", False),
            _set("cache_lost", True),
            _set("cache_lost", False),
            _set("crash_next", "before"),
            _set("crash_next", "after"),
            _set("swallowing", {"channel"}),
            _set("swallowing", {"channel", "inbox_socket"}),
            _set("swallowing", set()),
            _set("stops_at_push", True),
            World.continues,
            _set("refusing", {"inbox_socket"}),
            _set("refusing", set()),
            _set("usable", ()),
            _set("usable", ("inbox_socket",)),
            _set("usable", ("channel", "inbox_socket")),
        ]
    ),
    st.integers(1, 300).map(lambda minutes: lambda world: world.suspend(minutes * MIN)),
    st.integers(1, 30).map(_open_for),
    st.integers(1, 90).map(_stopped_for),
    st.integers(1, 90).map(_turn_of),
)
DAYS = st.lists(st.tuples(MINUTES, st.integers(0, 59), ACTS), max_size=14)
WINDOWS = st.sampled_from([8 * H, 8 * H, 90 * MIN, 3 * MIN, 3650 * 24 * H, 0, -H])
STEPS = st.lists(st.tuples(MINUTES, st.integers(0, 59), st.integers(-6 * 60, 6 * 60)), max_size=3)


def played(tier: str, window: int, acts: list[tuple[int, int, Act]]) -> World:
    world = World(settings=Settings(armed=True, window_ms=window), tier=tier)
    world.do(10 * S, world.types)
    for minute, second, act in acts:
        world.do(minute * MIN + second * S, lambda act=act: act(world))  # type: ignore[misc]  # bound by default
    return world.run(14 * H)


@pytest.mark.demand("KA-3", "KA-5", "KA-6", "KA-7", "KA-9")
@how(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([HOUR, HOUR, FIVE_MINUTES]), WINDOWS, DAYS)
def test_no_day_has_a_push_that_may_not_be(tier: str, window: int, acts: list[tuple[int, int, Act]]) -> None:
    played(tier, window, acts)


@pytest.mark.demand("KA-9")
@how(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([HOUR, FIVE_MINUTES]), DAYS, STEPS)
def test_nor_has_one_on_which_somebody_sets_the_clock(
    tier: str, acts: list[tuple[int, int, Act]], steps: list[tuple[int, int, int]]
) -> None:
    stepped: list[tuple[int, int, Act]] = [
        (minute, second, lambda world, by=by: world.step_clock(by * MIN))  # type: ignore[misc]  # bound by default
        for minute, second, by in steps
    ]
    played(tier, 8 * H, [*acts, *stepped])


QUIET_ACTS: st.SearchStrategy[Act] = st.one_of(
    st.sampled_from([World.gets_mail, World.restart, World.start_server, _set("swallowing", {"channel"})]),
    st.integers(1, 5).map(_open_for),
)


@pytest.mark.demand("KA-6", "KA-7")
@how(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(MINUTES, st.integers(0, 59), QUIET_ACTS), max_size=10))
def test_where_the_cache_lives_and_nothing_crashes_the_wrap_comes_exactly_once(
    acts: list[tuple[int, int, Act]],
) -> None:
    # A restart in the seconds in which a trace is awaited is a crash between push and trace: not part of this day.
    calm = [(minute, 30, act) for minute, _, act in acts]
    world = played(HOUR, 8 * H, calm)
    assert world.kinds().count("wrap") == 1
