"""The fake clock."""

from __future__ import annotations

import pytest

from tests.support.clock import START, FakeClock


def test_advancing_moves_both_clocks() -> None:
    clock = FakeClock()
    clock.advance(2.5)
    assert (clock.wall(), clock.monotonic()) == (START + 2.5, 1002.5)


def test_a_step_and_a_suspend_move_the_wall_clock_alone() -> None:
    clock = FakeClock()
    clock.step(-3600)
    assert (clock.wall(), clock.monotonic()) == (START - 3600, 1000)
    clock.suspend(7200)
    assert (clock.wall(), clock.monotonic()) == (START + 3600, 1000)


def test_calls_are_made_in_order_each_at_its_time() -> None:
    clock = FakeClock(monotonic=0)
    seen: list[tuple[str, float]] = []
    clock.at(3, lambda: seen.append(("late", clock.monotonic())))
    clock.at(1, lambda: clock.at(2, lambda: seen.append(("asked for on the way", clock.monotonic()))))
    clock.advance(2.5)
    assert seen == [("asked for on the way", 2)]
    assert clock.next_call == 3
    clock.advance(1)
    assert seen[1:] == [("late", 3)]
    assert clock.next_call is None


def test_a_call_for_a_time_already_passed_is_made_at_the_next_advance() -> None:
    clock = FakeClock(monotonic=10)
    seen: list[float] = []
    clock.at(5, lambda: seen.append(clock.monotonic()))
    assert seen == []
    clock.advance(0)
    assert seen == [10]


@pytest.mark.parametrize("move", [FakeClock.advance, FakeClock.suspend])
def test_time_does_not_pass_backwards(move: object) -> None:
    with pytest.raises(ValueError, match=r"backwards|forwards"):
        move(FakeClock(), -1)  # type: ignore[operator]  # one of two methods
