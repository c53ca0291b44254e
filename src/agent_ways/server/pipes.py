"""The process's own input and output, taken for the protocol alone (SRV-1).

Owns descriptors 0, 1 and 2 from `claim` on. A stray print, a warning or a child's output can not reach the real
stdout, a child can not read our stdin, and nobody waits for an unread stderr. No write ever blocks: what the
client does not take waits in `Writer`. Must not know what the bytes mean.
"""

from __future__ import annotations

import os
import select
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from agent_ways.server.messages import Id

CHUNK = 4096
"""Bytes that a pipe or socket which polls writable takes without blocking (PIPE_BUF on Linux)."""


class ClosedError(Exception):
    """The client has closed our stdout."""


def claim() -> tuple[int, int]:
    """Private descriptors for stdin and stdout; 0, 1 and 2 become harmless. Raises OSError where either is closed.

    Diagnostics go to stderr where a person or a file reads it; where a client holds the other end of a pipe, they
    go there only as far as they fit.
    """
    for fd in (0, 1):
        os.fstat(fd)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)  # becomes 2 where that is closed
    stdin, stdout = os.dup(0), os.dup(1)
    os.dup2(null, 0)
    errors = os.fstat(2).st_mode
    if not stat.S_ISREG(errors):
        sys.stderr = _Overflowing(_unblocking(2))
        os.dup2(null, 2)
    os.dup2(2, 1)
    if null > 2:
        os.close(null)
    return stdin, stdout


def _unblocking(fd: int) -> int:
    """A private descriptor of what `fd` writes to, where that is a terminal one that never waits for it.

    A terminal polls writable with room for a byte and then holds who writes more. It is opened anew, since whoever
    shares ours must not find it changed.
    """
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return os.dup(fd)


class _Overflowing:
    """A stderr that drops what does not fit, where an unread one would block us."""

    encoding = "utf-8"

    def __init__(self, fd: int) -> None:
        self._fd: Final = fd
        self._poll: Final = select.poll()
        self._poll.register(fd, select.POLLOUT)

    def write(self, text: str) -> int:
        data = text.encode("utf-8", "backslashreplace")
        for start in range(0, len(data), CHUNK):
            try:
                if self._poll.poll(0) != [(self._fd, select.POLLOUT)]:
                    break
                os.write(self._fd, data[start : start + CHUNK])
            except OSError:
                break
        return len(text)

    def flush(self) -> None:
        """Nothing is ever kept back."""

    def isatty(self) -> bool:
        return False


def say(what: str) -> None:
    """A line for whoever reads our stderr; that it can not be written is nobody's trouble."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"ways-mcp: {what}\n")
    except (OSError, ValueError):
        pass


class Writer:
    """The one writer of the real stdout: whole lines, in order, without ever blocking."""

    __slots__ = ("_begun", "_by_id", "_lines", "_next", "_poll", "fd", "pending")

    def __init__(self, fd: int) -> None:
        self.fd: Final = fd
        self._poll: Final = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._lines: list[_Line] = []
        self._by_id: dict[Id | None, list[_Line]] | None = None
        self._next = 0
        self._begun: bytes | memoryview = b""
        self.pending = 0
        """Bytes that the client has not taken yet."""

    def put(self, id_: Id | None, line: bytes) -> None:
        """Queue one line; `id_` is the request that it answers."""
        queued = _Line(id_, line)
        self._lines.append(queued)
        self.pending += len(line)
        if self._by_id is not None:
            self._by_id.setdefault(id_, []).append(queued)

    def cancel(self, id_: Id) -> None:
        """Drop the answer to `id_` if no byte of it has left (SRV-7).

        The first cancel of a backlog looks through it once for all that follow: a client may send many.
        """
        if self._by_id is None:
            self._by_id = {}
            for line in self._lines[self._next :]:
                self._by_id.setdefault(line.id, []).append(line)
        for line in self._by_id.pop(id_, ()):
            self.pending -= len(line.data)
            line.data = b""
        if not self.pending:
            self._forget()

    def flush(self) -> bool:
        """Write what the client takes now; True when nothing is left. Raises `ClosedError`."""
        while self.pending:
            state = self._poll.poll(0)
            if not state:
                return False
            if not self._begun:
                self._begin()
            try:
                written = os.write(self.fd, self._begun[:CHUNK])
            except OSError:
                raise ClosedError from None
            self._begun = self._begun[written:]
            self.pending -= written
        return True

    def _begin(self) -> None:
        """Join the next lines to about one chunk: a line that has begun can no longer be dropped."""
        if len(self._lines) == 1:
            data = self._lines[0].data
            self._begun = data if len(data) <= CHUNK else memoryview(data)
            self._forget()
            return
        begun, size = [], 0
        while size < CHUNK and self._next < len(self._lines):
            line = self._lines[self._next]
            size += len(line.data)
            begun.append(line.data)
            line.data = b""  # what has begun is no longer there to be dropped
            self._next += 1
        self._begun = memoryview(b"".join(begun))
        if self._next == len(self._lines):
            self._forget()
        elif self._next > 1000:
            del self._lines[: self._next]
            self._next = 0

    def _forget(self) -> None:
        """Nothing is queued any more."""
        self._lines.clear()
        self._by_id = None
        self._next = 0


class _Line:
    """A line in the queue; empty once it has begun or was dropped."""

    __slots__ = ("data", "id")

    def __init__(self, id_: Id | None, data: bytes) -> None:
        self.id: Final = id_
        self.data = data
