"""Prints reports and errors: as text for a person, with colour on a terminal, or as one JSON object.

Owns how things look. Must not decide anything. The text is the same with and without colour; `rich` paints it where
it is installed and the output is a terminal.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, TextIO

from agent_ways.ways.report import FORMAT, Line, Report, Status

if TYPE_CHECKING:
    from agent_ways.base.errors import WaysError

_STYLES = {
    Status.OK: "green",
    Status.DONE: "green",
    Status.WOULD: "cyan",
    Status.NOTE: "yellow",
    Status.SKIPPED: "dim",
    Status.REFUSED: "bold red",
    Status.FAILED: "bold red",
}
_WIDTH = max(len(status.value) for status in Status)


def show(report: Report, *, as_json: bool = False, out: TextIO | None = None) -> int:
    """Print a report; returns its exit code."""
    out = out or sys.stdout
    if as_json:
        out.write(json.dumps(report.to_json()) + "\n")
        return report.exit_code
    if report.all_ok and report.quiet:
        out.write(f"{report.quiet}\n" if report.bare else f"ways {report.verb}: {report.quiet}\n")
        return report.exit_code
    for line in report.lines:
        _print_line(line, out)
    return report.exit_code


def show_error(error: WaysError, *, as_json: bool = False) -> int:
    """Print an error; returns its exit code."""
    if as_json:
        body = {"code": error.code, "message": error.message, "hint": error.hint or None}
        sys.stdout.write(json.dumps({"v": FORMAT, "error": body}) + "\n")
    else:
        sys.stderr.write(f"ways: {error.message}\n" + (f"{error.hint}\n" if error.hint else ""))
    return error.exit_code


def text_of(line: Line) -> str:
    """One finding as text, its repair on a line of its own so that it can be copied."""
    first = f"{line.status.value:<{_WIDTH}}  {line.subject}: {line.text}"
    label = "by" if line.status is Status.WOULD else "what to do"
    return f"{first}\n{'':<{_WIDTH}}  {label}: {line.repair}" if line.repair else first


def _print_line(line: Line, out: TextIO) -> None:
    text = text_of(line)
    if out.isatty():
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            painted = Text(text)
            painted.stylize(_STYLES[line.status], 0, _WIDTH)
            Console(file=out, soft_wrap=True, highlight=False).print(painted)
            return
    out.write(f"{text}\n")
