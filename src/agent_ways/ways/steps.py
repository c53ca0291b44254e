"""The steps that change a target, as values: what a dry run shows, and what then is done.

Owns what each step is called. Must not do any of them (`acts.py`), nor decide which there are (`plan.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ways.ways.settings.file import Seen  # noqa: TC001 - a field
from agent_ways.ways.settings.merge import Merged  # noqa: TC001 - a field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_ways.claude.mcp import Place


@dataclass(frozen=True)
class MoveAside:
    """Rename what stands where a link of ours belongs; it is moved back when the link goes."""

    path: str
    to: str
    subject = "aside"

    @property
    def text(self) -> str:
        """What it does."""
        return f"{self.path} -> {self.to}"


@dataclass(frozen=True)
class PutLink:
    """Make a link, or turn one of ours; `instead` is the text of a link that may be replaced besides."""

    path: str
    leads_to: str
    instead: str = ""
    subject = "link"

    @property
    def text(self) -> str:
        """What it does."""
        return f"{self.path} -> {self.leads_to}"


@dataclass(frozen=True)
class TakeLink:
    """Take a link of ours away."""

    path: str
    leads_to: str
    subject = "link"

    @property
    def text(self) -> str:
        """What it does."""
        return f"takes {self.path} away"


@dataclass(frozen=True)
class MoveBack:
    """Rename what was moved aside to where it stood."""

    path: str
    to: str
    subject = "aside"

    @property
    def text(self) -> str:
        """What it does."""
        return f"{self.path} -> {self.to}"


@dataclass(frozen=True)
class WriteSettings:
    """Bring our entries into a settings.json, or take them out."""

    seen: Seen
    merged: Merged
    subject = "settings"

    @property
    def text(self) -> str:
        """What it does; the entries are counted here and named in `details`."""
        parts = []
        if self.merged.added:
            parts.append(f"adds {counted(self.merged.added)}")
        if self.merged.removed:
            parts.append(f"takes out {counted(self.merged.removed)}")
        if self.merged.text is None:
            parts.append("takes the file away, which holds nothing else")
        behind = f" (a link to {self.seen.real})" if self.seen.linked else ""
        return f"{self.seen.path}{behind}: {'; '.join(parts) or 'renews an entry'}"

    @property
    def details(self) -> tuple[str, ...]:
        """Each entry that it adds or takes out."""
        added = [f"adds {name}" for name in self.merged.added]
        return (*added, *(f"takes out {name}" for name in self.merged.removed))


def counted(names: tuple[str, ...]) -> str:
    """How many entries of each kind, as in: 10 permissions (one for each tool, and Bash(attend run)) and 2 hooks."""
    entries = [name.partition(": ")[::2] for name in names]
    allowed = [entry for where, entry in entries if where.startswith("permissions.")]
    hooks = [where for where, _ in entries if where.startswith("hooks.")]
    tools = [entry for entry in allowed if entry.startswith("mcp__")]
    others = [entry for entry in allowed if entry not in tools]
    kinds = [f"one for each of {_number(len(tools), 'tool')}"] if tools else []
    parts = [f"{_number(len(allowed), 'permission')} ({', and '.join([*kinds, *others])})"] if allowed else []
    if hooks:
        events = ", ".join(dict.fromkeys(where.partition(".")[2] for where in hooks))
        parts.append(f"{_number(len(hooks), 'hook')} ({events})")
    return " and ".join(parts) or ", ".join(names)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Register:
    """Register the target's server with Claude Code."""

    place: Place
    command: str
    reason: str
    calls: tuple[tuple[str, ...], ...]
    subject = "registration"

    @property
    def text(self) -> str:
        """What it does."""
        return f"{self.reason} in {self.place.file}"

    def by_hand(self, env: Mapping[str, str]) -> str:
        """The shell line that does it."""
        return self.place.by_hand(self.calls, env)


@dataclass(frozen=True)
class Unregister(Register):
    """Withdraw the registration."""


Step = MoveAside | PutLink | TakeLink | MoveBack | WriteSettings | Register | Unregister
