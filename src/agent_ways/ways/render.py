"""Prints reports and errors: as text for a person, with colour on a terminal, or as one JSON object.

Owns how things look. Must not decide anything. In a pipe each finding is one line with full paths, for scripts; on a
terminal it is wrapped, and painted where `rich` is installed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from dataclasses import replace
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
    """One finding as text, its repair on a line of its own so that it can be copied; what is planned, in full."""
    return "\n".join(_lines_of(line))


def _lines_of(line: Line) -> list[str]:
    said = [f"{line.status.value:<{_WIDTH}}  {line.subject}: {line.text}"]
    if line.status is Status.WOULD:
        said += [f"{'':<{_WIDTH}}    {detail}" for detail in line.details]
    if line.repair:
        label = "by" if line.status is Status.WOULD else "what to do"
        said.append(f"{'':<{_WIDTH}}  {label}: {line.repair}")
    return said


def for_terminal(line: Line, width: int, home: str) -> str:
    """The same for a terminal of that width: wrapped between words with a hanging indent, the home as `~`.

    A repair is a command that is copied: it is neither wrapped nor shortened.
    """
    said = []
    for text in _lines_of(replace(line, repair="")):
        hanging = max(_WIDTH + 4, len(text) - len(text.lstrip()) + 2)
        wrapped = textwrap.TextWrapper(
            max(width, 40), subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False
        )
        said.append(wrapped.fill(shorten_home(text, home)))
    if line.repair:
        said.append(_lines_of(line)[-1])
    return "\n".join(said)


def shorten_home(text: str, home: str) -> str:
    """`text` with `~` in the place of the home, where that is a whole part of a path."""
    if home.rstrip("/") == "":
        return text
    return re.sub(rf"(?<![\w/.~-]){re.escape(home.rstrip('/'))}(?=[/\s,;:)]|$)", "~", text)


def _print_line(line: Line, out: TextIO) -> None:
    if out.isatty():
        text = for_terminal(line, shutil.get_terminal_size().columns, os.environ.get("HOME", ""))
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
        return
    out.write(f"{text_of(line)}\n")
