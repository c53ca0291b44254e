"""When the operator was last there (ID-8).

Owns what counts as a person's act in a session: a line of the client's prompt history under the session's id, a
transcript entry whose origin is human, the entry that an interruption leaves. Must not know what follows from
it. Judging is pure; `history_ms` alone reads a file, and writes none.

Neither source is enough alone (2.1.285, 2.1.332): the history skips a prompt identical to the one before it, and
commands that the client answers itself leave no human entry in the transcript. An entry without an origin is
never taken for a person's: Stop-hook feedback, tool results and the client's own notes have none.
"""

from __future__ import annotations

import os

from agent_ways.claude.transcript import blocks, objects, open_file, tail_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from agent_ways.claude.transcript import Pread, Row

_WINDOWS = (64 << 10, 512 << 10, 4 << 20)
"""Bytes from the history's end looked at, the next only where the one before holds nothing of the session."""

_INTERRUPTIONS = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")


def last_prompt_ms(history: int | None, rows: Iterable[Row], previous: int | None = None) -> int | None:
    """When the operator last did something in this session, ms since the epoch; None for never, as far as is known.

    `history` is what `history_ms` found, `rows` the session's main transcript, `previous` the last answer.
    """
    return newest(previous, history, in_transcript(rows))


def newest(previous: int | None, *found: int | None) -> int | None:
    """The operator's clock moved forward by what was `found`, and never back: a cut-off file is no new prompt."""
    known = [at for at in (previous, *found) if at is not None]
    return max(known) if known else None


def in_transcript(rows: Iterable[Row]) -> int | None:
    """The newest act of the operator in the main transcript: a prompt (also into a running turn), an interruption."""
    return newest(None, *(row.at for row in rows if _by_operator(row)))


def in_history(entries: Iterable[dict[str, Any]], session: str) -> int | None:
    """The newest of the history's `entries` that name `session`; one that names none belongs to nobody."""
    return newest(None, *(_time(entry) for entry in entries if session and entry.get("sessionId") == session))


def history_ms(config_dir: str, session: str, pread: Pread = os.pread) -> int | None:
    """The time of the newest prompt of `session` in the client's history, None where there is none.

    At most the last 4 MiB are looked at. A history that can not be read is none: the transcript remains.
    """
    name = session.encode("utf-8", "replace")
    try:
        fd, size = open_file(os.path.join(config_dir, "history.jsonl"))
    except (OSError, ValueError):
        return None
    try:
        for window in _WINDOWS:
            _, data = tail_lines(fd, size, window, pread)
            ours = b"\n".join(line for line in data.split(b"\n") if name in line)
            found = in_history((entry for _, entry in objects(ours) if entry is not None), session)
            if found is not None or window >= size:
                return found
    except OSError:
        return None
    finally:
        os.close(fd)
    return None


def is_interruption(row: Row) -> bool:
    """Whether `row` is exactly what the client writes when the operator interrupts an answer or a tool."""
    if row.type != "user" or row.side or row.raw.get("origin") is not None:
        return False
    texts = blocks(row)
    return len(texts) == 1 and texts[0].get("type") == "text" and texts[0].get("text") in _INTERRUPTIONS


def _by_operator(row: Row) -> bool:
    if row.side:
        return False
    if row.type == "attachment":
        attachment = row.raw.get("attachment")
        queued = isinstance(attachment, dict) and attachment.get("type") == "queued_command"
        return queued and row.origin == "human"
    return row.type == "user" and (row.origin == "human" or is_interruption(row))


def _time(entry: dict[str, Any]) -> int | None:
    at = entry.get("timestamp")
    return at if isinstance(at, int) and not isinstance(at, bool) and at > 0 else None
