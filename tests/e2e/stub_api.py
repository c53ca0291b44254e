"""A stub of the Messages API on loopback: it answers by script, keeps every request, and wakes who waits for one.

The script stands in the newest text that the client sends as its user's, typed or pushed:

    CALL:tool_name:{json}   the model calls that tool with that input
    SAY:some text           the model answers with exactly that text, up to the end of the line
    SLEEP:seconds           the answer comes that much later (before CALL or SAY)
    HOLD:word               the answer comes when the test releases that word (before CALL or SAY)
    COLD                    nothing of the prompt came from the cache, all of it is written (before CALL or SAY)
    ERR:status              the API answers with that HTTP status

A `habit` is a script for texts that bring none: what the model does by itself when it reads something. Any other
text, and a tool's result, gets a plain sentence. Must not know what is under test.
"""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from tests.e2e.waiting import PATIENCE, TooLongError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Headers that hold a secret on a real machine; here they hold a made-up one, kept only by kind.
_SECRET = ("authorization", "x-api-key")


@dataclass(frozen=True)
class ApiRequest:
    """One request as it came in."""

    at: float
    method: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def is_message(self) -> bool:
        return self.path == "/v1/messages" and isinstance(self.body, dict)

    @property
    def session(self) -> str:
        """The conversation that the client says it belongs to, by its header (seen on 2.1.285 and 2.1.332)."""
        return self.headers.get("x-claude-code-session-id", "")

    @property
    def tools(self) -> list[str]:
        """Names of the tools whose schema is in the request."""
        return [tool.get("name", "") for tool in self.body.get("tools") or []] if self.is_message else []

    @property
    def is_turn(self) -> bool:
        """True for a request of a conversation's turn; the client's own small questions (a title) offer no tools."""
        return bool(self.tools)

    def texts(self) -> list[str]:
        """Every text that the model is given, in order: system, then messages, tool results included."""
        return list(_strings(self.body)) if self.is_message else []

    def mentions(self, needle: str) -> bool:
        return any(needle in text for text in self.texts())

    def last_user_texts(self) -> list[str]:
        """The text blocks of the newest user message, without the client's own reminders."""
        blocks = _blocks(_newest_user(self.body)) if self.is_message else []
        texts = [block.get("text", "") for block in blocks if block.get("type") == "text"]
        return [text for text in texts if not text.lstrip().startswith("<system-reminder>")]

    def tool_result(self, tool_use_id: str) -> str | None:
        """What the client says that tool call gave, as one text; None when this request does not hold it."""
        for message in self.body.get("messages") or [] if self.is_message else []:
            for block in _blocks(message):
                if block.get("type") == "tool_result" and block.get("tool_use_id") == tool_use_id:
                    content = block.get("content")
                    parts = [content] if isinstance(content, str) else _strings(content)
                    return "\n".join(parts)
        return None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key in ("text", "content", "system", "messages"):
                yield from _strings(one)


def _blocks(message: Any) -> list[dict[str, Any]]:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or [] if isinstance(block, dict)]


def _newest_user(body: Any) -> Any:
    messages = body.get("messages") or []
    return next((message for message in reversed(messages) if message.get("role") == "user"), None)


@dataclass(frozen=True)
class Answer:
    """What the stub said to one turn's request: the ids are those that the client's transcript then holds."""

    request: ApiRequest
    message_id: str
    tool_use_id: str | None


@dataclass(frozen=True)
class Plan:
    """What to answer, and after how long."""

    text: str = "stub: hello"
    tool: tuple[str, Any] | None = None
    status: int = 200
    delay: float = 0.0
    hold: str = ""
    cold: bool = False


_SCRIPT = re.compile(
    r"(?:^|[\s>])(?:CALL:(?P<tool>[\w.-]+):(?P<input>\{.*\})|SAY:(?P<say>[^\n<]*)|ERR:(?P<status>\d+))", re.DOTALL
)
_SLEEP = re.compile(r"SLEEP:([0-9.]+)")
_HOLD = re.compile(r"HOLD:(\w+)")
_COLD = re.compile(r"\bCOLD\b")


def plan(body: Any, habits: Mapping[str, str] | None = None) -> Plan:
    """The answer that a request's script asks for; `habits` are scripts by what stands in the newest text."""
    blocks = _blocks(_newest_user(body))
    results = [index for index, block in enumerate(blocks) if block.get("type") == "tool_result"]
    fresh = blocks[results[-1] + 1 :] if results else blocks
    texts = [block.get("text", "") for block in fresh if block.get("type") == "text"]
    texts = [text for text in texts if not text.lstrip().startswith("<system-reminder>")]
    if not texts:
        return Plan(text="stub: got the tool result")
    for given in reversed(texts):
        text = given
        found = _SCRIPT.search(text)
        if found is None:
            text = next((script for needle, script in (habits or {}).items() if needle in given), given)
            found = _SCRIPT.search(text)
        slept, held = _SLEEP.search(text), _HOLD.search(text)
        cold = _COLD.search(text) is not None
        when = Plan(delay=float(slept[1]) if slept else 0.0, hold=held[1] if held else "", cold=cold)
        if found is None:
            if slept or held or cold:
                return when
            continue
        if found["tool"] and body.get("tools"):
            return replace(when, tool=(found["tool"], json.JSONDecoder().raw_decode(found["input"])[0]))
        if found["status"]:
            return replace(when, status=int(found["status"]))
        return replace(when, text=found["say"] or "stub: hello")
    return Plan()


@dataclass
class StubApi:
    """The stub, as a context manager; `requests` grows while it runs."""

    requests: list[ApiRequest] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    habits: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._news = threading.Condition()
        self._released: set[str] = set()
        self._over = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with self._news:
            self._news.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(
        self,
        what: str,
        wanted: Callable[[ApiRequest], object],
        *,
        since: int = 0,
        patience: float = PATIENCE,
    ) -> ApiRequest:
        """The first request from number `since` on that `wanted` likes, as soon as it is there."""

        with self._news:
            request = self._news.wait_for(
                lambda: next((one for one in self.requests[since:] if wanted(one)), None), patience
            )
        if request is None:
            raise TooLongError(f"waited {patience:.0f} s for the request of {what}; {self._came(since)}")
        return request

    def wait_answer(self, what: str, wanted: Callable[[Answer], object], *, since: int = 0) -> Answer:
        """The first answer from number `since` on that `wanted` likes, as soon as it is decided."""
        with self._news:
            answer = self._news.wait_for(
                lambda: next((one for one in self.answers[since:] if wanted(one)), None), PATIENCE
            )
        if answer is None:
            raise TooLongError(f"waited {PATIENCE:.0f} s for the answer to {what}; {self._came(0)}")
        return answer

    def release(self, word: str) -> None:
        """Let the answers come that wait for `word`, now and from now on."""
        with self._news:
            self._released.add(word)
            self._news.notify_all()

    def _came(self, since: int) -> str:
        return "came instead:" + "".join(
            f"\n  {one.path} {one.last_user_texts()[-1:]}" for one in self.requests[since:]
        )

    # -- for the handler ------------------------------------------------------------------------------------------

    def note(self, request: ApiRequest) -> None:
        with self._news:
            self.requests.append(request)
            self._news.notify_all()

    def pause(self, todo: Plan) -> None:
        self._over.wait(todo.delay)
        if todo.hold:
            with self._news:
                self._news.wait_for(lambda: self._over.is_set() or todo.hold in self._released)

    def decide(self, request: ApiRequest, *, tool: bool) -> Answer:
        """Fresh ids for the answer to a request, kept and told to who waits for it."""
        with self._news:
            number = len(self.answers) + 1
            answer = Answer(request, f"msg_stub{number:06d}", f"toolu_stub{number:06d}" if tool else None)
            self.answers.append(answer)
            self._news.notify_all()
            return answer


def _usage(body: Any, *, cold: bool = False) -> dict[str, Any]:
    """Token counts as the API would give them: the prompt read from cache, 200 written at the tier asked for.

    Where the cache was `cold`, the whole prompt is written.
    """
    text = json.dumps(body)
    hour = '"ttl": "1h"' in text
    prompt = max(1, len(text) // 4)
    written = 200 + prompt * cold
    return {
        "input_tokens": 10,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": 0 if cold else prompt,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 0 if hour else written,
            "ephemeral_1h_input_tokens": written * hour,
        },
        "output_tokens": 12,
        "service_tier": "standard",
    }


def _events(message: dict[str, Any], block: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The message as the stream of events that the API sends."""
    empty, delta = (
        ({**block, "text": ""}, {"type": "text_delta", "text": block["text"]})
        if block["type"] == "text"
        else ({**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
    )
    yield "message_start", {"message": {**message, "content": [], "stop_reason": None}}
    yield "content_block_start", {"index": 0, "content_block": empty}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": stop, "usage": {"output_tokens": 12}}
    yield "message_stop", {}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, stub: StubApi) -> None:
        self.stub = stub
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing on stderr: the requests are kept by the stub."""

    def _take(self) -> ApiRequest:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {k.lower(): v for k, v in self.headers.items() if k.lower() not in _SECRET}
        request = ApiRequest(time.time(), self.command, self.path.split("?")[0], headers, body)
        self.server.stub.note(request)
        return request

    def _json(self, status: int, answer: Any) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_HEAD(self) -> None:
        self._take()
        self._json(200, {})

    def do_GET(self) -> None:
        if self._take().path.startswith("/v1/models"):
            self._json(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})
        else:
            self._error(404)

    def do_POST(self) -> None:
        request = self._take()
        if request.is_message:
            self._message(request)
        elif request.path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": 1000})
        else:
            self._error(404)

    def _error(self, status: int) -> None:
        self._json(status, {"type": "error", "error": {"type": "api_error", "message": "stub"}})

    def _message(self, request: ApiRequest) -> None:
        body = request.body
        todo = plan(body, self.server.stub.habits)
        self.server.stub.pause(todo)
        if todo.status != 200:
            self._error(todo.status)
            return
        answer = self.server.stub.decide(request, tool=todo.tool is not None)
        block: dict[str, Any] = {"type": "text", "text": todo.text}
        if todo.tool:
            name, given = todo.tool
            block = {"type": "tool_use", "id": answer.tool_use_id, "name": name, "input": given}
        message = {
            "id": answer.message_id,
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "stub"),
            "content": [block],
            "stop_reason": "tool_use" if todo.tool else "end_turn",
            "stop_sequence": None,
            "usage": _usage(body, cold=todo.cold),
        }
        if body.get("stream"):
            self._stream(message, block)
        else:
            self._json(200, message)

    def _stream(self, message: dict[str, Any], block: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("request-id", f"req_{message['id']}")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for name, event in _events(message, block):
                self.wfile.write(f"event: {name}\ndata: {json.dumps({'type': name, **event})}\n\n".encode())
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the person pressed Escape: the client hung up on its answer
        self.close_connection = True
