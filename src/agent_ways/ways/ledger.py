"""The folders that were made outside our versions, so that they can be taken back.

Owns `ledger.json`. A folder is noted before it is made and is only ever removed again when it is empty.
Must not know what the folders are for.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agent_ways.base.errors import DamagedRecordError
from agent_ways.base.records import make_dirs, read_record, write_record

if TYPE_CHECKING:
    from agent_ways.ways.layout import Layout

FORMAT = 1


class Ledger:
    """The ledger of one installation; every change is on disk before the act that it notes."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        try:
            found = read_record(layout.ledger, FORMAT)
        except DamagedRecordError:
            found = None  # what it noted is lost; that leaves empty folders behind at worst
        self._record: dict[str, Any] = found or {"v": FORMAT}

    @property
    def folders(self) -> list[str]:
        """The folders made, deepest first."""
        return sorted(_texts(self._record.get("folders")), key=len, reverse=True)

    def make_folder(self, path: str) -> None:
        """Make a folder and what is missing above it, noting each."""
        missing, at = [], path
        while not os.path.lexists(at):
            missing.append(at)
            at = os.path.dirname(at)
        if missing:
            self._note("folders", missing)
        make_dirs(path)

    def remove_empty_folders(self, under: str = "") -> list[str]:
        """Remove the folders noted, those at or below `under`, each only where it is empty; returns those removed."""
        gone = []
        for path in self.folders:
            if under and path != under and not path.startswith(os.path.join(under, "")):
                continue
            try:
                os.rmdir(path)
            except OSError:
                continue  # a person put something there, or took it away
            gone.append(path)
        if gone and os.path.isdir(self._layout.data):
            self._record["folders"] = [path for path in self._record["folders"] if path not in gone]
            write_record(self._layout.ledger, self._record)
        return gone

    def _note(self, key: str, entries: list[Any]) -> None:
        before = self._record.get(key)
        known = before if isinstance(before, list) else []
        self._record[key] = known + [entry for entry in entries if entry not in known]
        if self._record[key] != before:
            make_dirs(self._layout.data)
            write_record(self._layout.ledger, self._record)


def _texts(raw: object) -> list[str]:
    return [text for text in raw if isinstance(text, str) and os.path.isabs(text)] if isinstance(raw, list) else []
