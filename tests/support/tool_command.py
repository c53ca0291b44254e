"""A command of the model's Bash tool, or of a hook: below a shell below the client, with its output caught.

Owns `ToolCommand`. Must not know why it runs.
"""

from __future__ import annotations

import functools
import os
import subprocess
from typing import TYPE_CHECKING, Any

from tests.support.processes import ProcessHandle

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.loop import Loop


class ToolCommand:
    """Runs at once; `done` gets `code`, `stdout` and `stderr` when the shell has ended."""

    def __init__(
        self,
        loop: Loop,
        argv: list[str],
        *,
        env: dict[str, str],
        cwd: str,
        done: Callable[[Any], None],
        stdin: str = "",
    ) -> None:
        """`stdin` must fit into a pipe: a hook's is a few hundred bytes."""
        self._loop = loop
        self._done = done
        self._outputs: dict[str, tuple[int, bytearray]] = {}
        writers: dict[str, int] = {}
        for name in ("stdout", "stderr"):
            reader, writers[name] = os.pipe()
            os.set_blocking(reader, False)
            self._outputs[name] = (reader, bytearray())
            loop.reader(reader, functools.partial(self._read, reader, self._outputs[name][1]))
        given, giver = os.pipe()
        os.write(giver, stdin.encode())
        os.close(giver)
        self._child = subprocess.Popen(
            ["sh", "-c", '"$@"; exit $?', "sh", *argv],
            stdin=given,
            stdout=writers["stdout"],
            stderr=writers["stderr"],
            env=env,
            cwd=cwd,
        )
        for fd in (given, *writers.values()):
            os.close(fd)
        loop.when_gone(ProcessHandle(self._child.pid), self._gone)

    def _read(self, fd: int, into: bytearray) -> None:
        try:
            while data := os.read(fd, 65536):
                into.extend(data)
        except BlockingIOError:
            return
        self._loop.reader(fd, None)

    def _gone(self) -> None:
        texts = {}
        for name, (fd, data) in self._outputs.items():
            self._read(fd, data)
            self._loop.forget(fd)
            os.close(fd)
            texts[name] = data.decode("utf-8", "replace")
        self._done({"code": self._child.wait(), **texts})
