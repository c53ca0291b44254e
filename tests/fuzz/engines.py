"""How inputs are found: structured examples by hypothesis, and bytes that are led by the way that they take.

Owns the two engines for bytes, `atheris` where it is installed and a small one of our own by `sys.settrace`, and the
hunt that runs hypothesis first. Must not know any parser. What fails is made smaller, kept once per kind, and told.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from tests.fuzz import growth
from tests.fuzz.mutation import mutate, smaller
from tests.fuzz.target import SEEDS, SOURCE, Fault, Target, holds, keep, load, seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    Trace = Callable[[FrameType, str, Any], Any]

SHARE = 0.3
"""The part of a hunt's time that structured examples get; pumps get a tenth, bytes the rest."""
BATCH = 200
MOST_KINDS = 10
"""Kinds of faults of one target that are kept; then it is time to mend some."""


@dataclass
class Hunt:
    """One target being hunted: what was run, what was reached, the kinds of faults found and where their inputs are."""

    target: Target
    folder: str = SEEDS
    runs: int = 0
    steps: int = 0
    corpus: int = 0
    engine: str = ""
    found: dict[str, str] = field(default_factory=dict)

    def run(self, data: bytes) -> bool:
        """Run one input; True where it is fine. A fault of a new kind is made smaller and kept."""
        self.runs += 1
        fault = holds(self.target, data)
        if fault is None:
            return True
        self.fault(fault)
        return False

    def fault(self, fault: Fault) -> None:
        """Keep a fault, where it is of a new kind."""
        if fault.place in self.found or len(self.found) >= MOST_KINDS:
            return
        self.found[fault.place] = ""

        def same(data: bytes) -> bool:
            again = holds(self.target, data)
            return again is not None and again.place == fault.place

        small = smaller(fault.data, same) if same(fault.data) else fault.data
        least = Fault(fault.target, small, fault.place, fault.trace)
        self.found[fault.place] = keep(least, self.folder)
        print(f"FAULT {fault.target}: {fault.place}\n  input: {self.found[fault.place]}\n{fault.trace}", flush=True)


def structured(hunt: Hunt, seed: int, seconds: float, most: int = BATCH) -> None:
    """Examples of the target's shape, batch after batch, until the time is over; always one batch of `most`."""
    end = time.monotonic() + seconds

    def one(data: bytes) -> None:
        hunt.run(data)  # what it finds is kept there; hypothesis goes on

    while True:
        quiet = settings(
            max_examples=most, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
        )  # fmt: skip
        seeded(seed)(quiet(given(hunt.target.shape)(one)))()
        seed += 1
        if time.monotonic() >= end:
            return


def mutated(hunt: Hunt, seed: int, count: int) -> None:
    """`count` changed seeds, led by nothing: the same ones for the same `seed`."""
    chance = random.Random(seed)
    known = list(seeds(hunt.target.name).values()) or [b""]
    for _ in range(count):
        hunt.run(mutate(chance, chance.choice(known), known, hunt.target.words, hunt.target.longest))


def guided(hunt: Hunt, seed: int, seconds: float, most: int | None = None) -> None:
    """Changed seeds; one that goes from a line of the product to another for the first time is changed further."""
    hunt.engine = "settrace"
    chance = random.Random(seed)
    known = [*seeds(hunt.target.name).values(), b""]
    reached: set[tuple[str, int, int]] = set()
    for data in known:
        reached |= _reached(hunt, data)
    end = time.monotonic() + seconds
    fresh = list(known)
    while time.monotonic() < end and (most is None or hunt.runs < most):
        start = chance.choice(fresh if chance.random() < 0.5 else known)  # new ways first
        data = mutate(chance, start, known, hunt.target.words, hunt.target.longest)
        new = _reached(hunt, data) - reached
        if new:
            reached |= new
            known.append(data)
            fresh = known[-20:]
    hunt.steps, hunt.corpus = len(reached), len(known)


def _reached(hunt: Hunt, data: bytes) -> set[tuple[str, int, int]]:
    """Run one input; the steps from line to line of the product that it took."""
    found: set[tuple[str, int, int]] = set()
    last = 0

    def local(frame: FrameType, event: str, _arg: Any) -> Trace:
        nonlocal last
        if event == "line":
            found.add((frame.f_code.co_filename, last, frame.f_lineno))
            last = frame.f_lineno
        return local

    def trace(frame: FrameType, _event: str, _arg: Any) -> Trace | None:
        return local if frame.f_code.co_filename.startswith(SOURCE) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        hunt.run(data)
    finally:
        sys.settrace(before)
    return found


def pumped(hunt: Hunt, seed: int, seconds: float) -> None:
    """Pieces of seeds over and over: is the time that they take still linear?"""
    chance = random.Random(seed)
    end = time.monotonic() + seconds
    known = [data for data in seeds(hunt.target.name).values() if data]
    while known and time.monotonic() < end:
        pump = growth.pump_of(chance, chance.choice(known), hunt.target.words)
        hunt.runs += 1
        told = growth.grows(hunt.target, pump, longest=min(hunt.target.longest, 1 << 15))
        if told:
            data = pump.of(2_000)
            hunt.fault(Fault(hunt.target.name, data, f"growth: {told.split(':')[0]} {pump.unit[:20]!r}", told))


def with_atheris(name: str, seed: int, seconds: float, report: str) -> None:
    """The rest of this process's life with libFuzzer, which ends it; what was found is told in the file `report`."""
    atheris: Any = __import__("atheris")
    with atheris.instrument_imports(include=["agent_ways"]):
        target = load(name)
    hunt = Hunt(target, engine="atheris")

    def one(data: bytes) -> None:
        hunt.run(data)
        if hunt.runs % 64 == 0:
            _tell(report, hunt)

    folder = tempfile.mkdtemp(prefix="fuzz-corpus-")
    for file, data in seeds(name).items():
        with open(os.path.join(folder, file), "wb") as opened:
            opened.write(data)
    words = os.path.join(folder, "..", os.path.basename(folder) + ".dict")
    with open(words, "w", encoding="ascii") as listed:
        listed.writelines(f'"{_escaped(word)}"\n' for word in target.words if 0 < len(word) < 60)
    options = (
        f"-max_total_time={max(1, int(seconds))}",
        f"-seed={seed}",
        f"-max_len={target.longest}",
        f"-dict={words}",
    )
    atheris.Setup([name, *options, "-verbosity=0", "-print_final_stats=0", "-rss_limit_mb=2048", folder], one)
    atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def _tell(report: str, hunt: Hunt) -> None:
    with open(report, "w", encoding="utf-8") as file:
        file.write(f"{hunt.runs}\n" + "".join(f"{place}\t{path}\n" for place, path in hunt.found.items()))


def told(report: str) -> Iterator[tuple[str, str]]:
    """What `with_atheris` told: first its runs, then the faults with their files."""
    try:
        with open(report, encoding="utf-8") as file:
            runs, *faults = file.read().splitlines() or ["0"]
    except FileNotFoundError:
        runs, faults = "0", []
    yield "runs", runs
    for fault in faults:
        place, _, path = fault.partition("\t")
        yield place, path
