"""The prompt cache that a session really has, as its transcript shows it (ID-7).

Owns the evidence: when the main thread last asked, how large its context was, how long the cache keeps it.
Pure: rows in, one value out. Must not know what time it is or what to do about it: that is keepalive's judge.

Where two readings are possible the one by which the cache ends earlier is taken; where none is certain, the
evidence says why. Seen on 2.1.285 and 2.1.332: an answer is written as one row for each of its blocks, all with
the same message id and counts; a request that failed, was interrupted or is under way leaves an `api-request`
row (2.1.332) that no answer refers to, and proves nothing about the cache.
"""

from __future__ import annotations

from agent_ways.base.values import Value
from agent_ways.claude.transcript import text_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final

    from agent_ways.claude.transcript import Row

HOUR = "1h"
FIVE_MINUTES = "5m"

_MAIN_THREAD = "repl_main_thread"
"""What main-thread requests are marked with; with an output style in use more follows (2.1.332)."""
_QUEUED = "queued_command"
_COMPACTIONS = ("compact_boundary", "microcompact_boundary")


class CacheEvidence(Value):
    """What is known of a session's cache. `reason` is empty where all of it is, else it says what is missing.

    `last_request_ms`: when the last answered main-thread request left, ms since the epoch, never later than it did.
    `tier`: how long the cache keeps it, `1h` or `5m`. `context_tokens`: that request's size, cached or not;
    `last_read_tokens` and `last_write_tokens`: how much of it came from the cache and went into it.
    """

    __slots__ = ("context_tokens", "last_read_tokens", "last_request_ms", "last_write_tokens", "reason", "tier")

    def __init__(
        self,
        *,
        last_request_ms: int | None = None,
        tier: str | None = None,
        context_tokens: int | None = None,
        last_read_tokens: int | None = None,
        last_write_tokens: int | None = None,
        reason: str = "",
    ) -> None:
        self.last_request_ms: Final = last_request_ms
        self.tier: Final = tier
        self.context_tokens: Final = context_tokens
        self.last_read_tokens: Final = last_read_tokens
        self.last_write_tokens: Final = last_write_tokens
        self.reason: Final = reason


class _Answer:
    """One answer of the model: what its rows say together."""

    __slots__ = ("at", "line", "ref", "requested", "usage")

    def __init__(self, row: Row, at: int, usage: dict[str, Any]) -> None:
        self.at = at
        self.line = row.line
        self.usage = usage
        self.ref = text_in(row.raw, "requestRef")
        self.requested = text_in(row.raw, "promptCacheRequested")

    def add(self, row: Row, at: int, usage: dict[str, Any]) -> None:
        """Take in another row of the same answer: its first time counts, and its fullest counts."""
        self.at = min(self.at, at)
        self.line = max(self.line, row.line)
        if _count(usage, "output_tokens") >= _count(self.usage, "output_tokens"):
            self.usage = usage
        self.ref = self.ref or text_in(row.raw, "requestRef")
        self.requested = self.requested or text_in(row.raw, "promptCacheRequested")

    @property
    def read(self) -> int:
        return _count(self.usage, "cache_read_input_tokens")

    @property
    def write(self) -> int:
        one, five = self.writes
        return max(_count(self.usage, "cache_creation_input_tokens"), one + five)

    @property
    def writes(self) -> tuple[int, int]:
        """Tokens written to be kept for an hour, and for five minutes."""
        parts = self.usage.get("cache_creation")
        return _count(parts, "ephemeral_1h_input_tokens"), _count(parts, "ephemeral_5m_input_tokens")

    @property
    def size(self) -> int:
        return _count(self.usage, "input_tokens") + self.read + self.write


def cache_evidence(rows: Iterable[Row]) -> CacheEvidence:
    """What `rows`, a session's main transcript or its tail, show of its cache."""
    main = [row for row in rows if not row.side]
    answers = _answers(main)
    if not answers:
        return CacheEvidence(reason="no answered request of the main thread is in the transcript")
    newest = answers[-1]
    if any(_compacts(row, newest) for row in main):
        return CacheEvidence(reason="the conversation was compacted after its last request")
    asked = _asked(main, newest)
    tier, reason = _tier(answers)
    if asked is None:
        reason = "what the last answer answers is not in the part of the transcript that was read"
    elif not newest.read and not newest.write:
        tier, reason = None, "the last request neither read from the cache nor wrote to it"
    return CacheEvidence(
        last_request_ms=asked,
        tier=tier,
        context_tokens=newest.size,
        last_read_tokens=newest.read,
        last_write_tokens=newest.write,
        reason=reason,
    )


def _answers(main: Iterable[Row]) -> list[_Answer]:
    """The model's answers, oldest first by time: rows of one message id are one answer, placeholders none."""
    found: dict[str, _Answer] = {}
    for row in main:
        message = row.raw.get("message")
        if (
            row.type != "assistant"
            or row.at is None
            or not isinstance(message, dict)
            or row.raw.get("isApiErrorMessage")
        ):
            continue
        name, usage = text_in(message, "id"), message.get("usage")
        if not name or not isinstance(usage, dict) or text_in(message, "model") == "<synthetic>":
            continue
        if name in found:
            found[name].add(row, row.at, usage)
        else:
            found[name] = _Answer(row, row.at, usage)
    return sorted((one for one in found.values() if one.size), key=lambda one: (one.at, one.line))


def _compacts(row: Row, newest: _Answer) -> bool:
    boundary = row.type == "system" and text_in(row.raw, "subtype") in _COMPACTIONS
    if not boundary and not (row.type == "user" and row.raw.get("isCompactSummary")):
        return False
    return row.line > newest.line if row.at is None else row.at >= newest.at


def _asked(main: Iterable[Row], newest: _Answer) -> int | None:
    """When the request left that `newest` answers: its own row, else the last entry that can have been in it."""
    entry: int | None = None
    for row in main:
        if row.at is None or row.at > newest.at:
            continue
        if row.type == "api-request":
            own = bool(newest.ref) and text_in(row.raw, "id") == newest.ref
            if own and text_in(row.raw, "querySource").startswith(_MAIN_THREAD):
                return row.at
        elif _is_entry(row) and (entry is None or row.at > entry):
            entry = row.at
    return entry


def _is_entry(row: Row) -> bool:
    """Whether a row's time is when it went into the conversation; a queued command bears that of its arrival."""
    return row.type == "user" or (row.type == "attachment" and text_in(row.raw.get("attachment"), "type") != _QUEUED)


def _tier(answers: list[_Answer]) -> tuple[str | None, str]:
    requested = answers[-1].requested
    if requested == "off":
        return None, "the last request asked for no cache"
    for answer in reversed(answers):
        if answer.write:
            one, five = answer.writes
            if five or (one and requested == FIVE_MINUTES):
                return FIVE_MINUTES, ""
            return (HOUR, "") if one else (None, "the last cache write does not say for how long it was")
    return None, "no cache write is in the transcript"


def _count(holder: object, key: str) -> int:
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
