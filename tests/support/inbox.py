"""The client's inbox socket: who is let in, what a frame means, what is dropped without a word.

Owns `Gate` (pure: frames and the poster in, a verdict out) and `Inbox` (the socket). Rules as seen on 2.1.332
and 2.1.285 on Linux, where peer credentials and ancestry decide. Must not know what becomes of a message.
Receipts to the sender's own socket are not played.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tests.support.processes import parent_of, start_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.loop import Loop

JSON = dict[str, Any]
Fate = Literal["accepted", "held", "refused", "dropped"]

LONGEST_LINE = 1_048_576
BURST, REFILL_PER_SECOND = 30, 0.5
SAME_TEXT_SECONDS = 30.0
QUEUE_LIMIT = 50
FIRST_LINE_SECONDS = 30.0

_WRAPPER = re.compile(r"<cross-session-message((?: [a-z-]+=\"[^\"]*\")*)>\n(.*)\n</cross-session-message>", re.DOTALL)
_ATTRIBUTE = re.compile(r' ([a-z-]+)="([^"]*)"')


@dataclass(frozen=True)
class Poster:
    """The process at the other end, by its credentials."""

    pid: int
    start: str
    own_child: bool


@dataclass(frozen=True)
class Message:
    """A user frame that was let in (or held): its raw text, and the origin that its rows carry."""

    text: str
    origin: JSON
    priority: str


@dataclass
class Gate:
    """Decides on frames. `now` is monotonic seconds."""

    setting: Literal["default", "accept", "hold", "refuse", "off"]
    bypass: bool
    session_id: str
    _tokens: dict[str, tuple[float, float]] = field(default_factory=dict)
    _last: dict[str, tuple[float, str]] = field(default_factory=dict)

    def judge(self, frame: Any, poster: Poster, *, now: float, queued: int) -> tuple[Fate, str, Message | None]:
        """What happens to a frame, why, and the message where there is one."""
        if not isinstance(frame, dict) or frame.get("type") != "user" or not isinstance(frame.get("message"), dict):
            return "dropped", "no user frame", None
        text = frame["message"].get("content")
        if not isinstance(text, str):
            return "dropped", "content is no string", None
        if frame.get("session_id", self.session_id) != self.session_id:
            return "dropped", "for another session", None
        sender = str(frame.get("from", poster.pid))
        message = Message(text, origin_of(text, frame.get("from"), poster), str(frame.get("priority", "next")))
        if self.setting == "refuse":
            return "refused", "crossSessionInbound", message
        if not self._spend(sender, now):
            return "dropped", "rate", message
        before = self._last.get(sender)
        self._last[sender] = (now, text)
        if before and before[1] == text and now - before[0] < SAME_TEXT_SECONDS:
            return "dropped", "same text", message
        if queued >= QUEUE_LIMIT:
            return "dropped", "queue-full", message
        if self.setting == "hold":
            return "held", "crossSessionInbound", message
        if self.setting == "default" and not self._trusted(text, poster):
            return "held", "parity", message
        return "accepted", "", message

    def _trusted(self, text: str, poster: Poster) -> bool:
        claims_bypass = attributes_of(text).get("from-mode") == "bypass"
        return (claims_bypass or poster.own_child) if self.bypass else not claims_bypass

    def _spend(self, sender: str, now: float) -> bool:
        tokens, since = self._tokens.get(sender, (float(BURST), now))
        tokens = min(float(BURST), tokens + (now - since) * REFILL_PER_SECOND)
        self._tokens[sender] = (tokens - 1 if tokens >= 1 else tokens, now)
        return tokens >= 1


def attributes_of(text: str) -> dict[str, str]:
    """The wrapper's attributes; none where the text is not wrapped."""
    found = _WRAPPER.fullmatch(text)
    return dict(_ATTRIBUTE.findall(found[1])) if found else {}


def origin_of(text: str, sender: Any, poster: Poster) -> JSON:
    """The origin that the rows of this message carry."""
    origin: JSON = {"kind": "peer", "from": sender if isinstance(sender, str) else "unknown"}
    origin |= {"verifiedPeerPid": poster.pid, "verifiedPeerProcStart": poster.start}
    found = _WRAPPER.fullmatch(text)
    if found:
        origin |= {"name": attributes_of(text).get("from-name", ""), "body": found[2]}
    return origin


class Inbox:
    """The listening socket `<folder>/<pid>.sock` (0600 in 0700)."""

    def __init__(self, loop: Loop, path: str, take: Callable[[Any, Poster], None]) -> None:
        self.path = path
        self._loop = loop
        self._take = take
        self._socket = socket.socket(socket.AF_UNIX)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self._socket.bind(path)
        os.chmod(path, 0o600)
        self._socket.listen(64)
        self._socket.setblocking(False)
        loop.reader(self._socket.fileno(), self._accept)

    def close(self) -> None:
        """As at a clean end: nothing is left."""
        self._loop.forget(self._socket.fileno())
        self._socket.close()
        os.unlink(self.path)

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except BlockingIOError:
            return
        connection.setblocking(False)
        _Connection(self._loop, connection, self._take)


class _Connection:
    """One poster; nothing is ever written back to it."""

    def __init__(self, loop: Loop, connection: socket.socket, take: Callable[[Any, Poster], None]) -> None:
        self._loop = loop
        self._socket = connection
        self._take = take
        self._partial = b""
        self._poster = _poster(connection)
        self._timer = loop.later(FIRST_LINE_SECONDS, self._close)
        loop.reader(connection.fileno(), self._read)

    def _read(self) -> None:
        try:
            data = self._socket.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._partial += data
        *lines, self._partial = self._partial.split(b"\n")
        if lines:
            self._timer.cancel()
        for line in lines:
            if len(line) > LONGEST_LINE:
                self._close()
                return
            try:
                frame = json.loads(line)
            except ValueError:
                continue
            if isinstance(frame, dict) and frame.get("type") != "auth":
                self._take(frame, self._poster)
        if not data or len(self._partial) > LONGEST_LINE:
            self._close()

    def _close(self) -> None:
        self._timer.cancel()
        if self._socket.fileno() >= 0:
            self._loop.forget(self._socket.fileno())
            self._socket.close()


def _poster(connection: socket.socket) -> Poster:
    pid = 0
    if hasattr(socket, "SO_PEERCRED"):
        pid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    return Poster(pid=pid, start=start_of(pid), own_child=_descends(pid, os.getpid()))


def _descends(pid: int, ancestor: int) -> bool:
    for _ in range(64):
        if pid == ancestor:
            return True
        if pid <= 1:
            return False
        pid = parent_of(pid)
    return False


def now() -> float:
    """The clock of the limits."""
    return time.monotonic()
