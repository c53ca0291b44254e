"""Locks between processes, with proof of who holds them.

Owns one kind of lock: an advisory `flock` on a file that is never removed, with the holder's `Owner` written in
it. The kernel frees it when its holder dies, however it dies, so a dead local owner needs no breaking; the
written proof names the holder in errors, and keeps a lock safe on a mount shared between machines whose file
system does not carry `flock` across: what another machine's owner has not cleared is never taken.
Must not know what a lock protects.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from agent_ways.base.errors import LockHeldError, state_error
from agent_ways.base.jsontext import NotJSONError, dumps, loads
from agent_ways.base.process import Owner
from agent_ways.base.records import FILE_MODE, make_dirs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, Self

FORMAT = 1
PATIENCE = 5.0
"""Seconds that a lock is waited for unless the caller says otherwise."""


class Lock:
    """The lock at `path`, for `owner`; a context manager.

    `acquire` waits at most `patience` seconds and then raises `LockHeldError` naming the holder. Not re-entrant.
    """

    __slots__ = ("_clock", "_fd", "_sleep", "owner", "path", "patience")

    def __init__(
        self,
        path: str,
        owner: Owner,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path: Final = path
        self.owner: Final = owner
        self.patience: Final = patience
        self._clock: Final = clock
        self._sleep: Final = sleep
        self._fd = -1

    def acquire(self) -> None:
        """Take the lock, or raise `LockHeldError` or `StateError`."""
        if self._fd >= 0:
            raise LockHeldError(f"{self.path} is held by this very process", "This is a defect; please report it.")
        end = self._clock() + self.patience
        pause = 0.002
        while not self.try_acquire():
            left = end - self._clock()
            if left <= 0:
                raise self._held()
            self._sleep(min(pause, left))
            pause = min(pause * 1.5, 0.05)

    def try_acquire(self) -> bool:
        """Take the lock if it is free now; False where it is held."""
        fd = self._open()
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                return False
            raise state_error("lock", self.path, error) from None
        if self._foreign(_read_owner(fd)):
            os.close(fd)
            return False
        try:
            _write(fd, dumps({"v": FORMAT, "owner": self.owner.to_json()}).encode("ascii") + b"\n")
        except OSError as error:
            _write_quietly(fd, b"")
            os.close(fd)
            raise state_error("write", self.path, error) from None
        self._fd = fd
        return True

    def release(self) -> None:
        """Let go; the proof is cleared first, so that another machine sees a free lock."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            _write_quietly(fd, b"")
            os.close(fd)

    def holder(self) -> Owner | None:
        """Who wrote the proof that stands in the lock now, or None."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            return _read_owner(fd)
        finally:
            os.close(fd)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd >= 0

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def _open(self) -> int:
        try:
            return _opened(self.path)
        except FileNotFoundError:
            make_dirs(os.path.dirname(self.path))
        except OSError as error:
            raise state_error("open", self.path, error) from None
        try:
            return _opened(self.path)
        except OSError as error:
            raise state_error("open", self.path, error) from None

    def _foreign(self, found: Owner | None) -> bool:
        """Whether a proof stands there that having the flock does not disprove: another machine's, not cleared.

        On one running kernel (same boot) the flock itself is the proof, whichever container its owner was in. Two
        systems that do not tell their boots are not the same one for that.
        """
        if found is None or found.host == self.owner.host:
            return False
        return found.boot != self.owner.boot or not found.boot

    def _held(self) -> LockHeldError:
        found = self.holder()
        if found is None:
            return LockHeldError(f"{self.path} is held by a process that left no name", "Try again in a moment.")
        if self._foreign(found):
            return LockHeldError(
                f"{self.path} is held by {found}",
                f"If that machine is gone, remove {self.path} and try again.",
            )
        return LockHeldError(
            f"{self.path} is held by {found}",
            f"It may be stopped or very busy: look with `ps -p {found.pid}`, then try again.",
        )


def _opened(path: str) -> int:
    """The lock's file, made where it is missing, with its mode whatever the umask of who came first."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, FILE_MODE)
    found = os.fstat(fd)
    if found.st_mode & 0o777 != FILE_MODE and found.st_uid == os.geteuid():
        os.fchmod(fd, FILE_MODE)
    return fd


def _read_owner(fd: int) -> Owner | None:
    try:
        raw = loads(os.pread(fd, 4096, 0).decode("utf-8", "replace"))
    except (OSError, NotJSONError):
        return None
    return Owner.from_json(raw.get("owner")) if isinstance(raw, dict) else None


def _write(fd: int, data: bytes) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, data, 0)


def _write_quietly(fd: int, data: bytes) -> None:
    try:
        _write(fd, data)
    except OSError:
        pass  # a full disk must not keep a lock held; truncating needs no space
