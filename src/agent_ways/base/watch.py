"""Being told of changes instead of looking for them.

Owns two kinds of file descriptor that become readable when something happened: to a file (`FileWatch`, inotify)
and to a process (`process_end`, a pidfd). Must not know what the caller does then. Where the system has neither
(macOS, an inotify limit, an old kernel), both answer None and the caller looks now and then.
"""

from __future__ import annotations

import os
import sys

from agent_ways.base.process import alive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctypes import CDLL
    from typing import Final

    from agent_ways.base.process import Process, ProcessTable

_IN_CHANGES = 0x2 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
"""IN_MODIFY, CLOSE_WRITE, MOVED_TO, CREATE, DELETE, DELETE_SELF, MOVE_SELF."""

_IN_ARRIVALS = 0x80 | 0x100
"""IN_MOVED_TO, CREATE."""

_IN_NONBLOCK_CLOEXEC = 0o4000 | 0o2000000

_SHARED = frozenset(
    int(magic, 16)
    for magic in (
        "6969 517b ff534d42 fe534d42 65735546 01021997 00c36400 5346414f 0bd00bd0 47504653 01161970 7461636f 786f4256 "
        "aad7aaea 19830326"
    ).split()
)
"""f_type (statfs(2)) of file systems that other machines may write to behind this kernel's back: NFS, SMB (three), FUSE
(sshfs, virtiofs, Docker Desktop's), 9p, Ceph, AFS, Lustre, GPFS, GFS2, OCFS2, VirtualBox, PanFS, BeeGFS."""


class FileWatch:
    """Readable (`fd`) after any change to one of the paths added; made by `file_watch`."""

    __slots__ = ("_libc", "fd")

    def __init__(self, libc: CDLL, fd: int) -> None:
        self._libc: Final = libc
        self.fd: Final = fd

    def add(self, path: str) -> bool:
        """Watch a file, or a directory's entries; False where it is not there or the limit is reached.

        Adding a path again is harmless; it must be done after the file was replaced.
        """
        return self._add(path, _IN_CHANGES)

    def add_arrivals(self, folder: str) -> bool:
        """Watch only for names that are new in a directory, not for changes of what is there."""
        return self._add(folder, _IN_ARRIVALS)

    def tells_all(self, path: str) -> bool:
        """Whether every change there is this kernel's own: on a shared file system those of other machines are not told."""
        import ctypes

        found = (ctypes.c_long * 32)()  # struct statfs begins with its f_type and is shorter than this
        if self._libc.statfs(os.fsencode(path), found):
            return True
        return found[0] & 0xFFFFFFFF not in _SHARED

    def _add(self, path: str, mask: int) -> bool:
        return bool(self._libc.inotify_add_watch(self.fd, os.fsencode(path), mask) >= 0)

    def drain(self) -> None:
        """Take the reports away, so that `fd` is readable only after the next change."""
        try:
            while os.read(self.fd, 65536):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Stop watching."""
        os.close(self.fd)


def file_watch() -> FileWatch | None:
    """A watch with no paths yet, or None where there is no inotify to be had."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.inotify_init1(_IN_NONBLOCK_CLOEXEC)
    except (ImportError, OSError, AttributeError):
        return None
    return FileWatch(libc, fd) if fd >= 0 else None


def process_end(table: ProcessTable, process: Process) -> int | None:
    """A descriptor that becomes readable when that very process ends, or None where there is none to be had.

    The start time is looked at after the descriptor is open: a pid that was reused meanwhile gives None.
    """
    try:
        fd = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return None
    if alive(table, process.pid, process.start):
        return fd
    os.close(fd)
    return None
