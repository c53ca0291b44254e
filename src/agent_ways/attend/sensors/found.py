"""What a sensor's look found."""

from __future__ import annotations

from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Found(Value):
    """`lines` are printed, each a turn; `after` is seconds until the next look at the latest, None: at a change."""

    __slots__ = ("after", "lines")

    def __init__(self, lines: tuple[str, ...] = (), after: float | None = None) -> None:
        self.lines: Final = lines
        self.after: Final = after


def sooner(one: float | None, other: float | None) -> float | None:
    """The earlier of two times to look again; None is never."""
    return other if one is None else one if other is None else min(one, other)
