"""Tables and bars as plain text, the same on a terminal and in a pipe.

Owns columns and lengths. Must not know what is in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BETWEEN = "  "
FULL, PLAIN = "█", "#"
_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def table(rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Rows in columns as wide as their longest cell; the columns with these `numbers` are set to the right."""
    kept = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
    lines = (
        BETWEEN.join(
            cell.rjust(width) if number in numbers else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in kept
    )
    return "\n".join(line.rstrip() for line in lines)


def chart(groups: Sequence[tuple[str, Sequence[tuple[str, int]]]], width: int, encoding: str) -> str:
    """Horizontal bars to one scale: groups of a name and its bars, each a label and a value of zero or more."""
    most = max((value for _, bars in groups for _, value in bars), default=0)
    if not most:
        return ""
    name_width = max(len(name) for name, _ in groups)
    label_width = max(len(label) for _, bars in groups for label, _ in bars)
    value_width = max(len(short(value)) for _, bars in groups for _, value in bars)
    room = max(10, width - name_width - label_width - value_width - 3 * len(BETWEEN))
    mark = FULL if _can(encoding) else PLAIN
    lines = []
    for name, bars in groups:
        for number, (label, value) in enumerate(bars):
            first = (name if number == 0 else "").ljust(name_width)
            length = max(1, room * value // most) if value else 0
            bar = BETWEEN.join((first, label.ljust(label_width), mark * length, short(value)))
            lines.append(bar if length else BETWEEN.join((first, label.ljust(label_width), short(value))))
    return "\n".join(lines)


def short(number: int) -> str:
    """A count as a person reads it: 812, 8.1k, 81k, 1.2M."""
    for size, unit in _UNITS:
        if abs(number) >= size - size // 2_000:  # what would read as 1000k is 1.0M
            part = number / size
            return f"{part:.1f}{unit}" if abs(part) < 9.95 else f"{part:.0f}{unit}"
    return str(number)


def _can(encoding: str) -> bool:
    try:
        FULL.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
