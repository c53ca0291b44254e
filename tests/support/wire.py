"""A stdio server under test: run any command, exchange lines with it, see how it ends.

Owns `Wire`. Must not know our server: any command that speaks
newline-delimited JSON-RPC will do. Every wait is bounded and driven by the pipes; nothing sleeps. A failure
says what went over the wire and what stood on stderr.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from tests.support.messages import (
    CHANNEL,
    JSON,
    WAIT,
    client_info,
    discover,
    initialize,
    initialized,
    notification,
    request,
    tools_call,
    tools_list,
)
from tests.support.processes import ProcessHandle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "CHANNEL",
    "JSON",
    "WAIT",
    "Line",
    "Wire",
    "WireError",
    "client_info",
    "discover",
    "initialize",
    "initialized",
    "notification",
    "request",
    "tools_call",
    "tools_list",
]


class WireError(AssertionError):
    """The server did not do what the test waited for; carries the exchange so far."""


@dataclass(frozen=True)
class Line:
    """One line on the wire without its newline; `at` is `time.monotonic()` seconds, equal in all processes."""

    at: float
    direction: Literal["sent", "received"]
    data: bytes

    def json(self) -> JSON:
        """The message; raises `WireError` where the line is no JSON object (a stray print, say)."""
        try:
            message = json.loads(self.data)
        except ValueError:
            raise WireError(f"not JSON on stdout: {self.data[:300]!r}") from None
        if not isinstance(message, dict):
            raise WireError(f"no JSON object on stdout: {self.data[:300]!r}")
        return message


class Wire:
    """A running server and both ends of its pipes.

    `streams` chooses what the server's three streams are: `socketpair` as the client has it, or `pipe`. `stderr`
    is `read` (kept, see `stderr_text`), `unread` (left in its buffer until that is full) or `closed`.

    A context manager: on leaving, stdin is closed, and a server that has not gone two seconds later is killed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        streams: Literal["socketpair", "pipe"] = "pipe",
        stderr: Literal["read", "unread", "closed"] = "read",
    ) -> None:
        self.lines: list[Line] = []
        """Every whole line that went over the wire, in order; sent bytes that were not sent by `send` are not in it."""
        self._inbox: deque[Line] = deque()
        self._partial = bytearray()
        self._stderr = bytearray()
        self._next_id = 2
        self._open = {"stdin", "stdout", "stderr"}
        ours, theirs = {}, {}
        for name, end in (("stdin", 1), ("stdout", 0), ("stderr", 0)):
            pair = _pair(streams)
            ours[name], theirs[name] = pair[end], pair[1 - end]
        try:
            self.process = subprocess.Popen(
                list(command),
                stdin=theirs["stdin"],
                stdout=theirs["stdout"],
                stderr=theirs["stderr"],
                env=None if env is None else dict(env),
                cwd=cwd,
            )
        except BaseException:
            for fd in ours.values():
                os.close(fd)
            raise
        finally:
            for fd in theirs.values():
                os.close(fd)
        self._fds = ours
        self.handle = ProcessHandle(self.process.pid)
        self._read_stderr = stderr == "read"
        for fd in ours.values():
            os.set_blocking(fd, False)
        if stderr == "closed":
            self._close("stderr")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The pid of the command as started."""
        return self.process.pid

    # ---- sending

    def send(self, *messages: JSON) -> None:
        """Send messages, one line each."""
        for message in messages:
            data = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()
            self.lines.append(Line(time.monotonic(), "sent", data))
            self.send_bytes(data + b"\n")

    def send_bytes(self, data: bytes, *, timeout: float = WAIT) -> None:
        """Send exactly these bytes, reading what the server writes meanwhile: neither side can block the other.

        Raises `WireError` where the server has not taken them in time, `BrokenPipeError` where it is gone.
        """
        end = time.monotonic() + timeout
        view = memoryview(data)
        while view:
            self._turn(end, writing=True, waiting_for=f"the server to read {len(view)} more bytes")
            try:
                view = view[os.write(self._fds["stdin"], view[:65536]) :]
            except BlockingIOError:
                continue

    def close_stdin(self) -> None:
        """End of input, as the server sees it."""
        self._close("stdin")

    def close_stdout(self) -> None:
        """Stop listening: the server's next write fails."""
        self._close("stdout")

    # ---- receiving

    def receive(self, *, timeout: float = WAIT) -> JSON:
        """The next message from the server, whatever it is."""
        return self.receive_line(timeout=timeout).json()

    def receive_line(self, *, timeout: float = WAIT) -> Line:
        """The next line from the server; raises `WireError` at its end of output or after `timeout` seconds."""
        end = time.monotonic() + timeout
        while not self._inbox:
            if "stdout" not in self._open:
                raise self._error("the server closed its output")
            self._turn(end, waiting_for="a line")
        return self._inbox.popleft()

    def answer(self, request_id: Any, *, timeout: float = WAIT) -> JSON:
        """The answer with exactly this id, type included; other messages wait for `receive` in their order."""
        end = time.monotonic() + timeout
        passed: deque[Line] = deque()
        try:
            while True:
                line = self.receive_line(timeout=end - time.monotonic())
                message = line.json()
                if "method" not in message and _same(message.get("id"), request_id):
                    return message
                passed.append(line)
        finally:
            self._inbox.extendleft(reversed(passed))

    def ask(self, method: str, params: Any = None, *, request_id: Any = None, timeout: float = WAIT) -> JSON:
        """Send a request, under a fresh id where none is given, and return its answer."""
        if request_id is None:
            request_id = self.fresh_id()
        self.send(request(request_id, method, params))
        return self.answer(request_id, timeout=timeout)

    def call(self, tool: str, arguments: JSON | None = None, *, timeout: float = WAIT) -> JSON:
        """Call a tool as the client does and return the result; raises `WireError` on a protocol error."""
        request_id = self.fresh_id()
        self.send(tools_call(request_id, tool, arguments or {}))
        answer = self.answer(request_id, timeout=timeout)
        if "result" not in answer:
            raise self._error(f"tools/call was refused: {answer}")
        result: JSON = answer["result"]
        return result

    def handshake(self, version: str = "2.1.332", *, timeout: float = WAIT) -> JSON:
        """The whole handshake of that client, tools/list included; returns the answer to initialize."""
        if version != "2.1.285":
            self.send(discover(version))
            self.answer("server-discover-probe-1", timeout=timeout)
        self.send(initialize(version))
        answer = self.answer(0, timeout=timeout)
        self.send(initialized(), tools_list())
        self.answer(1, timeout=timeout)
        return answer

    def until_ping(self, *, timeout: float = WAIT) -> list[Line]:
        """Send a ping and return the lines that came before its answer.

        This is how silence is shown without a sleep: what the server had to say to earlier input, it has said.
        """
        request_id = f"ping-{self.fresh_id()}"
        self.send(request(request_id, "ping"))
        end = time.monotonic() + timeout
        before: list[Line] = []
        while True:
            line = self.receive_line(timeout=end - time.monotonic())
            try:
                answered = json.loads(line.data).get("id") == request_id
            except (ValueError, AttributeError):
                answered = False
            if answered:
                return before
            before.append(line)

    def fresh_id(self) -> int:
        """A number that no request of this wire has had."""
        self._next_id += 1
        return self._next_id - 1

    def rest(self, *, timeout: float = WAIT) -> list[Line]:
        """All lines until the server closes its output."""
        end = time.monotonic() + timeout
        while "stdout" in self._open:
            self._turn(end, waiting_for="the end of output")
        lines = list(self._inbox)
        self._inbox.clear()
        return lines

    @property
    def unfinished(self) -> bytes:
        """What the server wrote without a newline behind it."""
        return bytes(self._partial)

    @property
    def stderr_text(self) -> str:
        """What stood on stderr so far."""
        self._drain_stderr()
        return self._stderr.decode("utf-8", "replace")

    # ---- the end

    def signal(self, number: int) -> None:
        """Signal the server."""
        self.handle.send_signal(number)

    def wait_exit(self, *, timeout: float = WAIT) -> int:
        """The exit status (negative for a signal), reading output meanwhile so that none blocks the server."""
        end = time.monotonic() + timeout
        while not self.handle.wait(0):
            self._turn(end, waiting_for="the server to exit", also=self.handle)
        return self.process.wait()

    def close(self) -> None:
        """End the server, kindly and then not, and every descriptor. Safe to call twice."""
        self._close("stdin")
        if self.process.poll() is None:
            try:
                self.wait_exit(timeout=2)
            except WireError:
                self.handle.kill()
        self.process.wait()
        self._drain_stderr()
        for name in ("stdout", "stderr"):
            self._close(name)
        self.handle.close()

    # ---- within

    def _close(self, name: str) -> None:
        if name in self._open:
            self._open.discard(name)
            os.close(self._fds[name])

    def _turn(self, end: float, *, waiting_for: str, writing: bool = False, also: ProcessHandle | None = None) -> None:
        """Wait until something can be read or written (or `also` ends), and read it."""
        reading = [self._fds[name] for name in ("stdout", "stderr") if name in self._open and self._reads(name)]
        if also is not None and also.fileno() >= 0:
            reading.append(also.fileno())
        left = end - time.monotonic()
        wait = max(0.0, left) if also is None or also.fileno() >= 0 else min(0.01, max(0.0, left))
        ready = select.select(reading, [self._fds["stdin"]] if writing else [], [], wait)
        if not ready[0] and not ready[1] and left <= 0:
            raise self._error(f"waited in vain for {waiting_for}")
        if self._fds["stderr"] in ready[0]:
            self._drain_stderr()
        if self._fds["stdout"] in ready[0]:
            self._take_stdout()

    def _reads(self, name: str) -> bool:
        return name == "stdout" or self._read_stderr

    def _take_stdout(self) -> None:
        data = _read(self._fds["stdout"])
        if data is None:
            return
        if not data:
            self._close("stdout")
            return
        at = time.monotonic()
        self._partial += data
        if b"\n" not in data:
            return
        *whole, rest = bytes(self._partial).split(b"\n")
        self._partial = bytearray(rest)
        for text in whole:
            line = Line(at, "received", text)
            self.lines.append(line)
            self._inbox.append(line)

    def _drain_stderr(self) -> None:
        while self._read_stderr and "stderr" in self._open:
            data = _read(self._fds["stderr"])
            if data is None:
                return
            if not data:
                self._close("stderr")
            self._stderr += data

    def _error(self, problem: str) -> WireError:
        tail = "\n".join(
            f"  {'>' if line.direction == 'sent' else '<'} {line.data[:400].decode('utf-8', 'replace')}"
            for line in self.lines[-12:]
        )
        ended = self.process.poll()
        state = "still running" if ended is None else f"exited with {ended}"
        return WireError(f"{problem} (server {state})\n{tail}\nstderr: {self.stderr_text[-2000:] or '(nothing)'}")


def _pair(streams: str) -> tuple[int, int]:
    """A reading and a writing end, not inherited."""
    if streams == "pipe":
        return os.pipe()
    reader, writer = socket.socketpair()
    return reader.detach(), writer.detach()


def _read(fd: int) -> bytes | None:
    """What is there; empty at the end, None where nothing is there yet."""
    try:
        return os.read(fd, 1 << 20)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""


def _same(left: Any, right: Any) -> bool:
    """Equal with type: 1 is not True, not 1.0 and not "1"."""
    return type(left) is type(right) and bool(left == right)
