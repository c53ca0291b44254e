"""What a process holds: memory and descriptors, sample by sample.

Owns the reading of `/proc` and the verdict on growth. Must not know what the process is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

MOST_GROWTH_KB = 1_024
MOST_KB = 32_768
"""Private memory that a server may ever have: a transcript's last 4 MiB parsed, and itself."""
STEPS = 4
"""A heap takes a few steps, each when a larger piece of a transcript is parsed than ever before, and keeps what it got;
a leak takes many."""
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
        """Whether it has not grown since its first third, but for a few steps and a small margin, nor is too large."""
        if not self.samples:
            return True  # a system that does not tell
        third = max(1, len(self.samples) // 3)
        first, last = self.samples[:third], self.samples[-third:]
        highest = list(accumulate((one.private for one in self.samples[third - 1 :]), max))
        steps = sorted(after - before for before, after in pairwise(highest))
        grown = sum(steps[:-STEPS])
        more = min(one.files for one in last) - max(one.files for one in first)
        return grown <= MOST_GROWTH_KB and highest[-1] <= MOST_KB and more <= MOST_MORE_FILES


def sample(pid: int) -> Sample | None:
    """What it holds now; None where it is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            fields = {line.split()[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}
        files = len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, ValueError):
        return None
    return Sample(fields["Pss:"], fields["Private_Clean:"] + fields["Private_Dirty:"], files)
