"""One running server, as the bench's client sees it.

Owns `Server`: started by posix_spawn with socket pairs for its streams, as Claude Code does it, and watched by
poll. Must not know what is measured. The client's own cost, some tenths of a millisecond for a start, is in
every row alike.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from typing import TYPE_CHECKING, Any, Self

from tests.support import wire
from tests.support.processes import ProcessHandle

if TYPE_CHECKING:
    from types import TracebackType

    from tests.bench.rows import Row

PATIENCE = 60_000
"""Milliseconds that one answer may take: the first start of a large peer reads it from disk."""


class BrokenServerError(Exception):
    """A server ended, or said what it should not have: its row can not be measured."""


class Server:
    """A context manager. `started_ns` is the clock just before the process was made."""

    def __init__(self, row: Row, env: dict[str, str]) -> None:
        self.row = row
        ours, theirs = socket.socketpair()
        back, out = socket.socketpair()
        self.to_server, self.from_server = ours, back
        null = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0), (os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
        actions.append((os.POSIX_SPAWN_DUP2, null, 2))
        self.started_ns = time.perf_counter_ns()
        self.pid = os.posix_spawn(row.command[0], row.command, {**env, **row.env}, file_actions=actions)
        os.close(null)
        theirs.close()
        out.close()
        self._handle = ProcessHandle(self.pid)
        self._poll = select.poll()
        self._poll.register(back, select.POLLIN)
        self._rest = b""
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def ask(self, message: wire.JSON) -> Any:
        """Send a request and give its result."""
        self.tell(message)
        line = self._line()
        try:
            answer = json.loads(line)
            return check(answer, message["id"])
        except (ValueError, LookupError, TypeError):
            raise BrokenServerError(f"{self.row.title} answered {line[:200]!r}") from None

    def tell(self, message: wire.JSON) -> None:
        """Send a message."""
        try:
            self.to_server.sendall(encoded(message))
        except OSError:
            raise BrokenServerError(f"{self.row.title} ended") from None

    def initialize(self) -> None:
        """The first half of the handshake."""
        self.ask(wire.initialize())

    def list_tools(self) -> None:
        """The second half; the tool that is to be called must be there."""
        self.tell(wire.initialized())
        names = [tool["name"] for tool in self.ask(wire.tools_list())["tools"]]
        if self.row.tool not in names:
            raise BrokenServerError(f"{self.row.title} has no tool {self.row.tool}")

    def call(self, request_id: int = 2) -> None:
        """One call of the row's tool."""
        self.ask(wire.tools_call(request_id, self.row.tool, self.row.arguments))

    def leave(self) -> float:
        """End its input and wait for its end. Returns the milliseconds that took, NaN where it had to be killed."""
        if self._ended:
            return float("nan")
        self._ended = True
        began = time.perf_counter_ns()
        self.to_server.close()
        went = self._handle.wait(10)
        took = (time.perf_counter_ns() - began) / 1e6
        if not went:
            self._handle.kill()
        os.waitpid(self.pid, 0)
        self._handle.close()
        self.from_server.close()
        return took if went else float("nan")

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            if not self._poll.poll(PATIENCE):
                raise BrokenServerError(f"{self.row.title} did not answer within {PATIENCE // 1000} s")
            got = self.from_server.recv(1 << 20)
            if not got:
                raise BrokenServerError(f"{self.row.title} ended")
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def encoded(message: wire.JSON) -> bytes:
    """One line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def check(answer: wire.JSON, request_id: int) -> Any:
    """The result in an answer; raises ValueError where it is another's or says that the call failed."""
    if answer["id"] != request_id or answer["result"].get("isError"):
        raise ValueError(answer)
    return answer["result"]
