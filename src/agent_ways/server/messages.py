"""Lines to JSON-RPC messages and back.

Owns the shape of the wire: what is a request, a notification, a response, an error (SRV-5). Must not know any
method. Everything here is a function of its arguments.
"""

from __future__ import annotations

from agent_ways.base.jsontext import NotJSONError, dumps, loads
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    Id = str | int

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602


class Request(Value):
    """A message that wants an answer under its `id`, which is echoed exactly, type kept."""

    __slots__ = ("id", "method", "params")

    def __init__(self, id: Id, method: str, params: dict[str, Any]) -> None:  # noqa: A002 - the field's own word
        self.id: Final = id
        self.method: Final = method
        self.params: Final = params


class Notification(Value):
    """A message that is never answered, whatever it says."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method: Final = method
        self.params: Final = params


class Malformed(Value):
    """A line that gets an error and nothing else; `id` is None where the line has no usable one."""

    __slots__ = ("code", "id", "message")

    def __init__(self, id: Id | None, code: int, message: str) -> None:  # noqa: A002 - the field's own word
        self.id: Final = id
        self.code: Final = code
        self.message: Final = message


def parse(line: bytes) -> Request | Notification | Malformed | None:
    """What one line says; None where nothing is to be done (a blank line, a response).

    Bytes that are no UTF-8 become U+FFFD: a bad byte in somebody's text must not cost the call. `"params": null`
    counts as no params, because clients write it so.
    """
    try:
        raw = loads(line.decode("utf-8", "replace"))
    except NotJSONError as error:
        return Malformed(None, PARSE_ERROR, f"not JSON: {error}") if line.strip() else None
    if not isinstance(raw, dict):
        what = "a batch; send one message a line" if isinstance(raw, list) else "not an object"
        return Malformed(None, INVALID_REQUEST, f"the message is {what}")
    if "method" not in raw and ("result" in raw or "error" in raw):
        return None
    return _message(raw)


def _message(raw: dict[str, Any]) -> Request | Notification | Malformed:
    wants_answer = "id" in raw
    id_: Id | None = raw["id"] if wants_answer and type(raw["id"]) in (str, int) else None
    if wants_answer and id_ is None:
        return Malformed(None, INVALID_REQUEST, "an id is a string or a whole number")
    if raw.get("jsonrpc") != "2.0":
        return Malformed(id_, INVALID_REQUEST, 'the message has no "jsonrpc": "2.0"')
    method = raw.get("method")
    if type(method) is not str:
        return Malformed(id_, INVALID_REQUEST, "the message has no method")
    params = raw.get("params")
    if params is None:
        params = {}
    if id_ is None:
        return Notification(method, params if type(params) is dict else {})
    if type(params) is not dict:
        return Malformed(id_, INVALID_PARAMS, "params is an object")
    return Request(id_, method, params)


def result_line(id_: Id, result: str) -> bytes:
    """The answer to a request; `result` is JSON text."""
    return f'{{"jsonrpc":"2.0","id":{dumps(id_)},"result":{result}}}\n'.encode("ascii")


def error_line(id_: Id | None, code: int, message: str) -> bytes:
    """The refusal of a request, or of a line that was none (`id_` None)."""
    error = dumps({"code": code, "message": message})
    return f'{{"jsonrpc":"2.0","id":{dumps(id_)},"error":{error}}}\n'.encode("ascii")


def notification_line(method: str, params: dict[str, Any]) -> bytes:
    """A message of ours that wants no answer."""
    return f'{{"jsonrpc":"2.0","method":{dumps(method)},"params":{dumps(params)}}}\n'.encode("ascii")
