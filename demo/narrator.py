"""How the demo speaks: steps, lines on the wire, and what is checked as it goes.

Owns `Narrator`. Must not know the story. Colour only on a terminal, and not where NO_COLOR says no.
"""

from __future__ import annotations

import os
import shutil
import textwrap
import time
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BOLD, DIM, RED, GREEN, CYAN = "1", "2", "31", "32", "36"


class NotSoError(Exception):
    """Something that the demo says is not so."""


class Narrator:
    """Writes to `out`, wrapped to the terminal's width where it is one, to 80 characters elsewhere."""

    def __init__(self, out: IO[str], env: Mapping[str, str]) -> None:
        self._out = out
        self._terminal = out.isatty()
        self._colour = self._terminal and not env.get("NO_COLOR") and env.get("TERM") != "dumb"
        self._width = min(shutil.get_terminal_size().columns, 100) if self._terminal else 80
        self._began = time.monotonic()
        self._steps = 0

    def step(self, title: str) -> None:
        """The next part of the story."""
        self._steps += 1
        self._write(f"\n{self._paint(BOLD, f'{self._steps}. {title}')}")

    def say(self, text: str) -> None:
        """A sentence or two."""
        self._write(textwrap.fill(" ".join(text.split()), self._width, initial_indent="   ", subsequent_indent="   "))

    def sent(self, text: str) -> None:
        """A line from the client to the server."""
        self._line("-->", text)

    def received(self, text: str) -> None:
        """A line from the server to the client."""
        self._line("<--", text)

    def quote(self, text: str) -> None:
        """Words as they stand somewhere, in full."""
        for line in text.splitlines():
            for part in textwrap.wrap(line, self._width - 7, subsequent_indent="  ") or [""]:
                self._write(f"     {self._paint(DIM, '|')} {part}")

    def check(self, what: str, so: bool, instead: object = "") -> None:
        """Say that something is so; raises `NotSoError`, which ends the demo, where it is not."""
        if not so:
            raise NotSoError(f"{what}: not so" + (f" ({instead})" if instead != "" else ""))
        self._write(f"   {self._paint(GREEN, 'ok')} {what}")

    def fail(self, problem: str) -> None:
        """The last word of a demo that went wrong."""
        self._write(f"\n{self._paint(RED, 'NOT SO')} {problem}")

    def end(self, text: str) -> None:
        """The last word of one that went well."""
        took = time.monotonic() - self._began
        self._write(f"\n{self._paint(BOLD, f'Done in {took:.1f} s.')} {text}")

    def _line(self, arrow: str, text: str) -> None:
        room = self._width - 10
        shown = text if len(text) <= room else f"{text[: room - 4]} ..."
        self._write(f"     {self._paint(CYAN, arrow)} {self._paint(DIM, shown)}")

    def _paint(self, colour: str, text: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colour else text

    def _write(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


def plain_environment() -> dict[str, str]:
    """The environment that the story's actors get: nothing of the person's own session."""
    return {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
