"""Transcript and history rows as Claude Code writes them, for tests: builders, and strategies over them.

Each builder returns one row as a dict with the keys that 2.1.285 and 2.1.332 both write (and those of 2.1.332
alone where the product reads them); `tests/claude/fixtures` has what they are modelled on. Times are ms since the
epoch. Nothing here reads a file of the product.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SESSION = "00000000-0000-4000-8000-00000000abcd"
SERVER = "agent-ways"
NOON = 1_796_040_000_000
"""2026-11-30T12:00:00Z, from which generated times count."""


def iso(ms: int) -> str:
    """A time as the client writes it in transcripts."""
    seconds, rest = divmod(ms, 1000)
    moment = dt.datetime.fromtimestamp(seconds, tz=dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"


def lines(rows: Iterable[dict[str, Any]]) -> bytes:
    """Rows as a file holds them: one compact JSON object a line, characters above ASCII as they are."""
    return b"".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "surrogatepass")
        + b"\n"
        for row in rows
    )


def entry(kind: str, at: int, *, side: bool = False, **more: Any) -> dict[str, Any]:
    """A row of the conversation itself: what `user`, `assistant`, `attachment` and `system` rows have in common."""
    return {
        "parentUuid": None,
        "isSidechain": side,
        "type": kind,
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, repr((kind, at, side, sorted(more.items(), key=str))))),
        "timestamp": iso(at),
        "sessionId": SESSION,
        "cwd": "/home/person/proj",
        "version": "2.1.332",
        **more,
    }


def user(content: Any, at: int, origin: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A user row. Without an origin it is what hooks, tools and the client itself write."""
    if origin is not None:
        more["origin"] = origin
    return entry("user", at, message={"role": "user", "content": content}, **more)


def typed(text: str, at: int, **more: Any) -> dict[str, Any]:
    """A prompt that the operator typed."""
    return user(text, at, {"kind": "human"}, promptSource="typed", turnOrigin="human", **more)


def channel_event(text: str, at: int, server: str = SERVER, **more: Any) -> dict[str, Any]:
    """A channel event given to the model in a turn of its own."""
    content = f'<channel source="{server}">\n{text}\n</channel>'
    return user(content, at, {"kind": "channel", "server": server}, isMeta=True, turnOrigin="peer", **more)


def peer_message(text: str, at: int, pid: int = 4242, **more: Any) -> dict[str, Any]:
    """A message from the inbox socket given to the model in a turn of its own."""
    content = f"Another Claude session sent a message:\n{text}"
    origin = {"kind": "peer", "from": "unknown", "verifiedPeerPid": pid, "verifiedPeerProcStart": "77"}
    return user(content, at, origin, isMeta=True, turnOrigin="peer", **more)


def notification(line: str, at: int, **more: Any) -> dict[str, Any]:
    """A line of a Monitor command given to the model in a turn of its own."""
    content = f"<task-notification>\n<task-id>b1</task-id>\n<event>{line}</event>\n</task-notification>"
    return user(content, at, {"kind": "task-notification", "producer": "session-task"}, **more)


def queued(prompt: Any, at: int, origin: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What came in during a tool call and was given to the model with its result. `at` is when it came in."""
    attachment = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", "origin": origin}
    return entry("attachment", at, attachment=attachment, **more)


def enqueue(content: str, at: int) -> dict[str, Any]:
    """The row that says something is in the client's queue."""
    return {
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": iso(at),
        "sessionId": SESSION,
        "content": content,
    }


def stop_feedback(reason: str, at: int, **more: Any) -> dict[str, Any]:
    """What a Stop hook's `decision: block` becomes."""
    return user(f"Stop hook feedback:\n{reason}", at, isMeta=True, **more)


def hook_context(text: str, at: int, event: str = "Stop", **more: Any) -> dict[str, Any]:
    """What a hook's `additionalContext` becomes."""
    attachment = {"type": "hook_additional_context", "content": [text], "hookName": event, "hookEvent": event}
    return entry("attachment", at, attachment=attachment, **more)


def interruption(at: int, text: str = "[Request interrupted by user]", **more: Any) -> dict[str, Any]:
    """What Esc leaves behind once the model has begun to answer."""
    return user([{"type": "text", "text": text}], at, **more)


def usage(*, read: int = 0, write_1h: int = 0, write_5m: int = 0, fresh: int = 10, out: int = 12) -> dict[str, Any]:
    """An answer's token counts."""
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": write_1h + write_5m,
        "cache_read_input_tokens": read,
        "output_tokens": out,
        "cache_creation": {"ephemeral_1h_input_tokens": write_1h, "ephemeral_5m_input_tokens": write_5m},
    }


def assistant(message: str, at: int, content: Sequence[dict[str, Any]] = (), **more: Any) -> dict[str, Any]:
    """A row of an answer. `tokens` (see `usage`) may be given; the client writes one row for each block."""
    tokens = more.pop("tokens", usage(write_5m=200, read=13_000))
    blocks = list(content) or [{"type": "text", "text": "answer"}]
    return entry(
        "assistant",
        at,
        message={
            "id": message,
            "role": "assistant",
            "model": more.pop("model", "claude-opus-5-5"),
            "content": blocks,
            "usage": tokens,
        },
        **more,
    )


def tool_use(call: str, name: str = "Bash") -> dict[str, Any]:
    """A block in which the model calls a tool."""
    return {"type": "tool_use", "id": call, "name": name, "input": {}}


def tool_result(call: str, at: int, content: Any = "done", **more: Any) -> dict[str, Any]:
    """The row of a tool's result."""
    return user([{"type": "tool_result", "tool_use_id": call, "content": content}], at, **more)


def api_request(ref: str, at: int, source: str = "repl_main_thread", ttl: str | None = None) -> dict[str, Any]:
    """The row that 2.1.332 writes for each request."""
    value = {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}
    return {
        "type": "api-request",
        "id": ref,
        "timestamp": iso(at),
        "querySource": source,
        "cacheControl": [{"path": ["system", 0], "value": value}],
    }


def compact_boundary(at: int) -> dict[str, Any]:
    """The row that begins the conversation anew after a compaction."""
    return entry("system", at, subtype="compact_boundary", content="Conversation compacted")


def history_row(display: str, at: int, session: str | None = SESSION) -> dict[str, Any]:
    """A line of `history.jsonl`; old ones have no session id."""
    row: dict[str, Any] = {"display": display, "pastedContents": {}, "timestamp": at, "project": "/home/person/proj"}
    return row if session is None else {**row, "sessionId": session}


times = st.integers(NOON, NOON + 86_400_000)
texts = st.text('ab 1<>[]{}:"\\\n\u2028é日🦢', max_size=20)
"""Short texts of characters that matter to a reader of lines; a small alphabet, which is quick to draw from."""
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
_KEYS = st.sampled_from(
    (
        *("type", "uuid", "timestamp", "isSidechain", "origin", "attachment", "message", "content", "operation"),
        *("subtype", "requestRef", "id", "querySource", "promptCacheRequested", "isCompactSummary", "display"),
    )
)
odd_rows: st.SearchStrategy[dict[str, Any]] = st.dictionaries(_KEYS, json_values, max_size=8)
"""Rows whose known keys hold values of any type."""
junk_lines = st.sampled_from(
    [
        b"",
        b"   ",
        b"null",
        b"[1,2]",
        b'"text"',
        b"17",
        b"{",
        b'{"type":',
        b"\x00\x00\x00",
        b"\xff\xfe{}",
        b"NaN",
        b"[" * 5000,
        b'{"a":1}{"b":2}',
    ]
)
"""Lines that hold no row."""


@st.composite
def conversation_rows(draw: st.DrawFn) -> dict[str, Any]:
    """One well-formed row of any kind that matters here."""
    at = draw(times)
    text = draw(texts)
    side = draw(st.booleans())
    kind = draw(st.integers(0, 9))
    call = draw(st.sampled_from(["toolu_1", "toolu_2"]))
    made = (
        lambda: typed(text, at, isSidechain=side),
        lambda: channel_event(text, at, isSidechain=side),
        lambda: peer_message(text, at, isSidechain=side),
        lambda: queued(text, at, {"kind": "channel", "server": SERVER}, isSidechain=side),
        lambda: enqueue(text, at),
        lambda: stop_feedback(text, at, isSidechain=side),
        lambda: assistant(f"msg_{at % 7}", at, [tool_use(call)], isSidechain=side),
        lambda: tool_result(call, at, text, isSidechain=side),
        lambda: api_request(f"ref_{at % 7}", at),
        lambda: compact_boundary(at),
    )
    return made[kind]()


transcripts: st.SearchStrategy[list[dict[str, Any]]] = st.lists(conversation_rows() | odd_rows, max_size=8)
