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
    (
        0x6969,  # NFS
        0x517B,  # SMB
        0xFF534D42,  # CIFS
        0xFE534D42,  # SMB 2
        0x65735546,  # FUSE: sshfs, virtiofs, Docker Desktop's
        0x01021997,  # 9p
        0x00C36400,  # Ceph
        0x5346414F,  # AFS
        0x0BD00BD0,  # Lustre
        0x47504653,  # GPFS
        0x01161970,  # GFS2
        0x7461636F,  # OCFS2
        0x786F4256,  # VirtualBox
        0xAAD7AAEA,  # PanFS
        0x19830326,  # BeeGFS
    )
)
"""f_type (statfs(2)) of file systems that other machines may write to behind this kernel's back."""


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
        """Whether every change there is this kernel's own; on a shared file system other machines make some, untold."""
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
