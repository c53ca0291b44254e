"""One thread that waits for descriptors, timers and the ends of processes.

Owns `Loop`, which the fake client's process runs on. Must not know what any of them is for. Small on purpose:
callbacks run one after the other, so nothing in the fake client needs a lock.
"""

from __future__ import annotations

import heapq
import itertools
import selectors
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.processes import ProcessHandle


class Timer:
    """A pending call; `cancel` takes it back."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """Never call."""
        self.call = None


class Loop:
    """Runs callbacks until `stop`."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._readers: dict[int, Callable[[], None]] = {}
        self._writers: dict[int, Callable[[], None]] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._running = True

    def reader(self, fd: int, call: Callable[[], None] | None) -> None:
        """Call when `fd` can be read; None: no more."""
        self._set(self._readers, fd, call)

    def writer(self, fd: int, call: Callable[[], None] | None) -> None:
        """Call when `fd` can be written; None: no more."""
        self._set(self._writers, fd, call)

    def forget(self, fd: int) -> None:
        """Before a descriptor is closed."""
        self.reader(fd, None)
        self.writer(fd, None)

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Call once after that time."""
        timer = Timer(call)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    def when_gone(self, process: ProcessHandle, call: Callable[[], None]) -> None:
        """Call once that process has ended, and let go of the handle."""
        fd = process.fileno()
        if fd < 0:
            self.later(0.01, lambda: call() if not process.alive else self.when_gone(process, call))
            return

        def gone() -> None:
            self.reader(fd, None)
            process.close()
            call()

        self.reader(fd, gone)

    def stop(self) -> None:
        """Leave `run` after the callback that runs now."""
        self._running = False

    def run(self) -> None:
        """Until `stop`."""
        while self._running:
            for key, events in self._selector.select(self._due()):
                fd = key.fd
                if events & selectors.EVENT_READ and fd in self._readers:
                    self._readers[fd]()
                if events & selectors.EVENT_WRITE and fd in self._writers:
                    self._writers[fd]()
            self._run_timers()

    def _due(self) -> float | None:
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            call, timer.call = timer.call, None
            if call is not None:
                call()

    def _set(self, table: dict[int, Callable[[], None]], fd: int, call: Callable[[], None] | None) -> None:
        before = self._events(fd)
        if call is None:
            table.pop(fd, None)
        else:
            table[fd] = call
        after = self._events(fd)
        if after and not before:
            self._selector.register(fd, after)
        elif after:
            self._selector.modify(fd, after)
        elif before:
            self._selector.unregister(fd)

    def _events(self, fd: int) -> int:
        return (selectors.EVENT_READ if fd in self._readers else 0) | (
            selectors.EVENT_WRITE if fd in self._writers else 0
        )


class Output:
    """Bytes on their way out through a non-blocking descriptor, as far as its reader takes them."""

    def __init__(self, loop: Loop, fd: int, write: Callable[[memoryview], int]) -> None:
        self._loop = loop
        self._fd = fd
        self._write = write
        self._buffer = bytearray()
        self.broken = False

    def send(self, data: bytes) -> None:
        """Write now what goes, the rest when it goes; nothing after the reader has gone."""
        self._buffer += data
        self._flush()

    @property
    def waiting(self) -> int:
        """Bytes that the reader has not taken."""
        return len(self._buffer)

    def drain(self) -> None:
        """Write the rest through a descriptor that was set to blocking."""
        self._flush()

    def _flush(self) -> None:
        if self.broken:
            return
        sent = 0
        try:
            while sent < len(self._buffer):
                with memoryview(self._buffer) as view:
                    sent += self._write(view[sent : sent + 65536])
        except BlockingIOError:
            pass
        except OSError:
            self.broken = True
            sent = len(self._buffer)
        del self._buffer[:sent]
        self._loop.writer(self._fd, self._flush if self._buffer else None)
