"""What a verb found or did, as values; `render.py` is the only one that prints them.

Owns the shape that every verb of `ways` answers in, and its JSON. Must not know any verb.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

FORMAT = 1
"""The `v` of every JSON answer; it grows when a reader would have to change."""


class Status(Enum):
    """How one line is meant."""

    OK = "ok"
    """As it should be; nothing was done."""
    DONE = "done"
    WOULD = "would"
    """What a dry run shows in place of done."""
    NOTE = "note"
    """Worth knowing; nothing of ours is broken."""
    SKIPPED = "skipped"
    REFUSED = "refused"
    """Nothing was touched, since it would have touched what is not ours."""
    FAILED = "failed"


@dataclass(frozen=True)
class Line:
    """One finding: what it is about, one sentence, and the command that mends it where there is one.

    `details` are what the sentence sums up, one by one; text shows them where something is planned.
    """

    status: Status
    subject: str
    text: str
    repair: str = ""
    details: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The form in JSON answers."""
        return {
            "status": self.status.value,
            "subject": self.subject,
            "text": self.text,
            "repair": self.repair or None,
            **({"details": list(self.details)} if self.details else {}),
        }


@dataclass(frozen=True)
class Report:
    """A verb's whole answer. `quiet` stands in for the lines where there is nothing but `ok`."""

    verb: str
    lines: tuple[Line, ...]
    exit_code: int = 0
    quiet: str = ""
    bare: bool = False
    """Whether `quiet` is printed without the verb before it: an answer that a script reads."""
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether anything was done, or would be."""
        return any(line.status in (Status.DONE, Status.WOULD) for line in self.lines)

    @property
    def all_ok(self) -> bool:
        """Whether there is nothing to tell."""
        return all(line.status is Status.OK for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        """The whole as one object."""
        return {
            "v": FORMAT,
            "verb": self.verb,
            "exit_code": self.exit_code,
            **self.data,
            "lines": [line.to_json() for line in self.lines],
        }
