"""Whether a session is idle: nothing runs, nothing waits for the person (ID-9).

Owns the rule. Pure: the session's record and the rows of its transcript in, a verdict with its reason out. Must
not know who asks. Both age at once: whoever acts on the verdict reads both again just before.

The record alone is not enough: public reports have a session with an open permission prompt reading `idle`.
"""

from __future__ import annotations

from agent_ways.base.values import Value
from agent_ways.claude.prompts import is_interruption
from agent_ways.claude.transcript import blocks, text_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from agent_ways.claude.records import SessionRecord
    from agent_ways.claude.transcript import Row, Rows

AT_REST = ("idle", "shell")
"""`shell`: the turn is over and a background command of it still runs (2.1.332)."""


class Idle(Value):
    """A verdict: `state`, and the `reason` for it in a few words."""

    __slots__ = ("reason", "state")

    def __init__(self, state: bool, reason: str) -> None:
        self.state: Final = state
        self.reason: Final = reason

    def __bool__(self) -> bool:
        return self.state


def idle(record: SessionRecord, rows: Rows | None) -> Idle:
    """Whether the session of `record` is idle. `rows` is its transcript's tail, None where there is none yet."""
    status = record.status
    if not status:
        return Idle(False, "the session's record names no status")
    if status not in AT_REST:
        waiting = f" for: {record.waiting_for}" if record.waiting_for else ""
        return Idle(False, f"the session is {status}{waiting}")
    if rows is not None and rows.problem:
        return Idle(False, f"the transcript is unknown: {rows.problem}")
    call = unanswered(rows or (), record.started_at or 0)
    if call:
        return Idle(False, f"a tool call has no result yet: {call}")
    return Idle(True, f"the session's record says {status}")


def unanswered(rows: Iterable[Row], started: int = 0) -> str:
    """The name of a tool that the newest answer calls and that has no result yet; empty where there is none.

    Earlier answers do not matter: the client asks the model again only once every call has its result. Nor does
    one from before `started` (ms since the epoch, when this process began): a killed client left it open, and the
    one that resumed the session does not wait for it.
    """
    main = [row for row in rows if not row.side and not (row.at is not None and row.at < started)]
    answers = [row for row in main if row.type == "assistant"]
    if not answers:
        return ""
    last = max(answers, key=_order)
    newest = [row for row in answers if row is last or _message(row) == _message(last) != ""]
    results = {
        text_in(block, "tool_use_id")
        for row in main
        if row.type == "user"
        for block in blocks(row)
        if block.get("type") == "tool_result"
    }
    if any(is_interruption(row) and _order(row) > _order(last) for row in main):
        return ""
    for row in newest:
        for block in blocks(row):
            if block.get("type") == "tool_use" and text_in(block, "id") not in results:
                return text_in(block, "name") or "unnamed"
    return ""


def _order(row: Row) -> tuple[int, int]:
    return row.at or 0, row.line


def _message(row: Row) -> str:
    return text_in(row.raw.get("message"), "id")
