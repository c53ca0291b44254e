"""The eyes of keepalive: one look at a live session, from its record, its transcript and the prompt history.

Owns what is read, how much of it and how often: the transcript's tail, smaller first, again only when the file was
written, and not at all while the session works and nothing is awaited (KA-2: no reading of whole files). Must not know
what is concluded. Reads; writes nothing.
"""

from __future__ import annotations

import os
import sys
import time

from agent_ways.base.values import Value
from agent_ways.claude import prompts, transcript
from agent_ways.claude.cache import CacheEvidence, cache_evidence
from agent_ways.claude.idle import Idle, idle, unanswered
from agent_ways.keepalive.record import ARRIVED, INTENT, PROVEN
from agent_ways.keepalive.situation import Clock, Conduits, Situation
from agent_ways.keepalive.traces import traces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Final

    from agent_ways.base.process import Owner
    from agent_ways.claude.identity import Identity
    from agent_ways.claude.records import SessionRecord
    from agent_ways.claude.transcript import Pread, Row, Rows
    from agent_ways.keepalive.record import Record
    from agent_ways.keepalive.situation import Trace

WINDOWS = (512 << 10, transcript.TAIL)
"""Bytes of the transcript's tail that are looked at, the next only where the one before left something open."""
DISORDER_MS = 60_000
"""How far lines may be out of the order of time and the clock still count as one that only went forward."""


def steady_ms() -> int | None:
    """Ms of a clock that is never set and counts sleep; None where the system has none."""
    name = "CLOCK_BOOTTIME" if sys.platform == "linux" else "CLOCK_MONOTONIC"  # macOS: continuous time
    number = getattr(time, name, None)
    if number is None or sys.platform not in ("linux", "darwin"):
        return None
    try:
        return int(time.clock_gettime(number) * 1000)
    except OSError:
        return None


def read_clock(
    wall: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
    steady: Callable[[], int | None] = steady_ms,
    boot: str = "",
) -> Clock:
    """This moment by the three clocks; the edges are named so that tests can bring their own."""
    return Clock(wall_ms=int(wall() * 1000), awake_ms=int(monotonic() * 1000), steady_ms=steady(), boot=boot)


def is_stopped(pid: int, root: str = "/proc") -> bool:
    """Whether a process is stopped (ctrl-z) or held by a debugger; False where the system does not tell."""
    try:
        with open(f"{root}/{pid}/stat", "rb", buffering=0) as file:
            state = file.read(4096).rpartition(b")")[2].split()[:1]
    except OSError:
        return False
    return state in ([b"T"], [b"t"])


def in_order(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows without those whose time is later than that of an answer written after them.

    Those were written before the clock was set back, and would look like the newest for as long as it was set back.
    """
    kept: list[Row] = []
    low: int | None = None
    for row in reversed(tuple(rows)):
        if row.at is not None:
            if low is not None and row.at > low + DISORDER_MS:
                continue
            if row.type == "assistant" and not row.side:
                low = row.at if low is None else min(low, row.at)
        kept.append(row)
    return tuple(reversed(kept))


class Seen(Value):
    """What one reading of a transcript's tail shows. `call` is a tool call without a result, `problem` why nothing is
    known of the file.
    """  # noqa: D205 - one sentence each

    __slots__ = ("cache", "call", "problem", "traces", "typed_line", "typed_ms")

    def __init__(
        self,
        *,
        cache: CacheEvidence,
        call: str = "",
        typed_ms: int | None = None,
        typed_line: int = -1,
        traces: tuple[tuple[str, Trace], ...] = (),
        problem: str = "",
    ) -> None:
        self.cache: Final = cache
        self.call: Final = call
        self.typed_ms: Final = typed_ms
        self.typed_line: Final = typed_line
        self.traces: Final = traces
        self.problem: Final = problem


def seen_in(found: Rows, ids: tuple[str, ...], server: str, started_ms: int) -> Seen:
    """What the rows of one reading show. `started_ms` is when the Claude process began."""
    rows = in_order(found)
    typed = [(row.line, at) for row in rows if (at := prompts.in_transcript((row,))) is not None]
    line, at_ms = typed[-1] if typed else (-1, None)
    return Seen(
        cache=cache_evidence(rows),
        call=unanswered(rows, started_ms),
        typed_ms=at_ms,
        typed_line=line,
        traces=traces(rows, ids, server),
        problem=found.problem,
    )


class SessionEyes:
    """Looks at the session that `identify` names. One object may look many times; it remembers what did not change.

    `conduits` says what could wake that session, `elsewhere` which other process keeps it warm (empty: none). `server`
    is the name that the client knows us by. With `thorough` the transcript is read also while the session works.
    """

    def __init__(
        self,
        *,
        identify: Callable[[], Identity],
        conduits: Callable[[SessionRecord], Conduits],
        clock: Callable[[], Clock],
        owner: Owner,
        server: str,
        elsewhere: Callable[[SessionRecord], str] = lambda _: "",
        stopped: Callable[[int], bool] = is_stopped,
        pread: Pread = os.pread,
        thorough: bool = False,
    ) -> None:
        self._identify: Final = identify
        self._conduits: Final = conduits
        self._clock: Final = clock
        self._owner: Final = owner
        self._server: Final = server
        self._elsewhere: Final = elsewhere
        self._stopped: Final = stopped
        self._pread: Final = pread
        self._thorough: Final = thorough
        self._transcript: tuple[object, Seen] | None = None
        self._history: tuple[object, int | None] | None = None
        self._of = ""

    def session(self) -> str:
        """See `keeper.Eyes`."""
        record = self._identify().record
        return "" if record is None else record.session

    def still_idle(self, session: str) -> bool:
        """See `keeper.Eyes`."""
        record = self._identify().record
        if record is None or record.session != session or self._stopped(record.pid):
            return False
        return idle(record, None).state

    def look(self, record: Record | None) -> Situation:
        """See `keeper.Eyes`."""
        identity = self._identify()
        session = identity.record
        if session is None:
            return self._nobody("", identity.reason or "the session is not known")
        if session.is_sdk:
            return self._nobody(session.session, "a session of -p or an SDK is never pushed into")
        if self._of != session.session:
            self._of, self._transcript, self._history = session.session, None, None
        resting = idle(session, None)
        seen = self._read(session, record, resting.state)
        if resting.state and seen.problem:
            resting = Idle(False, f"the transcript is unknown: {seen.problem}")
        elif resting.state and seen.call:
            resting = Idle(False, f"a tool call has no result yet: {seen.call}")
        return Situation(
            clock=self._clock(),
            session=session.session,
            owner=self._owner,
            idle=resting,
            cache=seen.cache,
            conduits=self._conduits(session),
            history_ms=self._history_ms(session),
            typed_ms=seen.typed_ms,
            typed_line=seen.typed_line,
            traces=seen.traces,
            elsewhere=self._elsewhere(session),
            stopped=self._stopped(session.pid),
            blind=bool(seen.problem),
        )

    def _nobody(self, session: str, reason: str) -> Situation:
        return Situation(
            clock=self._clock(),
            session=session,
            owner=self._owner,
            idle=Idle(False, reason),
            cache=CacheEvidence(reason=reason),
            conduits=Conduits((), reason),
            excluded=reason,
        )

    def _read(self, session: SessionRecord, record: Record | None, at_rest: bool) -> Seen:
        attempts = () if record is None else (record.ping, record.wrap)
        ids = tuple(one.id for one in attempts if one is not None)
        awaited = any(
            one is not None and (one.state in (INTENT, ARRIVED) or (one.state == PROVEN and not one.verdict))
            for one in attempts
        )
        if not (at_rest or awaited or self._thorough):
            if self._transcript is not None:
                return self._transcript[1]
            return Seen(cache=CacheEvidence(reason="not looked at while the session works"))
        path = transcript.find(session.config_dir, session.session)
        if path is None:
            return Seen(cache=CacheEvidence(reason="the session has no transcript yet: no turn was taken"))
        key = (_stamp(path), ids, session.started_at)
        if self._transcript is not None and self._transcript[0] == key and key[0] is not None:
            return self._transcript[1]
        seen = self._tail(path, ids, session.started_at or 0)
        self._transcript = (key, seen)
        return seen

    def _tail(self, path: str, ids: tuple[str, ...], started_ms: int) -> Seen:
        seen = Seen(cache=CacheEvidence(reason="nothing was read"))
        for window in WINDOWS:
            found = transcript.tail(path, window, self._pread)
            seen = seen_in(found, ids, self._server, started_ms)
            if found.start == 0 or (not seen.cache.reason and seen.typed_ms is not None):
                break
        return seen

    def _history_ms(self, session: SessionRecord) -> int | None:
        key = _stamp(os.path.join(session.config_dir, "history.jsonl"))
        if self._history is None or key is None or self._history[0] != key:
            self._history = (key, prompts.history_ms(session.config_dir, session.session, self._pread))
        return self._history[1]


def _stamp(path: str) -> tuple[str, int, int, int] | None:
    """What changes when the file is written; None where it is not there."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return path, found.st_mtime_ns, found.st_size, found.st_ino
