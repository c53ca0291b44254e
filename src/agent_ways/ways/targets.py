"""The list of targets, and what was done in each: the record that removal and the merge go by.

Owns `<state root>/targets.json`, one record, changed under the installation's lock and written before each act that it
notes. It outlives an uninstall where a person decided something in it (a dir added or disabled, an entry declined).
Must not know what belongs in a target.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

from agent_ways.base.records import make_dirs, read_record, remove, write_record
from agent_ways.ways.settings.merge import DECLINED, Base
from agent_ways.ways.target import Target, same_dir

FORMAT = 1
FILE = "targets.json"


@dataclass(frozen=True)
class Known:
    """One target of the list.

    `registered` are the ways in which we registered there (named by the variable, or not); `links` what ours lead to;
    `moved` where something stood that `--force` moved aside, and where to; `base` what settings.json was offered.
    """

    target: Target
    enabled: bool = True
    registered: tuple[bool, ...] = ()
    links: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    base: Base = field(default_factory=Base)

    @property
    def withdrawn(self) -> Known:
        """The same with nothing of ours in it; what was declined stays."""
        declined = {name: entry for name, entry in self.base.entries.items() if entry.state == DECLINED}
        return replace(self, registered=(), links={}, moved={}, base=Base(declined))

    @property
    def is_plain(self) -> bool:
        """Whether a person decided nothing here: it would come about again by itself."""
        return self.enabled and self.target.is_default and not self.base.entries

    def to_json(self) -> dict[str, Any]:
        """The form in the record."""
        return {
            "config_dir": self.target.config_dir,
            "enabled": self.enabled,
            "registered": list(self.registered),
            "links": self.links,
            "moved": self.moved,
            "settings": self.base.to_json(),
        }


class TargetList:
    """The list as it was read. `exists` is false where none was ever written: then the dir in force is meant."""

    def __init__(self, state_root: str, home: str) -> None:
        """Raises `DamagedRecordError` or `NewerRecordError`: a list that can not be read is no empty one."""
        self.path = os.path.join(state_root, FILE)
        found = read_record(self.path, FORMAT)
        self.exists = found is not None
        self._record = found or {"v": FORMAT}
        raw = self._record.get("targets")
        entries = [_known(entry, home) for entry in raw] if isinstance(raw, list) else []
        self._known: list[Known] = [known for known in entries if known is not None]

    def __iter__(self) -> Any:
        """The targets, in the order in which they were added."""
        return iter(tuple(self._known))

    def get(self, target: Target) -> Known | None:
        """What is known of a target; paths that lead to one folder are one target."""
        for known in self._known:
            if known.target.config_dir == target.config_dir:
                return known
        return next((known for known in self._known if same_dir(known.target.config_dir, target.config_dir)), None)

    def put(self, known: Known) -> None:
        """Note a target, in the place of what was known of it."""
        names = [each.target for each in self._known]
        if known.target in names:
            self._known[names.index(known.target)] = known
        else:
            self._known.append(known)
        self._write()

    def forget(self, target: Target) -> None:
        """Take a target out of the list; an empty list stays one."""
        self._known = [known for known in self._known if known.target != target]
        self._write()

    def remove(self) -> None:
        """Take the record away, where a person decided nothing in it."""
        self._known = [known.withdrawn for known in self._known]
        if all(known.is_plain for known in self._known) and (self._known or not self.exists):
            remove(self.path)
        elif self.exists:
            self._write()

    def _write(self) -> None:
        self._record["targets"] = [known.to_json() for known in self._known]
        make_dirs(os.path.dirname(self.path))
        write_record(self.path, self._record)
        self.exists = True


def _known(raw: object, home: str) -> Known | None:
    if not isinstance(raw, dict):
        return None
    config_dir = raw.get("config_dir")
    if not isinstance(config_dir, str) or not os.path.isabs(config_dir):
        return None
    registered = raw.get("registered")
    return Known(
        Target(config_dir, home),
        enabled=raw.get("enabled") is not False,
        registered=tuple(each for each in registered if isinstance(each, bool)) if isinstance(registered, list) else (),
        links=_texts(raw.get("links")),
        moved=_texts(raw.get("moved")),
        base=Base.from_json(raw.get("settings")),
    )


def _texts(raw: object) -> dict[str, str]:
    if not isinstance(raw, dict):
        return {}
    return {key: text for key, text in raw.items() if isinstance(text, str)}
