"""What is measured: one `Row` for each server.

Owns what a row is, and ours; `peers.py` has the others'. A function raises `UnavailableError` where this machine can
not have its row. Must not know how anything is measured.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from build import ROOT
from tests.bench.cache import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.bench.cache import Cache

HERE = os.path.dirname(os.path.abspath(__file__))
ZIPAPP, INSTALLED, FROZEN, PROBE, FLOOR, PYTHON_SDK = "zipapp", "installed", "frozen", "probe", "c", "python-sdk"
TEXT = "the quick brown fox"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One server: how it is started, and the one cheap tool that is called."""

    key: str
    title: str
    command: tuple[str, ...]
    tool: str = "echo"
    arguments: dict[str, Any] = field(default_factory=lambda: {"text": TEXT})
    env: dict[str, str] = field(default_factory=dict)
    calls_only: bool = False
    """Its start and its memory say nothing: it is there for the cost of a call."""
    piped: bool = True
    """Whether it answers every call of a burst."""


@dataclass(frozen=True)
class Machine:
    """What rows are made from: the interpreter that all Python rows share, and where things are kept."""

    python: str
    zipapp: str
    cache: Cache


def zipapp(machine: Machine) -> Row:
    """Our one file, as Claude Code starts it."""
    command = (machine.python, "-I", "-S", machine.zipapp)
    return Row(key=ZIPAPP, title="zipapp", command=command, tool="ways_status", arguments={})


def installed(machine: Machine) -> Row:
    """What `make ways-mcp` and `make install` put on PATH."""
    del machine
    command = os.path.join(ROOT, "bin", "ways-mcp")
    if not os.access(command, os.X_OK):
        raise UnavailableError("bin/ways-mcp is not built (make ways-mcp)")
    return Row(key=INSTALLED, title="installed", command=(command,), tool="ways_status", arguments={})


def frozen(machine: Machine) -> Row:
    """The form that needs no Python, as a release has it."""
    del machine
    folder = frozen_folder()
    if folder is None:
        raise UnavailableError("dist/frozen is not built (make frozen), and AGENT_WAYS_FROZEN names no other")
    return Row(key=FROZEN, title="frozen", command=(str(folder / "ways-mcp"),), tool="ways_status", arguments={})


def frozen_folder() -> Path | None:
    """The frozen folder: the one that AGENT_WAYS_FROZEN names, else the checkout's; None where it is not built."""
    folder = Path(os.environ.get("AGENT_WAYS_FROZEN") or ROOT / "dist" / "frozen")
    return folder if os.access(folder / "ways-mcp", os.X_OK) else None


def probe(machine: Machine) -> Row:
    """Our server with a module that has the same tiny tool as the peers: what a call costs in the server itself."""
    command = (machine.python, "-I", "-S", os.path.join(ROOT, "tests", "support", "probe_server.py"))
    env = {"PROBE_PACKAGE": machine.zipapp}
    return Row(key=PROBE, title="ours+echo", command=command, tool="probe_echo", env=env, calls_only=True)


def floor(machine: Machine) -> Row:
    """A C program that only echoes: the floor of what two pipes cost."""
    return Row(key=FLOOR, title="C floor", command=(machine.cache.program(os.path.join(HERE, "floor.c")),))


OURS: tuple[Callable[[Machine], Row], ...] = (zipapp, installed, frozen, probe, floor)


def available(machine: Machine, others: Sequence[Callable[[Machine], Row]]) -> tuple[list[Row], list[str]]:
    """The rows that can be measured here, ours before the others', and why the rest can not."""
    rows, absent = [], []
    for make in (*OURS, *others):
        try:
            rows.append(make(machine))
        except UnavailableError as error:
            absent.append(f"{make.__name__.replace('_', ' ')}: {error}")
    return rows, absent
