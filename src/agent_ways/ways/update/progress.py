"""Shows how far a download is, to a person who watches.

Owns one line on a terminal; where nobody watches it says nothing. stdout is data, so it is not written to.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable


def meter(out: TextIO | None = None) -> Callable[[int, int], None]:
    """What is told `done` and `whole` bytes after each part; draws at each new percent."""
    stream = sys.stderr if out is None else out
    shown = -1

    def show(done: int, whole: int) -> None:
        nonlocal shown
        percent = done * 100 // max(whole, 1)
        if percent != shown:
            shown = percent
            end = "\n" if done >= whole else ""
            stream.write(f"\rdownloading: {percent:3} % of {whole / 1e6:.1f} MB{end}")
            stream.flush()

    return show if stream.isatty() else lambda _done, _whole: None
