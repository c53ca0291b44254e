"""The presence marker: a small file that says "a server of this session is here" (SRV-11).

Owns the files in `<state root>/servers/`, named `<session>.<server pid>`. It says no more than that: whether the
session lives is the client's record, who perceives is a lock. A marker is judged by pid and start time; dead
ones are taken away by the next server that starts. Must not know how the session was found.
"""

from __future__ import annotations

import os

from agent_ways.base.errors import StateError
from agent_ways.base.process import Owner
from agent_ways.base.records import make_dirs, read_record, remove, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from agent_ways.base.process import ProcessTable

FORMAT = 1


def markers_dir(state_root: str) -> str:
    """Where the markers lie."""
    return os.path.join(state_root, "servers")


class Marker:
    """This server's marker; at most one file at any time."""

    __slots__ = ("_content", "_folder", "_owner", "_table", "path", "trouble")

    def __init__(self, folder: str, owner: Owner, table: ProcessTable, content: dict[str, Any]) -> None:
        self._folder: Final = folder
        self._owner: Final = owner
        self._table: Final = table
        self._content: Final = content
        self.path: str | None = None
        self.trouble: str | None = None

    def show(self, session: str) -> None:
        """Be present for `session`: write the marker, or rename it where it names another (after `/clear`).

        State that can not be written is no reason to fail a session: `trouble` then says why.
        """
        if not session or session.startswith(".") or "/" in session or "\0" in session:
            self.trouble = "the session id can not name a file"
            return
        path = os.path.join(self._folder, f"{session}.{self._owner.pid}")
        if path == self.path:
            return
        try:
            if self.path is None or not _renamed(self.path, path):
                make_dirs(self._folder)
                sweep(self._folder, self._owner, self._table)
                write_record(path, {"v": FORMAT, "owner": self._owner.to_json(), **self._content}, lasting=False)
        except StateError as error:
            self.trouble = error.message
            return
        self.path, self.trouble = path, None

    def remove(self) -> None:
        """Be gone. Safe in a signal handler: one unlink."""
        path, self.path = self.path, None
        if path is not None:
            remove(path)


def sweep(folder: str, here: Owner, table: ProcessTable) -> None:
    """Take away the markers whose server is proven dead; what another machine owns stays."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        owner = marker_owner(path)
        if owner is not None and owner.verdict(here, table) == "dead":
            remove(path)


def marker_owner(path: str) -> Owner | None:
    """Who wrote the marker at `path`; None where it is gone or damaged."""
    try:
        record = read_record(path, FORMAT)
    except StateError:
        return None
    return Owner.from_json(record.get("owner")) if record else None


def _renamed(old: str, new: str) -> bool:
    try:
        os.rename(old, new)
    except OSError:
        return False
    return True
