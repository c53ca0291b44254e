"""What keepalive cost and what it saved, per session and day, counted from transcripts (KA-10).

Owns the count: `Ledger` takes the rows of one transcript in the file's order and keeps a few numbers of each day,
however long the transcript is; `read_report` walks the transcripts of a config dir in bounded memory. Must not know how
the counts are shown.

All tokens are in units of fresh input: a cache read counts a tenth, a write 1.25 (5 minutes) or 2 (1 hour); output is
left out. A cold start is an answer that had to write again at least half of a context that the request before it had.
One is avoided where a turn that keepalive did not start found the context warm though, without keepalive's own turns,
the last request was longer ago than the cache lives.
"""

from __future__ import annotations

import os
import time

from agent_ways.base.values import Value
from agent_ways.claude import proof, transcript
from agent_ways.claude.cache import FIVE_MINUTES, HOUR, cache_evidence
from agent_ways.claude.transcript import text_in
from agent_ways.keepalive.moves import cost
from agent_ways.keepalive.record import PING, WRAP
from agent_ways.keepalive.traces import events_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Final

    from agent_ways.claude.cache import CacheEvidence
    from agent_ways.claude.transcript import Row

FLOOR = 4_096
"""Tokens below which a context is too small for its cold start to count: some models cache nothing that small."""
TTL_MS = {HOUR: 3_600_000, FIVE_MINUTES: 300_000}
EXTRA = {HOUR: 190, FIVE_MINUTES: 115}
"""What a cold token costs more than a warm one, in hundredths."""
RECENT = 8
"""Answers remembered by id: the client writes an answer as several rows."""

COUNTS = (
    *("cold_starts", "cold_tokens", "pings", "ping_tokens", "wraps", "wrap_tokens"),
    *("avoided", "avoided_tokens"),
)


class Line(Value):
    """One session on one day. Counts, and tokens in units of fresh input; see the module's docstring."""

    __slots__ = (*COUNTS, "day", "session")

    def __init__(self, session: str, day: str, counts: dict[str, int]) -> None:
        self.session: Final = session
        self.day: Final = day
        self.cold_starts: Final = counts.get("cold_starts", 0)
        self.cold_tokens: Final = counts.get("cold_tokens", 0)
        self.pings: Final = counts.get("pings", 0)
        self.ping_tokens: Final = counts.get("ping_tokens", 0)
        self.wraps: Final = counts.get("wraps", 0)
        self.wrap_tokens: Final = counts.get("wrap_tokens", 0)
        self.avoided: Final = counts.get("avoided", 0)
        self.avoided_tokens: Final = counts.get("avoided_tokens", 0)

    @property
    def net_tokens(self) -> int:
        """What was saved over what was spent on pings and wraps; below zero where it did not pay."""
        return self.avoided_tokens - self.ping_tokens - self.wrap_tokens

    def to_json(self) -> dict[str, str | int]:
        """The form for `--json`."""
        return {
            "session": self.session,
            "day": self.day,
            **{name: getattr(self, name) for name in COUNTS},
            "net_tokens": self.net_tokens,
        }


def total(lines: Iterable[Line]) -> Line:
    """The sum of lines, of no session and no day."""
    sums = dict.fromkeys(COUNTS, 0)
    for line in lines:
        for name in COUNTS:
            sums[name] += getattr(line, name)
    return Line("", "", sums)


class Ledger:
    """The count of one transcript. `day` names the day of a time in ms; `server` is the name the client knows us by."""

    __slots__ = (
        "_answer",
        "_context",
        "_day",
        "_days",
        "_done",
        "_last_own_ms",
        "_name",
        "_pinged",
        "_server",
        "_tier",
        "_turn",
        "session",
    )

    def __init__(self, session: str, server: str, day: Callable[[int], str]) -> None:
        self.session: Final = session
        self._server: Final = server
        self._day: Final = day
        self._days: dict[str, dict[str, int]] = {}
        self._answer: list[Row] = []
        self._name = ""
        self._done: list[str] = []
        self._turn = ""  # the event of ours that began this turn
        self._context = 0  # of the last answer, 0 where none is known
        self._tier: str | None = None
        self._last_own_ms: int | None = None  # the last answer in a turn that keepalive did not start
        self._pinged = False  # whether keepalive took a turn since

    def add(self, row: Row) -> None:
        """Take in the next row."""
        if row.side or row.at is None:
            return
        if row.type == "assistant":
            self._assistant(row)
        elif row.type == "system" and text_in(row.raw, "subtype") in ("compact_boundary", "microcompact_boundary"):
            self._close()
            self._context = 0
        elif row.type in ("user", "attachment") and row.origin:
            self._begins(row)

    def lines(self) -> list[Line]:
        """The days on which anything was counted, in order."""
        self._close()
        return [Line(self.session, day, counts) for day, counts in sorted(self._days.items()) if any(counts.values())]

    def _begins(self, row: Row) -> None:
        self._close()
        kinds = [kind for found in proof.shown((row,)) for kind, _ in events_in(found, self._server)]
        for kind in kinds:
            self._count(row.at or 0, {PING: "pings", WRAP: "wraps"}[kind], 1)
        if row.type == "user":  # an attachment came into a running turn, which is not ours
            self._turn = kinds[0] if kinds else ""

    def _assistant(self, row: Row) -> None:
        message = row.raw.get("message")
        name = text_in(message, "id")
        if not name or name in self._done:
            return
        if name != self._name:
            self._close()
            self._name = name
        # Only what is counted is kept: the text of a long answer is not.
        usage = message.get("usage") if isinstance(message, dict) else None
        slim = {key: row.raw.get(key) for key in ("type", "timestamp", "requestRef", "promptCacheRequested")}
        slim["isApiErrorMessage"] = row.raw.get("isApiErrorMessage")
        slim["message"] = {"id": name, "model": text_in(message, "model"), "usage": usage}
        self._answer.append(transcript.Row(slim, row.line))

    def _close(self) -> None:
        """The answer at hand is whole: count it."""
        rows, self._answer = self._answer, []
        if not rows:
            return
        self._done = [*self._done[-RECENT:], self._name]
        self._name = ""
        answer = cache_evidence(rows)
        if not answer.context_tokens:
            return
        self._tier = answer.tier or self._tier
        self._answered(min(row.at or 0 for row in rows), answer)

    def _answered(self, at: int, answer: CacheEvidence) -> None:
        before, read, write = self._context, answer.last_read_tokens or 0, answer.last_write_tokens or 0
        extra = EXTRA.get(self._tier or "", EXTRA[FIVE_MINUTES])
        if before >= FLOOR:
            if 2 * write >= before and 2 * read < before:
                self._count(at, "cold_starts", 1)
                self._count(at, "cold_tokens", min(write, before) * extra // 100)
            elif self._would_be_cold(at) and 2 * read >= before:
                self._count(at, "avoided", 1)
                self._count(at, "avoided_tokens", read * extra // 100)
        if self._turn:
            self._pinged = True
            self._count(at, {PING: "ping_tokens", WRAP: "wrap_tokens"}[self._turn], cost(answer))
        else:
            self._pinged = False
            self._last_own_ms = at
        self._context = answer.context_tokens or 0

    def _would_be_cold(self, at: int) -> bool:
        kept = TTL_MS.get(self._tier or "")
        if self._turn or not self._pinged or kept is None or self._last_own_ms is None:
            return False
        return at - self._last_own_ms > kept

    def _count(self, at: int, name: str, by: int) -> None:
        counts = self._days.setdefault(self._day(at), {})
        counts[name] = counts.get(name, 0) + by


def local_day(ms: int) -> str:
    """The day by the calendar on the wall."""
    try:
        return time.strftime("%Y-%m-%d", time.localtime(ms // 1000))
    except (ValueError, OverflowError, OSError):
        return "unknown"


def read_report(
    config_dir: str, server: str, since_ms: int = 0, day: Callable[[int], str] = local_day
) -> Iterator[Line]:
    """The lines of every transcript of a config dir that was written since `since_ms`, days before it left out.

    Subagents' transcripts lie deeper and are not opened. One piece of one transcript is in memory at a time.
    """
    first = day(since_ms) if since_ms else ""
    projects = os.path.join(config_dir, "projects")
    for folder in _names(projects):
        for name in _names(os.path.join(projects, folder)):
            path = os.path.join(projects, folder, name)
            if name.endswith(".jsonl") and _written_since(path, since_ms):
                ledger = Ledger(name.removesuffix(".jsonl"), server, day)
                _feed(ledger, path)
                yield from (line for line in ledger.lines() if line.day >= first)


def _feed(ledger: Ledger, path: str) -> None:
    offset = 0
    while True:
        found = transcript.since(path, offset)
        for row in found:
            ledger.add(row)
        if not found.more or found.end <= offset:
            return
        offset = found.end


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _written_since(path: str, since_ms: int) -> bool:
    try:
        return os.stat(path).st_mtime * 1000 >= since_ms
    except OSError:
        return False
