"""What of ours is shown by a transcript to have reached the model, and by which path.

Owns which kinds of line are proof (the last column of the conduit table) and which are only arrival. Pure: rows
in, small values out. Must not know signals, headers or states: whoever claimed something looks for its own
header in the `text` of evidence of the right kind. Looking for an id anywhere else in a transcript is no proof:
peers quote ids, tools print files that hold them, and the client stores request bodies beside its rows.

Seen to be so on 2.1.285 and 2.1.332. A subagent's rows never count.
"""

from __future__ import annotations

from agent_ways.base.values import Value
from agent_ways.claude.transcript import blocks, text_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from typing import Any, Final

    from agent_ways.claude.transcript import Row

CHANNEL = "channel"
"""Given to the model through a channel: a turn of its own, or absorbed into a running one."""
PEER = "peer"
"""Given through the session's inbox socket, in either of the same two ways."""
LOOP = "loop"
"""Given as a task's notification: what the Monitor tool makes of a line of the sensor loop."""
HOOK = "hook"
"""Given as a hook's answer: the drain, and what a session is told at its start."""
TOOL = "tool"
"""Given as a tool's result."""
ARRIVED = "arrived"
"""In the client's queue. It may still be dropped by a hook, a kill or the person; never proof."""

_KIND_OF_ORIGIN = {"channel": CHANNEL, "peer": PEER, "task-notification": LOOP}
_FEEDBACK = "Stop hook feedback:\n"


class Evidence(Value):
    """One line that shows something, as the model was given it.

    `kind` is one of this module's constants. `at` is the line's own time in ms since the epoch (a message that
    was absorbed into a running turn bears the time of its arrival), None where it has none. `text` is what was
    given. `source` tells by whom: the server's name (channel), the posting pid (peer), the hook's event (hook),
    the tool's name (tool); else empty. `line` is the byte offset of the line in its transcript.
    """

    __slots__ = ("at", "kind", "line", "source", "text")

    def __init__(self, *, kind: str, at: int | None, text: str, source: str, line: int) -> None:
        self.kind: Final = kind
        self.at: Final = at
        self.text: Final = text
        self.source: Final = source
        self.line: Final = line


def channel_proof(rows: Iterable[Row], server: str) -> Evidence | None:
    """The newest line that shows a channel event of `server` (its name in the client's config) given to the model."""
    return _newest(found for found in shown(rows) if found.kind == CHANNEL and found.source == server)


def peer_proof(rows: Iterable[Row], pid: int | None = None) -> Evidence | None:
    """The newest line that shows a message from the inbox socket given to the model.

    With `pid`, only one that the client verified to be posted by that process.
    """
    wanted = None if pid is None else str(pid)
    return _newest(found for found in shown(rows) if found.kind == PEER and wanted in (None, found.source))


def shown(rows: Iterable[Row]) -> tuple[Evidence, ...]:
    """All that `rows` show given to the model by channel, inbox socket, loop or hook, in the order of the lines."""
    return tuple(found for row in rows if not row.side and (found := _shown(row)) is not None)


def arrivals(rows: Iterable[Row]) -> tuple[Evidence, ...]:
    """What `rows` show to have come into the client's queue, whatever became of it then."""
    return tuple(
        Evidence(kind=ARRIVED, at=row.at, text=text_in(row.raw, "content"), source="", line=row.line)
        for row in rows
        if row.type == "queue-operation" and not row.side and text_in(row.raw, "operation") == "enqueue"
    )


def calls(rows: Iterable[Row]) -> dict[str, str]:
    """The tool calls that the model made in `rows`: the name of the tool by the call's id."""
    return {
        text_in(block, "id"): text_in(block, "name")
        for row in rows
        if row.type == "assistant" and not row.side
        for block in blocks(row)
        if block.get("type") == "tool_use" and text_in(block, "id")
    }


def tool_results(rows: Iterable[Row], tools: Container[str], made: Mapping[str, str]) -> tuple[Evidence, ...]:
    """The results of `tools` (names as the model calls them) that `rows` show given to the model.

    `made` are the calls known, `calls` of these rows and of earlier ones: a result alone does not name its tool,
    and its line may be written before the call's.
    """
    return tuple(
        Evidence(kind=TOOL, at=row.at, text=_text(block.get("content")), source=name, line=row.line)
        for row in rows
        if row.type == "user" and not row.side
        for block in blocks(row)
        if block.get("type") == "tool_result" and (name := made.get(text_in(block, "tool_use_id"), "")) in tools
    )


def _shown(row: Row) -> Evidence | None:
    if row.type == "user":
        kind = _KIND_OF_ORIGIN.get(row.origin)
        text = _text([block for block in blocks(row) if block.get("type") == "text"])
        if kind is None and not row.origin and text.startswith(_FEEDBACK):
            return Evidence(kind=HOOK, at=row.at, text=text, source="Stop", line=row.line)
        return None if kind is None else _given(row, kind, text, row.raw.get("origin"))
    attachment = row.raw.get("attachment")
    if row.type != "attachment" or not isinstance(attachment, dict):
        return None
    name = text_in(attachment, "type")
    if name == "queued_command":
        kind = _KIND_OF_ORIGIN.get(row.origin)
        return None if kind is None else _given(row, kind, _text(attachment.get("prompt")), attachment.get("origin"))
    if name == "hook_additional_context":
        text = _text(attachment.get("content"))
    elif name == "hook_blocking_error":
        text = text_in(attachment.get("blockingError"), "blockingError")
    else:
        return None
    return Evidence(kind=HOOK, at=row.at, text=text, source=text_in(attachment, "hookEvent"), line=row.line)


def _given(row: Row, kind: str, text: str, origin: Any) -> Evidence:
    source = row.server
    if kind == PEER and isinstance(origin, dict):
        pid = origin.get("verifiedPeerPid")
        source = str(pid) if isinstance(pid, int) else ""
    return Evidence(kind=kind, at=row.at, text=text, source=source, line=row.line)


def _text(content: object) -> str:
    """A text, or the texts of a list of texts and text blocks, one below the other."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(part if isinstance(part, str) else text_in(part, "text") for part in content)


def _newest(found: Iterable[Evidence]) -> Evidence | None:
    newest: Evidence | None = None
    for evidence in found:
        if newest is None or (evidence.at or 0, evidence.line) >= (newest.at or 0, newest.line):
            newest = evidence
    return newest
