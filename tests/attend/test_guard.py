"""The loop guard's rule: how many messages of one session may wake another."""

from __future__ import annotations

import pytest

from agent_ways.attend.guard import HELD, LATER, NEVER, NOW, PACE, PACED, note, verdict


@pytest.mark.demand("CON-4")
@pytest.mark.parametrize(
    ("count", "last", "now", "wanted"),
    [
        (0, None, 0, NOW),
        (PACED - 1, 0, 1, NOW),
        (PACED, None, 0, NOW),
        (PACED, 0, PACE - 1, LATER),
        (PACED, 0, PACE, NOW),
        (HELD - 1, 0, PACE, NOW),
        (HELD, 0, 10 * PACE, NEVER),
        (HELD, None, 0, NEVER),
    ],
)
def test_ten_are_free_then_one_a_minute_then_none(count: int, last: int | None, now: int, wanted: str) -> None:
    assert verdict(count, last, now) == wanted


@pytest.mark.demand("CON-4")
def test_it_is_said_with_the_last_message_that_comes_at_once_and_from_then_on() -> None:
    assert note("Fern-alpha", PACED - 2) == ""
    assert "10 messages from Fern-alpha" in note("Fern-alpha", PACED - 1)
    assert "11 messages from Fern-alpha" in note("Fern-alpha", PACED)
