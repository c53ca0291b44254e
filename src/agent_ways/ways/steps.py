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
        """What it does."""
        parts = []
        if self.merged.added:
            parts.append(f"adds {grouped(self.merged.added)}")
        if self.merged.removed:
            parts.append(f"takes out {grouped(self.merged.removed)}")
        if self.merged.text is None:
            parts.append("takes the file away, which holds nothing else")
        behind = f" (a link to {self.seen.real})" if self.seen.linked else ""
        return f"{self.seen.path}{behind}: {'; '.join(parts) or 'renews an entry'}"


def grouped(names: tuple[str, ...]) -> str:
    """Names of entries, each list that they belong to said once."""
    lists: dict[str, list[str]] = {}
    for name in names:
        where, _, entry = name.partition(": ")
        lists.setdefault(where, []).append(entry)
    return "; ".join(f"{where} {', '.join(entries)}" for where, entries in lists.items())


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
