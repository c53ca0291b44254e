"""A command of the model's that ends when the test says so: it reads a FIFO that the test holds open.

Must not know what the command is part of.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.e2e.waiting import until

if TYPE_CHECKING:
    from tests.e2e.lab import Session


class Gate:
    """`wait_command` runs from the `with` statement's entry, which waits for it, to its end."""

    _made = 0

    def __init__(self, session: Session) -> None:
        Gate._made += 1
        self._path = os.path.join(session.home.root, f"gate-{Gate._made}")
        self._screen = session.terminal.screen
        os.mkfifo(self._path)

    @property
    def wait_command(self) -> str:
        # Not `cat`: 2.1.285 takes that for the reading of a file, reads it itself afterwards, and hangs on a FIFO.
        return f"dd if={self._path} of=/dev/null status=none"

    def __enter__(self) -> None:
        self._fd = until("the command at the gate", self._open, instead=self._screen)

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def _open(self) -> int | None:
        try:
            return os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None  # nobody reads yet
