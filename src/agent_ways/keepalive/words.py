"""Durations in words. Owns one function; must not know what lasts that long."""

from __future__ import annotations

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def spell(ms: int) -> str:
    """Ms as a person says them, at most two units: `7 h 12 min`, `45 min`, `5 s`."""
    seconds = max(0, ms) // 1000
    parts: list[str] = []
    for size, name in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}")
        elif parts:
            break
        if len(parts) == 2:
            break
    return " ".join(parts) or "0 s"
