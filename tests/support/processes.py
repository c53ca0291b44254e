"""Processes that tests start or learn of: waited for and ended without polling and without hitting a stranger.

Owns `ProcessHandle`. Must not know what the process runs. Where the system has process descriptors (Linux) a
handle holds one from the moment it is made, so a pid used again later is never waited for nor signalled.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time

HAS_PROC = os.path.exists("/proc/self/stat")


class ProcessHandle:
    """One process, child of ours or not. Making one raises `ProcessLookupError` where the pid is already gone."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._fd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
        if self._fd < 0:
            os.kill(pid, 0)

    def fileno(self) -> int:
        """A descriptor that reads as ready once the process has ended, or -1 where the system has none."""
        return self._fd

    def wait(self, timeout: float) -> bool:
        """Whether it ended within `timeout` seconds. Does not reap: its parent does."""
        if self._fd >= 0:
            return bool(select.select([self._fd], [], [], max(0.0, timeout))[0])
        end = time.monotonic() + timeout
        while self._there():
            if time.monotonic() >= end:
                return False
            select.select([], [], [], 0.01)
        return True

    @property
    def alive(self) -> bool:
        """Whether it runs; a zombie does not."""
        return not self.wait(0)

    def send_signal(self, number: int) -> None:
        """Signal it; quietly nothing where it has gone."""
        try:
            if self._fd >= 0:
                signal.pidfd_send_signal(self._fd, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    def kill(self, timeout: float = 5.0) -> None:
        """SIGKILL (a stopped process too) and wait for the end; raises `TimeoutError` where that does not come."""
        self.send_signal(signal.SIGKILL)
        if not self.wait(timeout):
            raise TimeoutError(f"process {self.pid} lives {timeout} s after SIGKILL")

    def close(self) -> None:
        """Let go of the descriptor; the process is left alone."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _there(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


def parent_of(pid: int) -> int:
    """The parent's pid, 0 where there is none to be seen."""
    if HAS_PROC:
        fields = stat_fields(pid)
        return int(fields[1]) if fields else 0
    return int(ps("ppid=", "-p", str(pid)) or 0)


def start_of(pid: int) -> str:
    """The start time as the client writes it, empty where there is none: field 22 of `/proc/<pid>/stat`, else by ps."""
    if HAS_PROC:
        fields = stat_fields(pid)
        return fields[19] if fields else ""
    return ps("lstart=", "-p", str(pid))


def children_of(pid: int) -> list[int]:
    """The pids of its children."""
    if HAS_PROC:
        everyone = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return sorted(each for each in everyone if parent_of(each) == pid)
    pairs = [line.split() for line in ps("pid=,ppid=", "-A").splitlines()]
    return sorted(int(child) for child, parent in pairs if int(parent) == pid)


def ps(columns: str, *which: str) -> str:
    """What `ps` says where there is no `/proc`, in the C locale and UTC."""
    env = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ.get("PATH", os.defpath)}
    command = ["ps", "-ww", "-o", columns, *which]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=10, check=False)
    return done.stdout.strip()


def stat_fields(pid: int) -> list[str]:
    """The fields of `/proc/<pid>/stat` from the state on (field 3 first); empty where the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def command_line(pid: int) -> list[str]:
    """The arguments as `/proc` shows them; empty where the process is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            data = file.read()
    except OSError:
        return []
    return [os.fsdecode(part) for part in data.removesuffix(b"\0").split(b"\0")]
