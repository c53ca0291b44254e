"""Whether reading takes time linear in the input's size: the same input four times as long, by the processor's clock.

Owns the measurement. Must not know parsers. Processor time is little disturbed by what else runs; a suspicion is
measured again, and only one that stays is told.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.fuzz.target import Pump, Target

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

FACTOR = 4
MOST = 11.0
"""Times that four times the input may take: linear is 4, quadratic is 16."""
CLEAR = 0.02
"""Seconds below which a run says nothing."""
ENOUGH = 0.08
"""Seconds that tell: longer inputs would say the same."""
ROUNDS = 4


def grows(target: Target, pump: Pump, longest: int = 1 << 16) -> str:
    """Empty where the time is linear, or too short to tell; else what was measured.

    Sizes go up until a run takes long enough, at most to `longest`.
    """
    size = 1 << 12
    while size <= longest:
        small, big = _pair(target, pump, size, 1)
        if big > CLEAR and big > MOST * max(small, 1e-4):
            small, big = _pair(target, pump, size, ROUNDS)
            if big > CLEAR and big > MOST * max(small, 1e-4):
                return (
                    f"{size} to {FACTOR * size} bytes: {small * 1000:.1f} to {big * 1000:.1f} ms ({pump.unit[:40]!r})"
                )
        if big > ENOUGH:
            return ""
        size *= FACTOR
    return ""


def pump_of(random: Random, data: bytes, words: Sequence[bytes]) -> Pump:
    """A piece of `data`, or a word in some place of it, to be repeated there."""
    start = random.randrange(len(data))
    end = min(len(data), start + random.choice((1, 2, 5, 20, 80)))
    if words and random.random() < 0.4:
        return Pump(random.choice(words) or b"x", data[:start], data[start:])
    return Pump(data[start:end], data[:start], data[end:])


def _pair(target: Target, pump: Pump, size: int, rounds: int) -> tuple[float, float]:
    """The least times of `rounds` for `size` and for `FACTOR` times that."""
    times = []
    for data in (pump.of(size), pump.of(FACTOR * size)):
        least = 1e9
        for _ in range(rounds):
            start = time.process_time()
            try:
                target.check(data)
            except Exception:  # noqa: BLE001  # faults are other tests' subject
                pass
            least = min(least, time.process_time() - start)
        times.append(least)
    return times[0], times[1]
