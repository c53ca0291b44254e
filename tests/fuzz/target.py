"""What a fuzz target is: a parser's name, what must hold for any bytes, and what its input is made of.

Owns `Target`, `holds` (a check with its faults as values) and the folder of seeds. Must not know any parser, nor how
inputs are found: `targets/` has the one, `mutation.py`, `shapes.py` and `engines.py` the other.

A check raises for a fault: an `AssertionError` for an invariant that does not hold, whatever else the parser lets out
for an error that is not of our tree. What a parser may raise, its check catches.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = os.path.join(HERE, "seeds")
SOURCE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "src", "agent_ways")


@dataclass(frozen=True)
class Pump:
    """An input that grows: `head`, then `unit` over and over, then `tail`. Reading it takes time linear in its size."""

    unit: bytes
    head: bytes = b""
    tail: bytes = b""

    def of(self, size: int) -> bytes:
        """The input with about `size` bytes of units."""
        return self.head + self.unit * max(1, size // len(self.unit)) + self.tail


@dataclass(frozen=True)
class Target:
    """One parser under fuzz. `words` are what its format is made of, for mutation to put in."""

    name: str
    check: Callable[[bytes], None]
    shape: SearchStrategy[bytes]
    words: tuple[bytes, ...]
    pumps: tuple[Pump, ...]
    longest: int = 1 << 16


@dataclass(frozen=True)
class Fault:
    """One check that did not hold. `place` tells faults of one kind from others: the error and the line it came from."""

    target: str
    data: bytes
    place: str
    trace: str

    @property
    def file(self) -> str:
        """The name that its input has among the seeds."""
        return f"found-{hashlib.sha256(self.data).hexdigest()[:12]}"


def names() -> tuple[str, ...]:
    """Every target's name."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules([os.path.join(HERE, "targets")])))


def load(name: str) -> Target:
    """The target of that name; importing it imports its parser."""
    module: Any = importlib.import_module(f"tests.fuzz.targets.{name}")
    target: Target = module.TARGET
    assert target.name == name
    return target


def holds(target: Target, data: bytes) -> Fault | None:
    """Whether the target's invariants hold for `data`: None, or the fault."""
    try:
        target.check(data)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what we look for
        return Fault(target.name, data, _place(error), traceback.format_exc())
    return None


def seeds(name: str, folder: str = SEEDS) -> dict[str, bytes]:
    """The committed inputs of a target by file name: real-looking ones, and those that once were a fault."""
    found = {}
    try:
        listed = sorted(os.listdir(os.path.join(folder, name)))
    except FileNotFoundError:
        return {}
    for file in listed:
        with open(os.path.join(folder, name, file), "rb") as opened:
            found[file] = opened.read()
    return found


def keep(fault: Fault, folder: str = SEEDS) -> str:
    """Write a fault's input among the seeds, where every run of the tests meets it again; answers the path."""
    path = os.path.join(folder, fault.target, fault.file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as opened:
        opened.write(fault.data)
    return path


def _place(error: Exception) -> str:
    """The error's class and the innermost line of the product, else of the target, that it passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(SOURCE)] or [
        frame for frame in frames if os.path.basename(os.path.dirname(frame.filename)) == "targets"
    ]
    last = (ours or list(frames))[-1]
    return f"{type(error).__name__} at {os.path.basename(last.filename)}:{last.lineno}"
