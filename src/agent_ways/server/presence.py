"""The presence marker: a small file that says "a server of this session is here" (SRV-11).

Owns the files in `<state root>/servers/`, named `<session>.<server pid>`. It says no more than that: whether the
session lives is the client's record, who perceives is a lock. A marker is judged by pid and start time; dead
ones are taken away by the next server that starts. Must not know how the session was found.

A signal ends the server at once, wherever it stands. It is kept waiting while a marker is put in its place, so that no
half of one, nor one that nobody knows of, stays behind.
"""

from __future__ import annotations

import _signal as signals  # type: ignore[import-not-found]  # signal.py wraps these in enums, 4 ms of start-up
import os
import stat
import time

from agent_ways.base.errors import StateError
from agent_ways.base.process import Owner
from agent_ways.base.records import make_dirs, read_record, remove, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from agent_ways.base.process import ProcessTable

FORMAT = 1
ENDING = (signals.SIGTERM, signals.SIGHUP, signals.SIGINT)
"""The signals that end a server."""
LEFT_OVER = 3600.0
"""Seconds after which a file that was never finished has no writer any more: writing one takes a moment."""


def markers_dir(state_root: str) -> str:
    """Where the markers lie."""
    return os.path.join(state_root, "servers")


class Marker:
    """This server's marker; at most one file at any time."""

    __slots__ = ("_content", "_folder", "_owner", "_table", "_wall", "path", "trouble")

    def __init__(
        self,
        folder: str,
        owner: Owner,
        table: ProcessTable,
        content: dict[str, Any],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._folder: Final = folder
        self._owner: Final = owner
        self._table: Final = table
        self._content: Final = content
        self._wall: Final = wall
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
            if self.path is None:
                make_dirs(self._folder)
                sweep(self._folder, self._owner, self._table, self._wall())
            self._put(path)
        except StateError as error:
            self.trouble = error.message
            return
        self.trouble = None

    def _put(self, path: str) -> None:
        before = signals.pthread_sigmask(signals.SIG_BLOCK, ENDING)
        try:
            if self.path is None or not _renamed(self.path, path):
                self.remove()  # it must not go on naming a session that is over
                make_dirs(self._folder)
                write_record(path, {"v": FORMAT, "owner": self._owner.to_json(), **self._content}, lasting=False)
            self.path = path
        finally:
            signals.pthread_sigmask(signals.SIG_SETMASK, before)

    def remove(self) -> None:
        """Be gone. Safe in a signal handler, also one that comes in the midst of this: an unlink, then forgetting."""
        if self.path is not None:
            remove(self.path)
            self.path = None


def sweep(folder: str, here: Owner, table: ProcessTable, now: float) -> None:
    """Take away the markers whose server is proven dead, and what was never finished; what another machine owns stays.

    `now` is the wall clock.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        owner = marker_owner(path)
        if owner.verdict(here, table) == "dead" if owner is not None else _is_left_over(path, now):
            remove(path)


def marker_owner(path: str) -> Owner | None:
    """Who wrote the marker at `path`; None where it is gone or damaged."""
    try:
        record = read_record(path, FORMAT)
    except StateError:
        return None
    return Owner.from_json(record.get("owner")) if record else None


def _is_left_over(path: str, now: float) -> bool:
    """Whether a killed server, or a power cut, left this file unfinished: a temporary name, or nothing in it."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return (
        (path.endswith(".tmp") or found.st_size == 0)
        and stat.S_ISREG(found.st_mode)
        and (now - found.st_mtime > LEFT_OVER)
    )


def _renamed(old: str, new: str) -> bool:
    try:
        os.rename(old, new)
    except OSError:
        return False
    return True
