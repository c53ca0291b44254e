"""What a process holds: memory and descriptors, sample by sample.

Owns the reading of `/proc` and the verdict on growth. Must not know what the process is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

MOST_GROWTH_KB = 1_024
MOST_MORE_FILES = 2


@dataclass(frozen=True)
class Sample:
    """Kilobytes shared fairly (PSS) and of its own alone (private), and open descriptors."""

    pss: int
    private: int
    files: int


@dataclass
class Series:
    """One process's samples. Private memory tells of growth: PSS also moves when neighbours come and go."""

    pid: int
    samples: list[Sample] = field(default_factory=list)

    def take(self) -> None:
        """One more, where the process is there."""
        found = sample(self.pid)
        if found is not None:
            self.samples.append(found)

    @property
    def flat(self) -> bool:
        """Whether the last third is no higher than the first third was, but for a small margin."""
        if not self.samples:
            return True  # a system that does not tell
        third = max(1, len(self.samples) // 3)
        first, last = self.samples[:third], self.samples[-third:]
        grown = min(one.private for one in last) - max(one.private for one in first)
        more = min(one.files for one in last) - max(one.files for one in first)
        return grown <= MOST_GROWTH_KB and more <= MOST_MORE_FILES


def sample(pid: int) -> Sample | None:
    """What it holds now; None where it is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            fields = {line.split()[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}
        files = len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, ValueError):
        return None
    return Sample(fields["Pss:"], fields["Private_Clean:"] + fields["Private_Dirty:"], files)
