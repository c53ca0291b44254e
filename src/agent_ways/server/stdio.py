"""The stdio edge: one thread, one poll, around the protocol core and the modules.

Owns the loop, the signals and the way out. Must not know what a message or an event says.

At rest it sleeps in poll without a timeout. It leaves at the end of input, when the client closes its stdout,
when the session's Claude process ends while somebody else holds our stdin open, and on SIGTERM and SIGHUP. SIGINT
ends it too, but not under a live session, found or still looked for: there it may be a ^C that the person meant for an
editor or a shell line in the same process group, and the client, when it means us, follows with SIGTERM 100 ms later
(2.1.285, 2.1.332).
"""

from __future__ import annotations

import _signal as signals  # type: ignore[import-not-found]  # signal.py wraps these in enums, 4 ms of start-up
import os
import select
import time

from agent_ways.server.pipes import ClosedError, say
from agent_ways.server.protocol import Call, Cancelled, Initialized, Listed, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, NoReturn

    from agent_ways.server.host import Host
    from agent_ways.server.pipes import Writer
    from agent_ways.server.presence import Marker
    from agent_ways.server.protocol import Event, Protocol
    from agent_ways.server.session import OwnSession

READ_SIZE = 65_536
QUIET_AFTER_LIST = 1.0
"""Seconds after the answer to tools/list in which the client loses events: it registers the channel late."""
BACKLOG = 8 << 20
"""Bytes of unread answers above which nothing more is read."""
LONGEST_SLEEP = 86_400.0
"""Seconds that poll is asked to wait at most: its argument is a C int of milliseconds."""
PROMPT = 0.05
"""Seconds that an answer waits at most for those of the calls which were read together with its own."""
LAST_FLUSH = 0.05
"""Seconds that a client which no longer reads is given for the last answers."""


class Server:
    """One connection, from the first byte to `os._exit`."""

    def __init__(
        self, stdin: int, writer: Writer, protocol: Protocol, host: Host, session: OwnSession, marker: Marker | None
    ) -> None:
        self._stdin: Final = stdin
        self._writer: Final = writer
        self._protocol: Final = protocol
        self._host: Final = host
        self._session: Final = session
        self._marker: Final = marker
        self._poll: Final = select.poll()
        self._registered: dict[int, int] = {}
        self._shape: tuple[object, ...] = ()
        self._starting = False
        self._open_at: float | None = None
        self._opened = False
        self._held: list[bytes] = []
        self._look_at: float | None = None

    def send(self, line: bytes) -> None:
        """Write a line of ours, not before the client listens."""
        self._held.append(line)

    def run(self) -> NoReturn:
        """Serve until the client is gone; exits the process with 0."""
        for number in (signals.SIGTERM, signals.SIGHUP, signals.SIGINT):
            signals.signal(number, self._on_signal)
        try:
            self._loop()
        except ClosedError:
            pass  # nobody is left to tell
        except Exception as error:  # noqa: BLE001 - a defect of ours must not leave a marker or a traceback behind
            say(f"ended by a defect: {error!r}")
            self._leave(1)
        self._leave(0)

    def _on_signal(self, number: int, _frame: object) -> None:
        if number != signals.SIGINT or not (self._session.session or self._session.awaited):
            self._leave(0)

    def _leave(self, code: int) -> NoReturn:
        if self._marker is not None:
            self._marker.remove()
        os._exit(code)

    def _loop(self) -> None:
        while True:
            self._release()
            self._writer.flush()
            self._start()
            ready = self._wait()
            if self._session.end_fd in ready or not self._look():
                return
            for fd, state in ready.items():
                if fd == self._stdin:
                    if not self._read():
                        return
                elif fd == self._session.record_fd:
                    self._about_the_session(self._session.record_changed)
                elif state & select.POLLIN:
                    self._host.ready(fd)
                else:
                    self._host.ended(fd)
            self._host.tick(time.monotonic())

    def _read(self) -> bool:
        try:
            data = os.read(self._stdin, READ_SIZE)
        except OSError:
            data = b""  # the client is gone: as good as the end of input
        flush_at = time.monotonic() + PROMPT
        for event in self._protocol.receive(data):
            self._handle(event)
            if time.monotonic() > flush_at:  # the next ones may take as long, and nobody may be there for them
                self._writer.flush()
                flush_at = time.monotonic() + PROMPT
        if data:
            return True
        end = time.monotonic() + LAST_FLUSH
        last = select.poll()
        last.register(self._writer.fd, select.POLLOUT)
        while not self._writer.flush() and (left := end - time.monotonic()) > 0:
            last.poll(left * 1000)
        return False

    def _handle(self, event: Event) -> None:
        if isinstance(event, Call):
            reply = self._protocol.answer(event.id, self._host.call(event.tool, event.arguments))
            self._writer.put(reply.id, reply.data)
        elif isinstance(event, Reply):
            self._writer.put(event.id, event.data)
        elif isinstance(event, Cancelled):
            self._writer.cancel(event.id)
        elif isinstance(event, Listed):
            if self._open_at is None:
                self._open_at = time.monotonic() + QUIET_AFTER_LIST
        elif isinstance(event, Initialized):
            self._starting = True

    def _start(self) -> None:
        """After the handshake, and behind the answers to what came with its last line."""
        if self._starting:
            self._starting = False
            self._about_the_session(self._session.resolve)
            self._host.start()

    def _release(self) -> None:
        """Once the client listens, let events out."""
        if not self._may_open() or self._open_at is None or time.monotonic() < self._open_at:
            return
        if not self._opened:
            self._opened = True
            self._host.open()
        for line in self._held:
            self._writer.put(None, line)
        self._held.clear()

    def _may_open(self) -> bool:
        """Whether there is a session that events may be for: none of -p, an SDK, or our own handshake (ID-5).

        It is looked for when the handshake has ended, so nothing opens before that.
        """
        return self._session.session is not None

    def _look(self) -> bool:
        """Where the system does not tell of changes: look when it is time; False once Claude is gone."""
        if self._look_at is None or time.monotonic() < self._look_at:
            return True
        self._about_the_session(self._session.resolve)
        return self._session.lives

    def _about_the_session(self, act: Callable[[], None]) -> None:
        """Learn of the session; what goes wrong with that costs the marker and the events, never the tools."""
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever a foreign file holds
            say(f"the session could not be looked at: {error!r}")
        after = self._session.next_look()
        self._look_at = None if after is None else time.monotonic() + after

    def _wait(self) -> dict[int, int]:
        """The descriptors that have something, and what, after sleeping until there is one or a time has come."""
        pending, own = self._writer.pending, (self._session.record_fd, self._session.end_fd)
        shape = (self._host.watched, own, pending == 0, pending < BACKLOG)
        if shape != self._shape:
            self._shape = shape
            wanted = dict.fromkeys((*shape[0], *(fd for fd in own if fd is not None)), select.POLLIN)
            wanted[self._stdin] = select.POLLIN if pending < BACKLOG else 0
            wanted[self._writer.fd] = select.POLLOUT if pending else 0
            self._register(wanted)
        ready = dict(self._poll.poll(self._timeout()))
        if ready.pop(self._writer.fd, 0) & (select.POLLERR | select.POLLHUP):
            raise ClosedError
        return ready

    def _timeout(self) -> float | None:
        """Milliseconds to sleep at most; None at rest."""
        first = self._host.next_time()
        for other in (self._look_at, None if self._opened or not self._may_open() else self._open_at):
            if other is not None and (first is None or other < first):
                first = other
        return None if first is None else min(max(0.0, first - time.monotonic()), LONGEST_SLEEP) * 1000 + 1

    def _register(self, wanted: dict[int, int]) -> None:
        for fd in self._registered.keys() - wanted.keys():
            self._poll.unregister(fd)
        for fd, mask in wanted.items():
            if self._registered.get(fd) != mask:
                self._poll.register(fd, mask)
        self._registered = wanted
