"""Made-up processes: a process table in memory, and a tree on disk that looks like Linux's `/proc`.

Owns both; must not know who asks. Start times are clock ticks since boot, as text, as in the real thing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from agent_ways.base.process import Process

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class FakeTable:
    """A `ProcessTable` over processes that a test adds, kills and adopts out."""

    def __init__(self) -> None:
        self.processes: Final[dict[int, Process]] = {}
        self.arguments: Final[dict[int, tuple[str, ...]]] = {}
        self.standing: Final[set[int]] = set()

    def add(self, pid: int, parent: int = 1, start: str = "", argv: tuple[str, ...] | None = None) -> Process:
        """A live process; its start is made up from its pid where none is given."""
        process = Process(pid=pid, parent=parent, start=start or str(pid * 10))
        self.processes[pid] = process
        self.arguments.pop(pid, None)
        if argv is not None:
            self.arguments[pid] = argv
        return process

    def chain(self, *pids: int) -> list[Process]:
        """Processes of which each is the child of the next; the last one is a child of pid 1."""
        return [self.add(pid, parent) for pid, parent in zip(pids, [*pids[1:], 1], strict=True)]

    def end(self, pid: int, adopter: int = 1) -> None:
        """The process is gone, and its children are the adopter's."""
        del self.processes[pid]
        for child in list(self.processes.values()):
            if child.parent == pid:
                self.processes[child.pid] = Process(pid=child.pid, parent=adopter, start=child.start)

    def look(self, pid: int) -> Process | None:
        """See `ProcessTable`."""
        return self.processes.get(pid)

    def argv(self, pid: int) -> tuple[str, ...] | None:
        """See `ProcessTable`."""
        return self.arguments.get(pid)

    def stopped(self, pid: int) -> bool:
        """See `ProcessTable`."""
        return pid in self.standing


class ProcTree:
    """A folder with `<pid>/stat` and `<pid>/cmdline`, for a `ProcTable` with that root."""

    def __init__(self, root: Path) -> None:
        self.root: Final = root
        root.mkdir(parents=True, exist_ok=True)
        (root / "self").symlink_to(str(os.getpid()))

    def add(
        self,
        pid: int,
        parent: int = 1,
        start: str = "",
        *,
        name: bytes = b"python3",
        state: str = "S",
        argv: Iterable[bytes] = (),
    ) -> None:
        """A process; its name may hold anything that the kernel lets it hold."""
        folder = self.root / str(pid)
        folder.mkdir(exist_ok=True)
        (folder / "stat").write_bytes(stat_line(pid, parent, start or str(pid * 10), name=name, state=state))
        (folder / "cmdline").write_bytes(b"".join(word + b"\0" for word in argv))


def stat_line(pid: int, parent: int, start: str, *, name: bytes = b"python3", state: str = "S") -> bytes:
    """One `/proc/<pid>/stat`: 52 fields, of which the second is the name in parentheses and the 22nd the start."""
    before = [state, parent, pid, pid, 34816, pid, 4194560, 9, 0, 0, 0, 1, 2, 3, 4, 20, 0, 1, 0]
    after = [11563008, 2400, 2**64 - 1, *[0] * 27]
    rest = " ".join(str(field) for field in (*before, start, *after))
    return b"%d (%s) %s\n" % (pid, name, rest.encode("ascii"))
