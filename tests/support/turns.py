"""The client's turns: what it is doing, what waits in its queue, and what the model is given when.

Owns `Turns`: status, queue, open dialog, and the transcript rows that each step leaves, as 2.1.332 and 2.1.285
leave them. Must not know the server nor the inbox: an event comes in as text and origin.

`emit` gets `request` (what the model was given: the fake's stand-in for the API request) and `status`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.hooks import read_output
from tests.support.session_files import append_line, compact, history_row, new_id, transcript_path
from tests.support.transcript_rows import Rows, as_shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.loop import Loop, Timer
    from tests.support.plan import Plan
    from tests.support.session_record import SessionRecord

JSON = dict[str, Any]

HUMAN: JSON = {"kind": "human"}
DEQUEUE_SECONDS = 0.015
"""From an event's arrival in an idle session until its turn takes it, and what came with it."""


@dataclass(frozen=True)
class Queued:
    """Something that waits for the model: a prompt, a channel event or a peer message."""

    text: str
    origin: JSON
    sent_at: float
    blocked: bool = False
    command: str = field(default_factory=new_id)
    delivery: str = field(default_factory=new_id)

    def joins(self, other: Queued) -> bool:
        """Whether both go into one turn: consecutive events of one sender do, prompts do not."""
        same = all(self.origin.get(name) == other.origin.get(name) for name in ("kind", "server", "from"))
        return same and self.origin["kind"] != "human"


class Turns:
    """One session after another (`/clear`) of one client process."""

    def __init__(
        self,
        loop: Loop,
        plan: Plan,
        session_id: str,
        *,
        record: SessionRecord | None,
        emit: Callable[..., None],
        run_hook: Callable[[str, Callable[[JSON], None]], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.session_id = session_id
        self.queue: list[Queued] = []
        self.open_tools: dict[str, str] = {}
        self._loop = loop
        self._plan = plan
        self._record = record
        self._emit = emit
        self._run_hook = run_hook
        self._clock = clock
        self._rows = Rows(plan, session_id, clock)
        self._opened = False
        self._turn_since: float | None = None
        self._turn_timer: Timer | None = None
        self._dequeue_timer: Timer | None = None
        self._hook: object | None = None
        self._continued = False
        self._dialog: str | None = None
        self._shell = False
        self._last_typed: str | None = None
        self._attribution: JSON | None = None
        self._waiting_rows: list[tuple[str, str]] = []

    # ---- state

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._turn_since is not None

    @property
    def status(self) -> tuple[str, str | None]:
        """Status and what is waited for, as the record has them."""
        if self._dialog is not None:
            return "waiting", self._dialog
        if self.busy:
            return "busy", None
        return ("shell" if self._shell else "idle"), None

    def _show_status(self) -> None:
        status, waiting_for = self.status
        content = self._record.content if self._record else {}
        if self._record and (content.get("status"), content.get("waitingFor")) != (status, waiting_for):
            self._record.set_status(status, waiting_for)
            self._record.write()
        self._emit("status", status=status, waiting_for=waiting_for)

    # ---- what happens to the session

    def arrive(self, item: Queued) -> None:
        """An event or a peer message: into the queue, and on from there when the session can."""
        self._write(self._rows.enqueued(item.text))
        self.queue.append(item)
        self._look_at_queue()

    def type(self, text: str) -> None:
        """A prompt that a person types: at once, or behind the turn that runs."""
        item = Queued(text, HUMAN, self._clock())
        if self.busy or self._dialog is not None:
            self._write(self._rows.enqueued(text))
            self.queue.append(item)
        else:
            self._begin([item])

    def finish(self, answer: str = "ok") -> None:
        """The model has said this and stops; a Stop hook may let it go on. What waited starts the next turn."""
        if self._turn_since is None or self._hook is not None:
            return
        if self._turn_timer:
            self._turn_timer.cancel()
        self._say([{"type": "text", "text": answer}], "end_turn")
        if self._plan.stop_hook:
            self._run_stop_hook(answer)
        else:
            self._end_turn()

    def _run_stop_hook(self, answer: str) -> None:
        said: JSON = {
            "session_id": self.session_id,
            "transcript_path": transcript_path(self._plan, self.session_id),
            "cwd": self._plan.project,
            "prompt_id": self._rows.prompt_id,
            "permission_mode": self._plan.permission_mode,
            "effort": {"level": "medium"},
            "hook_event_name": "Stop",
            "stop_hook_active": self._continued,
            "last_assistant_message": answer,
            "background_tasks": [],
            "session_crons": [],
        }
        began = time.monotonic()
        ours = self._hook = object()

        def done(result: JSON) -> None:
            if self._hook is not ours:
                return  # Escape came first: what the hook said is thrown away
            self._hook = None
            output = read_output(result["code"], result["stdout"], result["stderr"])
            command = " ".join(self._plan.stop_hook)
            self._write(self._rows.stop_hook(output, command, time.monotonic() - began))
            self._emit("stop_hook", stdout=result["stdout"], code=result["code"], active=said["stop_hook_active"])
            if output.shown:
                self._continued = True
                self._give("hook", list(output.shown))
                self._time_turn()
            else:
                self._end_turn()

        self._run_hook(compact(said), done)

    def _end_turn(self) -> None:
        self._write(self._rows.turn_end(time.monotonic() - (self._turn_since or 0.0)))
        self._leave_turn()

    def _leave_turn(self) -> None:
        self._turn_since = None
        self._hook = None
        self._continued = False
        self._show_status()
        self._look_at_queue()

    def interrupt(self) -> None:
        """Escape: the turn is dropped, and a queued event starts its own."""
        if self._turn_since is None:
            return
        if self._turn_timer:
            self._turn_timer.cancel()
        self.open_tools.clear()
        self._write(self._rows.interrupted())
        self._leave_turn()

    def begin_tool(self, name: str, arguments: JSON) -> str:
        """The model calls a tool: its id. The turn goes on until the tool has answered."""
        if not self.busy:
            self._begin([Queued(f"use {name}", HUMAN, self._clock())])
        if self._turn_timer:
            self._turn_timer.cancel()
        identity = f"toolu_{new_id()[:8]}"
        self.open_tools[identity] = name
        self._say([{"type": "tool_use", "id": identity, "name": name, "input": arguments}], "tool_use")
        return identity

    def end_tool(self, identity: str, content: Any, *, is_error: bool = False) -> None:
        """The tool's answer goes to the model, and with it what waits in the queue: no turn of its own then."""
        name = self.open_tools.pop(identity)
        events = [item for item in self.queue if item.origin["kind"] != "human"]
        self.queue = [item for item in self.queue if item.origin["kind"] == "human"]
        for item in events:
            self._write(self._rows.removed(item.text, item.command, item.delivery))
        self._write(self._rows.tool_result(identity, content, is_error=is_error))
        for item in events:
            self._write(self._rows.absorbed(item.text, item.origin, item.command, item.delivery))
        self._give("tool", [as_shown(item.text, item.origin) for item in events], tool=name, result=content)
        if name.startswith("mcp__"):
            server, tool = name.removeprefix("mcp__").split("__", 1)
            self._attribution = {"attributionMcpServer": server, "attributionMcpTool": tool}
        if not self.open_tools:
            self._time_turn()

    def open_dialog(self, what: str) -> None:
        """A permission prompt, a menu, a held message: status waiting, the queue stands still."""
        self._dialog = what
        self._show_status()

    def close_dialog(self) -> None:
        """It is answered."""
        self._dialog = None
        self._show_status()
        self._look_at_queue()

    def set_shell(self, running: bool) -> None:
        """A background command still runs after the turn."""
        self._shell = running
        self._show_status()

    def clear(self) -> str:
        """`/clear`: the same process under a new session id; the queue crosses over."""
        self._history("/clear")
        self.session_id = new_id()
        self._rows = Rows(self._plan, self.session_id, self._clock)
        self._opened = True
        self._last_typed = None
        if self._record:
            self._record.change(sessionId=self.session_id)
            self._record.write()
        self._write(self._rows.cleared())
        return self.session_id

    def note_history(self, text: str) -> None:
        """Something typed that starts no turn, a command say."""
        self._history(text)

    def end(self) -> None:
        """A clean end: every row that waits is written."""
        self._flush()

    # ---- within

    def _look_at_queue(self) -> None:
        if self.queue and not self.busy and self._dialog is None and self._dequeue_timer is None:
            self._dequeue_timer = self._loop.later(DEQUEUE_SECONDS, self._take_from_queue)

    def _take_from_queue(self) -> None:
        self._dequeue_timer = None
        if not self.queue or self.busy or self._dialog is not None:
            return
        first = self.queue.pop(0)
        items = [first]
        while self.queue and self.queue[0].joins(first):
            items.append(self.queue.pop(0))
        for _ in items:
            self._write(self._rows.dequeued())
        kept = [item for item in items if not item.blocked]
        for item in items:
            if item.blocked:
                self._emit("blocked", text=item.text)
        if kept:
            self._begin(kept)
        else:
            self._look_at_queue()

    def _begin(self, items: list[Queued]) -> None:
        self._turn_since = time.monotonic()
        self._show_status()
        kind = items[0].origin["kind"]
        if kind == "human":
            self._history(items[0].text)
            self._write(self._rows.typed(items[0].text))
        else:
            self._write(self._rows.event_turn([(item.text, item.origin) for item in items], items[0].sent_at))
        self._give(kind, [as_shown(item.text, item.origin) for item in items])
        self._time_turn()

    def _time_turn(self) -> None:
        if self._plan.turn_ms is not None:
            self._turn_timer = self._loop.later(self._plan.turn_ms / 1000, self.finish)

    def _give(self, kind: str, texts: list[str], **more: Any) -> None:
        self._write(self._rows.api_request())
        self._emit("request", kind=kind, texts=texts, session_id=self.session_id, at=time.monotonic(), **more)

    def _say(self, content: list[JSON], stop_reason: str) -> None:
        self._write(self._rows.assistant(content, stop_reason, self._attribution))
        self._attribution = None

    def _history(self, text: str) -> None:
        """One line per entry typed, but none for a prompt equal to the one before it."""
        if text != self._last_typed:
            row = history_row(self._plan, text, self.session_id, self._clock())
            append_line(f"{self._plan.config_dir}/history.jsonl", compact(row))
        self._last_typed = text

    def _write(self, rows: list[JSON]) -> None:
        if not self._opened:
            self._opened = True
            rows = self._rows.opening() + rows
        path = transcript_path(self._plan, self.session_id)
        self.write_lines(path, [compact(row) for row in rows])

    def write_lines(self, path: str, lines: list[str]) -> None:
        """Transcript lines: now, or after the delay of the plan, always in order."""
        if not self._plan.transcript_delay_ms:
            for line in lines:
                append_line(path, line)
            return
        if lines and not self._waiting_rows:
            self._loop.later(self._plan.transcript_delay_ms / 1000, self._flush)
        self._waiting_rows += [(path, line) for line in lines]

    def _flush(self) -> None:
        waiting, self._waiting_rows = self._waiting_rows, []
        for path, line in waiting:
            append_line(path, line)
