"""One tmux server with one window that runs one program: typed to, read, waited for, ended by pid.

Must not know which program it is.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

from tests.e2e import processes
from tests.e2e.waiting import PATIENCE, TooLongError, until

if TYPE_CHECKING:
    from collections.abc import Callable

_COLUMNS, _ROWS = 150, 50


class Terminal:
    """A program in a terminal of its own; the program is the pane's process itself, no shell between."""

    def __init__(self, folder: str, env: dict[str, str], cwd: str, argv: list[str]) -> None:
        self._env = env
        self._socket = os.path.join(folder, "tmux.sock")
        settings = os.path.join(folder, "tmux.conf")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("set -g remain-on-exit on\nset -g exit-empty off\nset -g status off\nset -s escape-time 0\n")
        size = ["-x", str(_COLUMNS), "-y", str(_ROWS)]
        self._tmux("-f", settings, "new-session", "-d", *size, "-s", "m", "-c", cwd, *argv)
        server, pane = self._tmux("display-message", "-p", "-t", "m", "#{pid} #{pane_pid}").split()
        self.pid = int(pane)
        """The program's pid."""
        self._server = int(server)
        # Everything that the program writes also comes down this pipe: it is what wakes a wait for the screen.
        fifo = os.path.join(folder, f"output.{self.pid}")
        os.mkfifo(fifo)
        self._output = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        self._tmux("pipe-pane", "-t", "m", f"exec cat >'{fifo}'")

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *args], env=self._env, capture_output=True, text=True, timeout=30, check=False
        )
        if done.returncode:
            raise AssertionError(f"tmux {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def screen(self) -> str:
        """The screen as text, a cleared or dead one included."""
        return self._tmux("capture-pane", "-p", "-t", "m").rstrip()

    def until(self, what: str, look: Callable[[str], object], *, patience: float = PATIENCE) -> str:
        """The first screen that `look` likes, looked at whenever the program wrote something (and at times).

        Raises AssertionError at once when the program ends without such a screen.
        """

        def liked() -> str | None:
            ended = processes.look(self.pid) is None
            screen = self.screen()
            if look(screen):
                return screen or " "
            if ended:
                raise AssertionError(f"the program ended before {what} was there:\n{screen}")
            return None

        return until(what, liked, patience=patience, wake=[self._output], instead=self.screen)

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names: Enter, Escape, C-g, Down."""
        self._tmux("send-keys", "-t", "m", *keys)

    def press_until(self, key: str, look: Callable[[str], object]) -> None:
        """Press a key until the screen is liked: on a busy machine a dialog is drawn before it listens."""
        for _ in range(10):
            self.press(key)
            try:
                self.until(f"the effect of {key}", look, patience=3)
            except TooLongError:
                continue
            return
        raise AssertionError(f"{key} has no effect\n{self.screen()}")

    def write(self, text: str) -> None:
        """Type text, and wait until all of it stands on the screen."""
        self._tmux("send-keys", "-t", "m", "-l", text)
        tail = _dense(text)[-30:]
        self.until(f"{text!r} in the input", lambda screen: tail in _dense(screen))

    def type(self, text: str) -> None:
        """Type a line and press Enter once all of it stands on the screen (sooner, the client takes it for a paste)."""
        self.write(text)
        self.press("Enter")

    def close(self) -> None:
        """End the program if it still runs, then its tmux server, both by pid."""
        processes.end(self.pid)
        pipes = processes.children(self._server)
        processes.end(self._server)
        os.close(self._output)  # first: a full pipe that nobody reads would hold its writer
        for pipe in pipes:
            processes.wait_gone(pipe.pid, 5)


def _dense(text: str) -> str:
    return re.sub(r"\s+", "", text)
