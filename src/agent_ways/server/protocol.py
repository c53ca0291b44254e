"""The protocol core: bytes in, events and bytes out, no file, clock, process or thread.

Owns what a client may ask and what it is told (SRV-2, SRV-3, SRV-5, SRV-7). Feed it what was read with
`receive`; it gives back events in order. `Reply` holds bytes to write; `Call` wants a tool run and its result
handed to `answer`. Must not know modules, sessions, or where the bytes go.

The revisions that it speaks are those of the client, not of the specification's head: a channel server connected
on 2026-07-28 keeps its tools and silently loses its channel (seen on 2.1.332), so that one is never accepted and
`server/discover` is an unknown method.
"""

from __future__ import annotations

from agent_ways.base.jsontext import dumps
from agent_ways.base.values import Value
from agent_ways.server import messages
from agent_ways.server.lines import LineBuffer
from agent_ways.server.messages import Malformed, Notification, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final, TypeAlias

    from agent_ways.server.messages import Id

    Event: TypeAlias = "Reply | Call | Initialized | Listed | Cancelled"

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Protocol revisions implemented, newest first."""

SERVER_NAME = "agent-ways"
CHANNEL_EVENT = "notifications/claude/channel"


class Reply(Value):
    """Bytes to write: one line, the answer to the request `id` (None: to a line that was no request)."""

    __slots__ = ("data", "id")

    def __init__(self, id: Id | None, data: bytes) -> None:  # noqa: A002 - the field's own word
        self.id: Final = id
        self.data: Final = data


class Call(Value):
    """A tool is to be run; hand its result to `Protocol.answer` with this `id`."""

    __slots__ = ("arguments", "id", "tool")

    def __init__(self, id: Id, tool: str, arguments: dict[str, Any]) -> None:  # noqa: A002 - the field's own word
        self.id: Final = id
        self.tool: Final = tool
        self.arguments: Final = arguments


class Initialized(Value):
    """The client has ended the handshake: modules may start. Given once."""

    __slots__ = ()


class Listed(Value):
    """tools/list was answered; the client registers the channel shortly after its first answer."""

    __slots__ = ()


class Cancelled(Value):
    """The client no longer wants the answer to request `id`: a line not yet written must not go."""

    __slots__ = ("id",)

    def __init__(self, id: Id) -> None:  # noqa: A002 - the field's own word
        self.id: Final = id


class Protocol:
    """One client's connection.

    `tools` is the constant that tools/list answers: the names, and the JSON of each entry.
    """

    __slots__ = ("_initialize", "_initialized", "_lines", "_names", "_tools_list")

    def __init__(self, *, version: str, instructions: str, tools: Iterable[tuple[str, str]]) -> None:
        listed = tuple(tools)
        self._lines = LineBuffer()
        self._names: Final = tuple(name for name, _ in listed)
        self._tools_list: Final = '{"tools":[' + ",".join(entry for _, entry in listed) + "]}"
        self._initialize: Final = {
            "capabilities": {"tools": {}, "experimental": {"claude/channel": {}}},
            "serverInfo": {"name": SERVER_NAME, "title": SERVER_NAME, "version": version},
            "instructions": instructions,
        }
        self._initialized = False

    def receive(self, data: bytes) -> list[Event]:
        """What the bytes that were read mean, in order. Empty `data` is the end of input."""
        lines = self._lines.feed(data) if data else self._lines.close()
        events: list[Event] = []
        for line in lines:
            message = messages.parse(line)
            if isinstance(message, Request):
                events += self._request(message)
            elif isinstance(message, Notification):
                events += self._notification(message)
            elif isinstance(message, Malformed):
                events.append(Reply(message.id, messages.error_line(message.id, message.code, message.message)))
        return events

    def answer(self, id_: Id, result: str) -> Reply:
        """The line that ends the call `id_`; `result` is JSON text."""
        return Reply(id_, messages.result_line(id_, result))

    def _request(self, request: Request) -> list[Event]:
        method = request.method
        if method == "tools/call":
            return [self._call(request)]
        if method == "ping":
            return [self.answer(request.id, "{}")]
        if method == "tools/list":
            return [self.answer(request.id, self._tools_list), Listed()]
        if method == "initialize":
            return [self.answer(request.id, dumps({"protocolVersion": _revision(request.params), **self._initialize}))]
        return [_refusal(request.id, messages.METHOD_NOT_FOUND, f"there is no method {method[:100]}")]

    def _call(self, request: Request) -> Event:
        name, arguments = request.params.get("name"), request.params.get("arguments")
        if type(name) is not str:
            return _refusal(request.id, messages.INVALID_PARAMS, "name is missing: which tool?")
        if name not in self._names:
            return _refusal(request.id, messages.INVALID_PARAMS, unknown_tool(name, self._names))
        if arguments is None:
            arguments = {}
        if type(arguments) is not dict:
            return _refusal(request.id, messages.INVALID_PARAMS, "arguments is an object")
        return Call(request.id, name, arguments)

    def _notification(self, notification: Notification) -> list[Event]:
        if notification.method == "notifications/initialized" and not self._initialized:
            self._initialized = True
            return [Initialized()]
        if notification.method == "notifications/cancelled":
            id_ = notification.params.get("requestId")
            if type(id_) is str or type(id_) is int:
                return [Cancelled(id_)]
        return []


def channel_event(content: str, meta: dict[str, str]) -> bytes:
    """The line that pushes an event through the client's channel.

    The only notification that this server can send. A meta key that the client would drop, a value that would
    make it drop the whole event (2.1.285, 2.1.332), or the key `source`, which is the client's own, raises
    `ValueError`: that is a module's defect and must not pass as a push.
    """
    for key, value in meta.items():
        if not _is_meta_key(key) or key == "source":
            raise ValueError(f"a channel event can not carry the meta key {key!r}")
        if type(value) is not str:
            raise ValueError(f"the meta value of {key} is no text")
    if type(content) is not str:
        raise ValueError("the content of a channel event is text")
    return messages.notification_line(CHANNEL_EVENT, {"content": content, "meta": meta})


def unknown_tool(name: str, known: tuple[str, ...]) -> str:
    """The refusal of a tool that is not there, naming near matches."""
    near = _near(name, known)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; there are: {', '.join(known)}"
    return f"there is no tool {name[:100]}{hint}"


def _near(name: str, known: tuple[str, ...]) -> list[str]:
    import difflib  # only on this road: a wrong name is rare, and difflib is not cheap

    return difflib.get_close_matches(name[:100], known, n=3, cutoff=0.6)


def _revision(params: dict[str, Any]) -> str:
    asked = params.get("protocolVersion")
    return asked if asked in REVISIONS else REVISIONS[0]


def _refusal(id_: Id, code: int, message: str) -> Reply:
    return Reply(id_, messages.error_line(id_, code, message))


def _is_meta_key(key: object) -> bool:
    if type(key) is not str or not key:
        return False
    rest = key.replace("_", "a")
    return rest.isascii() and rest.isalnum() and rest == rest.lower() and not key[0].isdigit()
