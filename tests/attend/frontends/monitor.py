"""A command that runs on below a fake client, as the Monitor tool hosts one.

Owns `Monitor`: starting it below the client's shell, its lines as they come, its end. Must not know what runs.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from tests.support.processes import ProcessHandle
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.fake_client import FakeClient


class Monitor:
    """Runs `argv` below the client, its output in files of `folder`; started once its first words are on stderr."""

    def __init__(self, client: FakeClient, argv: Sequence[str], folder: Path) -> None:
        folder.mkdir()
        self.folder = str(folder)
        words = " ".join(shlex.quote(word) for word in argv)
        script = f"echo $$ > {folder}/pid; exec {words} > {folder}/out 2> {folder}/err"
        client._number += 1
        order = {"n": client._number, "do": "spawn", "argv": ["sh", "-c", script], "env": {}}
        client._control.sendall(json.dumps(order).encode() + b"\n")
        until(self.folder, lambda: self._read("err") or self._read("out"))
        self.process = ProcessHandle(int(self._read("pid")))

    def lines(self, count: int = 0) -> list[str]:
        """What it printed; waits until there are `count` lines."""
        until(self.folder, lambda: self._read("out").count("\n") >= count)
        return self._read("out").splitlines()

    @property
    def said(self) -> str:
        """What it said on stderr."""
        return self._read("err")

    def _read(self, name: str) -> str:
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                return file.read()
        except OSError:
            return ""
