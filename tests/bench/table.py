"""A run as text: what was measured for each server, and which figures hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.figures import BARE, verdicts
from tests.bench.pushes import PUSH
from tests.bench.rows import ZIPAPP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.commands import Command
    from tests.bench.figures import Figure, Results
    from tests.bench.rows import Row

LINES = (
    ("init_ms", "start to initialize-answer, ms", "{:.1f}"),
    ("init_least_ms", "the same, least of all rounds", "{:.1f}"),
    ("tool_ms", "start to first tool answer, ms", "{:.1f}"),
    ("exit_ms", "end of input to exit, ms", "{:.1f}"),
    ("pss_mb", "PSS, one copy, MB", "{:.1f}"),
    ("rss_mb", "RSS, one copy, MB", "{:.1f}"),
    ("private_mb", "of it private and written, MB", "{:.1f}"),
    ("pss20_mb", "PSS per copy at 20 copies, MB", "{:.1f}"),
    ("processes", "processes", "{:.0f}"),
    ("threads", "threads", "{:.0f}"),
    ("wakeups", "wake-ups per second at rest", "{:.2f}"),
    ("idle_cpu_ms", "processor ms per second at rest", "{:.3f}"),
    ("p50_us", "tool call p50, us", "{:.0f}"),
    ("p50_least_us", "the same, least of all blocks", "{:.0f}"),
    ("p99_us", "tool call p99, us", "{:.0f}"),
    ("cpu_us", "processor time per call, us", "{:.0f}"),
    ("grown_kb", "RSS growth over the calls, KiB", "{:.0f}"),
    ("grown_files", "open files more after the calls", "{:.0f}"),
    ("piped", "pipelined calls per second", "{:,.0f}"),
)
"""Key, words and form of each line."""

COUNTED = frozenset({"processes", "threads", "wakeups", "idle_cpu_ms", "grown_kb", "grown_files"})
"""Shown without a ratio: they are counts, or zero."""


def measured(rows: Sequence[Row], results: Results) -> str:
    """A line for each figure, a column for each server; in parentheses the ratio to the zipapp."""
    columns = [(BARE, "bare Python"), *((row.key, row.title) for row in rows)]
    base = results.get(ZIPAPP, {})
    body = [["", *(title for _, title in columns)]]
    for name, words, form in LINES:
        cells = []
        for key, _ in columns:
            value = results[key].get(name)
            if value is None:
                cells.append("-")
            elif name in COUNTED or not base.get(name):
                cells.append(form.format(value))
            else:
                cells.append(f"{form.format(value)} ({value / base[name]:.2f})")
        body.append([words, *cells])
    return _aligned(body)


def run(commands: Sequence[Command], results: Results) -> str:
    """A line for each command: from start to end, and its ratio to bare Python."""
    body = [["", "start to end, ms", "least, ms", "/ bare Python", "least / least"]]
    bare = results[BARE]
    for command in commands:
        found = results[command.key]
        ratio, least = found["run_ms"] / bare["init_ms"], found["run_least_ms"] / bare["init_least_ms"]
        times = [f"{found['run_ms']:.1f}", f"{found['run_least_ms']:.1f}"]
        body.append([command.title, *times, f"{ratio:.2f}", f"{least:.2f}"])
    return _aligned(body)


def pushed(results: Results) -> str:
    """A line of how long a message takes, and an empty one, where that was measured."""
    found = results.get(PUSH)
    if found is None:
        return ""
    return (
        f"a message to an idle session: sent in {found['send_ms']:.1f} ms, "
        f"its event pushed {found['push_ms']:.1f} ms later (95th percentile {found['push_p95_ms']:.1f} ms)\n\n"
    )


def judged(results: Results) -> str:
    """A line for each figure that the server is held to."""
    words = {True: "yes", False: "NO", None: "not measured"}
    body = [["figure", "hold", "aim", "measured", "holds", "aim reached"]]
    for verdict in verdicts(results):
        figure = verdict.figure
        shown = "-" if verdict.measured is None else _shown(figure, verdict.measured)
        sign = ">= " if figure.least else "<= "
        bounds = [sign + _shown(figure, figure.hold), sign + _shown(figure, figure.aim)]
        body.append([figure.name, *bounds, shown, words[verdict.holds], words[verdict.aims]])
    return _aligned(body)


def _shown(figure: Figure, value: float) -> str:
    if figure.inverse:
        return f"1/{1 / value:.0f}"
    number = f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.2f}"
    return f"{number} {figure.unit}".strip()


def _aligned(body: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*body, strict=True)]
    lines = []
    for line in body:
        first, *rest = (
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)
