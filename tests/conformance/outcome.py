"""What one check found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """`passed` is None where the check could not be run here; `detail` says what was seen, or why."""

    name: str
    passed: bool | None
    detail: str


@dataclass(frozen=True)
class Target:
    """The server under test: its command, and the environment that it and every client get."""

    command: tuple[str, ...]
    env: dict[str, str]
