"""What a transcript shows of our events: arrival, proof, and the answer that a ping got.

Owns the search; which line is proof of what is `claude.proof`'s. Pure: rows in, values out. Must not know what
is concluded from a trace (`moves.py`).
"""

from __future__ import annotations

from agent_ways.claude import proof
from agent_ways.claude.cache import cache_evidence
from agent_ways.claude.transcript import text_in
from agent_ways.keepalive.events import named_in, named_in_notification
from agent_ways.keepalive.situation import Proof, Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_ways.claude.cache import CacheEvidence
    from agent_ways.claude.proof import Evidence
    from agent_ways.claude.transcript import Row


def traces(rows: Sequence[Row], ids: tuple[str, ...], server: str) -> tuple[tuple[str, Trace], ...]:
    """What `rows`, a session's main transcript, show of the events with these ids.

    `server` is the name that the client knows us by. Of several proofs of one event (it was tried twice and both came
    through) the first counts.
    """
    if not ids:
        return ()
    arrived = {name for found in proof.arrivals(rows) for _, name in events_in(found, server)}
    shown: dict[str, Proof] = {}
    for found in proof.shown(rows):
        for _, name in events_in(found, server):
            shown.setdefault(name, Proof(kind=found.kind, at_ms=found.at, line=found.line))
    return tuple((name, _trace(rows, name in arrived, shown.get(name))) for name in ids)


def events_in(found: Evidence, server: str) -> tuple[tuple[str, str], ...]:
    """The kinds and ids of our events that a line shows; none on a line of a kind that proves nothing of ours."""
    if found.kind == proof.LOOP:
        return named_in_notification(found.text)
    if found.kind == proof.ARRIVED:
        return named_in(found.text) + named_in_notification(found.text)
    ours = found.kind == proof.PEER or (found.kind == proof.CHANNEL and found.source == server)
    return named_in(found.text) if ours else ()


def _trace(rows: Sequence[Row], arrived: bool, shown: Proof | None) -> Trace:
    if shown is None or shown.at_ms is None:
        return Trace(arrived=arrived, proof=shown)
    answer, at = first_answer(rows, shown.at_ms)
    compacted = any(
        _compacts(row) and row.at is not None and shown.at_ms <= row.at and (at is None or row.at <= at) for row in rows
    )
    return Trace(arrived=arrived, proof=shown, answer=answer, compacted=compacted)


def first_answer(rows: Sequence[Row], after_ms: int) -> tuple[CacheEvidence | None, int | None]:
    """The usage of the main thread's first answer at or after a time, and its time; placeholder rows are none."""
    answers: dict[str, list[Row]] = {}
    for row in rows:
        name = text_in(row.raw.get("message"), "id")
        if row.type == "assistant" and not row.side and name and row.at is not None and row.at >= after_ms:
            answers.setdefault(name, []).append(row)
    for found in sorted(answers.values(), key=lambda group: min((row.at or 0, row.line) for row in group)):
        evidence = cache_evidence(found)
        if evidence.context_tokens:
            return evidence, min(row.at or 0 for row in found)
    return None, None


def _compacts(row: Row) -> bool:
    return row.type == "system" and text_in(row.raw, "subtype") in ("compact_boundary", "microcompact_boundary")
