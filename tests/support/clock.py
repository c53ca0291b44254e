"""A clock that tests move by hand.

Owns `FakeClock`: wall time, monotonic time, and the calls that wait for a time. Must not know what waits.
Monotonic time only goes forward; wall time also steps, and a suspended machine moves it alone (Linux).
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

START = 1_796_000_000.0
"""Where the wall clock starts: late November 2026, as the real clients' files have it."""


class FakeClock:
    """`wall` and `monotonic` are what code under test takes for `time.time` and `time.monotonic`. Seconds."""

    def __init__(self, *, wall: float = START, monotonic: float = 1000.0) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._order = itertools.count()
        self._calls: list[tuple[float, int, Callable[[], None]]] = []

    def wall(self) -> float:
        """The wall clock."""
        return self._wall

    def monotonic(self) -> float:
        """The monotonic clock."""
        return self._monotonic

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Call `act` once when the monotonic clock reaches `when`; never before the next `advance`."""
        heapq.heappush(self._calls, (when, next(self._order), act))

    @property
    def next_call(self) -> float | None:
        """When the next call is due, by the monotonic clock."""
        return self._calls[0][0] if self._calls else None

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks. Calls are made in the order in which they come due, each at its time, also
        those that another call asks for on the way."""
        if seconds < 0:
            raise ValueError("time passes forwards; use step for the wall clock")
        end = self._monotonic + seconds
        while self._calls and self._calls[0][0] <= end:
            when, _, act = heapq.heappop(self._calls)
            self._pass(max(0.0, when - self._monotonic))
            act()
        self._pass(end - self._monotonic)

    def step(self, seconds: float) -> None:
        """Somebody sets the wall clock, forwards or back; the monotonic clock stands."""
        self._wall += seconds

    def suspend(self, seconds: float) -> None:
        """The machine sleeps: on Linux only the wall clock has moved when it wakes."""
        if seconds < 0:
            raise ValueError("a machine does not sleep backwards")
        self._wall += seconds

    def _pass(self, seconds: float) -> None:
        self._wall += seconds
        self._monotonic += seconds
