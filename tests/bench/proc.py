"""What Linux tells of a process tree: memory, threads, wake-ups, processor time.

Owns the reading of /proc for the bench. A server is its process and all of that one's descendants, summed.
"""

from __future__ import annotations

import os
import time


def tree(pid: int) -> list[int]:
    """The process and its descendants."""
    found = [pid]
    for parent in found:
        for task in _listed(f"/proc/{parent}/task"):
            found += (int(child) for child in _text(f"/proc/{parent}/task/{task}/children").split())
    return found


def memory(pid: int) -> dict[str, int]:
    """KiB of `Rss`, `Pss` and `Private_Dirty` over the tree."""
    total = dict.fromkeys(("Rss", "Pss", "Private_Dirty"), 0)
    for process in tree(pid):
        for line in _text(f"/proc/{process}/smaps_rollup").splitlines():
            name, _, rest = line.partition(":")
            if name in total:
                total[name] += int(rest.split()[0])
    return total


def threads(pid: int) -> int:
    """Threads of the tree."""
    return sum(len(_listed(f"/proc/{process}/task")) for process in tree(pid))


def open_files(pid: int) -> int:
    """Open descriptors of the tree."""
    return sum(len(_listed(f"/proc/{process}/fd")) for process in tree(pid))


def switches(pid: int) -> int:
    """How often the threads of the tree went to sleep by themselves, hence woke: since each began."""
    total = 0
    for process in tree(pid):
        for task in _listed(f"/proc/{process}/task"):
            for line in _text(f"/proc/{process}/task/{task}/status").splitlines():
                if line.startswith("voluntary_ctxt_switches:"):
                    total += int(line.split()[1])
    return total


def processor_ns(pid: int) -> int:
    """Nanoseconds of processor time that the tree has used, by each process's own clock."""
    # A process's CPU clock has this number (clock_getcpuclockid(3)); /proc/<pid>/stat counts in 10 ms.
    return sum(time.clock_gettime_ns(~process << 3 | 2) for process in tree(pid))


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _listed(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []
