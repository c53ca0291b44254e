"""The figures that the server is held to, and whether they hold.

Owns the list (docs/reference/performance.md says where each comes from) and the judging, as functions of what was
measured. Must not know how it was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.bench.commands import DRAIN, DRAIN_OLD, STATUSLINE
from tests.bench.peers import FASTMCP, TYPESCRIPT_SDK
from tests.bench.pushes import PUSH
from tests.bench.rows import FLOOR, FROZEN, INSTALLED, PROBE, PYTHON_SDK, ZIPAPP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Results = Mapping[str, Mapping[str, float]]

BARE = "bare"
NO_GROWTH = 200
"""KiB over 10,000 calls one by one: under 20 bytes a call, less than the smallest object that Python could leak."""


@dataclass(frozen=True)
class Figure:
    """One figure: its name, how it is had from the results, and its bounds (at most, or where `least`, at least)."""

    name: str
    measured: Callable[[Results], float]
    hold: float
    aim: float
    unit: str = "x"
    least: bool = False
    inverse: bool = False
    """Shown as 1/n: a ratio to something that is slower."""


@dataclass(frozen=True)
class Verdict:
    """A figure with what was measured, or None where this run could not; `holds` and `aims` are then None too."""

    figure: Figure
    measured: float | None

    @property
    def holds(self) -> bool | None:
        """Whether the bound holds."""
        return self._within(self.figure.hold)

    @property
    def aims(self) -> bool | None:
        """Whether the aim is reached."""
        return self._within(self.figure.aim)

    def _within(self, bound: float) -> bool | None:
        if self.measured is None:
            return None
        return self.measured >= bound if self.figure.least else self.measured <= bound


def _ratio(name: str, row: str, other: str, other_name: str = "") -> Callable[[Results], float]:
    return lambda results: results[row][name] / results[other][other_name or name]


def _value(name: str, row: str = ZIPAPP) -> Callable[[Results], float]:
    return lambda results: results[row][name]


FIGURES = (
    Figure("start to initialize-answer, zipapp / bare Python", _ratio("init_ms", ZIPAPP, BARE), 2.6, 1.8),
    Figure("start to initialize-answer, installed / bare Python", _ratio("init_ms", INSTALLED, BARE), 2.6, 1.8),
    Figure(
        "start to initialize-answer, zipapp / Python SDK",
        _ratio("init_ms", ZIPAPP, PYTHON_SDK),
        1 / 30,
        1 / 50,
        inverse=True,
    ),
    Figure(
        "start to initialize-answer, installed / Python SDK",
        _ratio("init_ms", INSTALLED, PYTHON_SDK),
        1 / 30,
        1 / 50,
        inverse=True,
    ),
    Figure(
        "start to initialize-answer, zipapp / FastMCP",
        _ratio("init_ms", ZIPAPP, FASTMCP),
        1 / 40,
        1 / 66,
        inverse=True,
    ),
    Figure(
        "start to initialize-answer, zipapp / TypeScript SDK",
        _ratio("init_ms", ZIPAPP, TYPESCRIPT_SDK),
        1 / 10,
        1 / 17,
        inverse=True,
    ),
    Figure("start to initialize-answer, frozen / zipapp", _ratio("init_ms", FROZEN, ZIPAPP), 1.4, 1.2),
    Figure("PSS per copy at 20 copies, zipapp", _value("pss20_mb"), 8, 5, "MB"),
    Figure("PSS per copy at 20 copies, installed", _value("pss20_mb", INSTALLED), 8, 5, "MB"),
    Figure("PSS per copy at 20 copies, frozen", _value("pss20_mb", FROZEN), 8, 5, "MB"),
    Figure("attend inbox --drain, nothing new / bare Python", _ratio("run_ms", DRAIN, BARE, "init_ms"), 2.6, 2),
    Figure("the same, with a long history / with none", _ratio("run_least_ms", DRAIN_OLD, DRAIN), 1.1, 1.05),
    Figure("ways statusline, installed / bare Python", _ratio("run_ms", STATUSLINE, BARE, "init_ms"), 3, 2.5),
    Figure("message sent to event pushed, median", _value("push_ms", PUSH), 20, 3, "ms"),
    Figure("processes at rest", _value("processes"), 1, 1, ""),
    Figure("threads at rest", _value("threads"), 1, 1, ""),
    Figure("wake-ups per second at rest, nothing outstanding", _value("wakeups"), 0, 0, "/s"),
    Figure("files left behind", _value("left_behind", BARE), 0, 0, ""),
    Figure("tool call p50, ours+echo / C floor", _ratio("p50_least_us", PROBE, FLOOR), 2.5, 1.5),
    Figure(
        "processor time per call, ours+echo / Python SDK",
        _ratio("cpu_us", PROBE, PYTHON_SDK),
        1 / 20,
        1 / 28,
        inverse=True,
    ),
    Figure("pipelined calls per second, ours+echo", _value("piped", PROBE), 50_000, 50_000, "/s", least=True),
    Figure("resident growth over the calls, zipapp", _value("grown_kb"), NO_GROWTH, NO_GROWTH, "KiB"),
    Figure("growth of open files over the calls, zipapp", _value("grown_files"), 0, 0, ""),
    Figure("exit after end of input, zipapp", _value("exit_ms"), 100, 100, "ms"),
)


def verdicts(results: Results) -> list[Verdict]:
    """Each figure, judged as far as this run measured it."""
    return [Verdict(figure, _measured(figure, results)) for figure in FIGURES]


def _measured(figure: Figure, results: Results) -> float | None:
    try:
        return figure.measured(results)
    except KeyError:
        return None
