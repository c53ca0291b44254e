"""The words of one pushed event about mail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.attend import headers
from agent_ways.attend.signals import Sender, Signal
from agent_ways.server.doorbell import MOST, ROOM, SHORT, divide, event


def signal(number: int, body: str = "x", name: str = "Fern-alpha") -> Signal:
    sender = Sender(kind="session", session="s", name=name, host="h")
    return Signal(id=f"01k1gpd2x{number:03d}-28xbm8sc", at=0, sender=sender, to=("t",), room="r", body=body)


@pytest.mark.demand("CON-4")
@given(st.lists(st.integers(0, 3 * SHORT), max_size=MOST), st.booleans())
def test_every_signal_is_shown_or_named_and_never_more_than_fits(sizes: list[int], whole: bool) -> None:
    signals = [signal(number, "x" * size) for number, size in enumerate(sizes)]
    shown, named = divide(signals, whole=whole)
    assert sorted([*shown, *named], key=lambda one: one.id) == signals
    assert sum(len(one.body) for one in shown) <= (ROOM if whole else 0)
    assert all(len(one.body) <= SHORT for one in shown)


@pytest.mark.demand("CON-4", "CON-5")
def test_an_event_stands_alone_and_lists_every_id() -> None:
    signals = [signal(1, "short"), signal(2, "y" * (SHORT + 1)), signal(3, name='"><b>\n')]
    told = event(signals, whole=True, notes=["agent-ways: a note"])
    whole, named = headers.read_back(told.text)
    assert sorted(whole) == [signals[0].id, signals[2].id]
    assert sorted(named) == [signals[1].id]
    assert told.meta["ids"].split() == [one.id for one in signals]
    assert told.meta["count"] == "3"
    assert "\n" not in told.meta["senders"]
    for words in ("attend_inbox", "attend_reply", "agent-ways: a note", "nobody typed it here"):
        assert words in told.text
    assert all(isinstance(value, str) for value in told.meta.values())
