"""Where keepalive's records lie: `<state root>/keepalive/<session>.json`, each with its lock beside it.

Owns reading one, and changing one under its lock, so that two servers of a session never both act on what they read.
Must not know what a record means. Readers need no lock: a record is replaced whole.
"""

from __future__ import annotations

import os

from agent_ways.base.errors import StateError
from agent_ways.base.locks import Lock
from agent_ways.base.records import make_dirs, read_record, remove, write_record
from agent_ways.claude.records import session_name
from agent_ways.keepalive.moves import quiet
from agent_ways.keepalive.record import VERSION, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from agent_ways.base.process import Owner

FOLDER = "keepalive"
_RECORD, _LOCK = ".json", ".lock"
PATIENCE = 0.5
"""Seconds that the lock is waited for: it is held for one read and one write, and the server has one thread."""


def record_path(state_root: str, session: str) -> str:
    """Where the record of `session` lies."""
    return os.path.join(state_root, FOLDER, session + _RECORD)


def read(state_root: str, session: str) -> Record | None:
    """The record of `session`, None where there is none; raises `StateError` where it can not be read or understood."""
    path = record_path(state_root, session)
    raw = read_record(path, VERSION)
    return None if raw is None else Record.from_json(raw, path)


def is_quiet(state_root: str, session: str, operator_ms: int | None) -> bool:
    """`moves.quiet` for whoever brings mail. A record that can not be read holds no mail back."""
    try:
        return quiet(read(state_root, session), operator_ms)
    except StateError:
        return False


class Store:
    """The records, for one process that may change them."""

    __slots__ = ("owner", "root")

    def __init__(self, state_root: str, owner: Owner) -> None:
        self.root: Final = state_root
        self.owner: Final = owner

    def read(self, session: str) -> Record | None:
        """See `read`."""
        return read(self.root, session)

    def change(self, session: str, change: Callable[[Record | None], Record | None]) -> None:
        """Replace the record by what `change` makes of it, under the lock; None, or an equal one, leaves it.

        Raises `LockHeldError` where another holds the lock too long, `StateError` where it can not be written.
        """
        path = record_path(self.root, session)
        make_dirs(os.path.dirname(path))
        with Lock(path + _LOCK, self.owner, patience=PATIENCE):
            before = self.read(session)
            after = change(before)
            if after is not None and after != before:
                write_record(path, after.to_json())

    def prune(self, needed: Callable[[str], bool], before: float, *, dry: bool = False) -> int:
        """Take away the records, and their locks, of sessions that nobody has used since `before`; answers how many.

        `before` is in seconds since 1970. `needed` says of a session whether it lives or may live: then it keeps its
        record, however old that is (KA-7). One whose lock is held is left for the next time. `dry` only counts.
        """
        folder = os.path.join(self.root, FOLDER)
        try:
            names = {name.removesuffix(_LOCK) for name in os.listdir(folder)}
        except OSError:
            return 0
        gone = 0
        for name in sorted(names):
            session = session_name(name.removesuffix(_RECORD))
            path = os.path.join(folder, name)
            unused = _older(path, before) and _older(path + _LOCK, before)
            if not name.endswith(_RECORD) or session is None or not unused or needed(session):
                continue
            gone += 1 if dry else self._remove(path, before)
        return gone

    def _remove(self, path: str, before: float) -> bool:
        lock = Lock(path + _LOCK, self.owner, patience=0.0)
        try:
            if not lock.try_acquire():
                return False
        except StateError:
            return False  # a full disk, say: the next time
        try:
            if not _older(path, before):
                return False  # somebody was faster
            remove(path)
            remove(path + _LOCK)
        finally:
            lock.release()
        return True


def _older(path: str, before: float) -> bool:
    """Whether a file was last written before that time, or is not there."""
    try:
        return os.stat(path).st_mtime < before
    except OSError:
        return True
