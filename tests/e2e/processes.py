"""Processes as the suite sees them: found by a mark in their environment, ended by pid, waited for by pidfd.

Must not know what any of them is for.
"""

from __future__ import annotations

import os
import select
import signal
from dataclasses import dataclass

# Every process that the suite starts carries this in its environment and hands it on, so that whatever is left
# of a test can be found however it was reparented.
MARK = "AGENT_WAYS_E2E_LAB"


@dataclass(frozen=True)
class Process:
    """A live process: its pid, parent and command line."""

    pid: int
    parent: int
    argv: tuple[str, ...]

    def runs(self, path: str) -> bool:
        """True when `path` is the program or a script among its arguments."""
        return path in self.argv


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def look(pid: int) -> Process | None:
    """The process, or None when it is gone or only waits to be reaped."""
    stat = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(stat) < 2 or stat[0] in (b"Z", b"X"):
        return None
    argv = tuple(word.decode("utf-8", "replace") for word in _read(f"/proc/{pid}/cmdline").split(b"\0")[:-1])
    return Process(pid, int(stat[1]), argv)


def marked(lab: str) -> list[Process]:
    """Every live process that carries the lab's mark, whoever its parent is now."""
    needle = f"{MARK}={lab}".encode()
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    with_mark = [pid for pid in pids if needle in _read(f"/proc/{pid}/environ").split(b"\0")]
    return [process for process in map(look, with_mark) if process]


def children(pid: int) -> list[Process]:
    """The live direct children of `pid`."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [process for process in map(look, pids) if process and process.parent == pid]


def wait_gone(pid: int, seconds: float) -> bool:
    """True once the process is gone, False if it still lives after `seconds`."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000)) or look(pid) is None
    finally:
        os.close(fd)


def end(pid: int, *, grace: float = 5.0) -> None:
    """SIGTERM, then SIGKILL when it is still there after `grace` seconds. Nothing happens when it is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        if wait_gone(pid, grace):
            return
