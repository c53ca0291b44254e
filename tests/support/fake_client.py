"""A fake Claude Code for tests: a real process named `claude` with a session, driven from the test.

Owns `FakeClient`, the test's end of the control socket. Must not know the product under test. See README.md
beside this file for what is played and what is not. Every wait is bounded and woken by the client's events.

    with FakeClient(tmp_path, Plan(server=command, argv=FLAGGED)) as client:
        client.wait_handshake()
        client.call_tool("ways_status")
"""

from __future__ import annotations

import base64
import json
import os
import signal
import tempfile
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.support.client_link import ClientError, ClientLink
from tests.support.messages import JSON, WAIT
from tests.support.plan import FLAGGED, Plan
from tests.support.session_files import compact, transcript_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.support.processes import ProcessHandle

__all__ = ["FLAGGED", "ChannelEvent", "ClientError", "FakeClient", "Line", "Plan", "Shown"]


@dataclass(frozen=True)
class Line:
    """One line between client and server. `at` is `time.monotonic()` seconds, the same clock in all processes."""

    key: str
    direction: str
    at: float
    text: str

    def json(self) -> JSON:
        """The message."""
        message: JSON = json.loads(self.text)
        return message


@dataclass(frozen=True)
class ChannelEvent:
    """A `notifications/claude/channel` that reached the client, and its fate: play, block, swallow or lost."""

    key: str
    at: float
    params: Any
    text: str
    fate: str
    reason: str


@dataclass(frozen=True)
class Shown:
    """What the model was given at one moment: the fake's stand-in for an API request.

    `kind` is human, channel, peer (a turn of its own), tool (a tool's result, with what was absorbed as texts) or hook
    (what a Stop hook said: a reason twice, a context once).
    """

    kind: str
    texts: tuple[str, ...]
    session_id: str
    at: float
    tool: str = ""
    result: Any = None


class FakeClient(ClientLink):
    """One client process in the home directory `root/home` and the project `root/proj` (where the plan names none).

    Several clients with one `root` share home and project, as two sessions of one person do. A context manager
    that leaves no process behind; `survivors` then lists the pids that had to be killed.
    """

    def __init__(self, root: str | os.PathLike[str], plan: Plan | None = None) -> None:
        super().__init__(_complete(os.fspath(root), plan or Plan()))
        self.first_session_id: str = self.started["session_id"]
        self.record_path: str = self.started["record"]
        self.socket_path: str = self.started["socket"]
        self.token: str = self.started["token"]

    # ---- who it is

    @property
    def session_id(self) -> str:
        """The session id now: that of the last `/clear`, else the first."""
        cleared = [event["session_id"] for event in self.events("cleared")]
        return str(cleared[-1]) if cleared else self.first_session_id

    def record(self) -> JSON:
        """The session record as it stands on disk."""
        with open(self.record_path, encoding="utf-8") as file:
            content: JSON = json.load(file)
        return content

    def transcript_path(self, session_id: str | None = None) -> str:
        """Where the transcript of a session of this client is (or will be)."""
        return transcript_path(self.plan, session_id or self.session_id)

    def transcript(self, session_id: str | None = None) -> list[JSON]:
        """Its rows so far; none where there is no file yet."""
        try:
            with open(self.transcript_path(session_id), encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    @property
    def server_pid(self) -> int:
        """The newest server's own pid (behind a shell: known once it has written its first line)."""
        pids = [event["pid"] for event in self.events("server") if event["pid"]]
        if not pids:
            raise ClientError("no server whose pid is known")
        return int(pids[-1])

    @property
    def server(self) -> ProcessHandle:
        """The newest server's process."""
        return self._server_handles[self.server_pid]

    # ---- what happened

    @property
    def lines(self) -> list[Line]:
        """Every line between the client and its servers."""
        return [Line(e["key"], e["direction"], e["at"], e["text"]) for e in self.events("line")]

    @property
    def channel_events(self) -> list[ChannelEvent]:
        """Every channel notification that reached the client."""
        names = ("key", "at", "params", "text", "fate", "reason")
        return [ChannelEvent(**{name: e[name] for name in names}) for e in self.events("channel")]

    @property
    def shown(self) -> list[Shown]:
        """Everything that the model was given."""
        return [_shown(event) for event in self.events("request")]

    @property
    def stderr(self) -> str:
        """What the servers wrote to stderr (nothing with `stderr="unread"`)."""
        return "".join(event["text"] for event in self.events("stderr"))

    # ---- waiting

    def wait_handshake(self, *, timeout: float = WAIT) -> JSON:
        """The first server's handshake: `initialize` (its answer) and `tools`; raises where it failed."""
        event = self.wait_event("handshake", timeout=timeout)
        if not event["ok"]:
            raise self._error(f"the handshake failed: {event['reason']}")
        return event

    def wait_channel_open(self, *, timeout: float = WAIT) -> None:
        """Until the client listens for channel events."""
        self.wait_event("channel_open", timeout=timeout)

    def wait_channel_event(
        self, where: Callable[[ChannelEvent], bool] = lambda _event: True, *, count: int = 1, timeout: float = WAIT
    ) -> ChannelEvent:
        """The `count`-th channel notification that satisfies `where`."""
        names = ("key", "at", "params", "text", "fate", "reason")

        def made(event: JSON) -> ChannelEvent:
            return ChannelEvent(**{name: event[name] for name in names})

        return made(self.wait_event("channel", lambda e: where(made(e)), count=count, timeout=timeout))

    def wait_shown(
        self, where: Callable[[Shown], bool] = lambda _shown: True, *, count: int = 1, timeout: float = WAIT
    ) -> Shown:
        """The `count`-th time that the model was given something that satisfies `where`."""
        return _shown(self.wait_event("request", lambda e: where(_shown(e)), count=count, timeout=timeout))

    def wait_status(self, status: str, *, count: int = 1, timeout: float = WAIT) -> None:
        """Until the record has had that status `count` times since the start."""
        self.wait_event("status", lambda event: event["status"] == status, count=count, timeout=timeout)

    def wait_server_exit(self, key: str = "server-1", *, timeout: float = WAIT) -> JSON:
        """How a server ended: `code`, `signals` that the client sent, `took_ms` since its decision to end it."""
        return self.wait_event("server_exit", lambda event: event["key"] == key, timeout=timeout)

    # ---- the person's and the model's part

    def type(self, text: str) -> None:
        """A prompt, typed; queued behind a running turn."""
        self._do("type", text=text)

    def finish_turn(self, text: str = "ok") -> None:
        """The model's last word (with `turn_ms=None` nothing else ends a turn)."""
        self._do("finish_turn", text=text)

    def interrupt(self) -> None:
        """Escape in a turn."""
        self._do("interrupt")

    def begin_tool(self, name: str = "Bash", arguments: JSON | None = None) -> str:
        """The model starts a tool of the client's own: busy until `end_tool`. Returns the tool use's id."""
        return str(self._do("begin_tool", name=name, arguments=arguments or {}))

    def end_tool(self, identity: str, content: Any = "done") -> None:
        """That tool answers; queued events are absorbed with the answer."""
        self._do("end_tool", identity=identity, content=content)

    def open_dialog(self, what: str = "permission prompt") -> None:
        """Status `waiting`, nothing leaves the queue."""
        self._do("open_dialog", what=what)

    def close_dialog(self) -> None:
        """It is answered."""
        self._do("close_dialog")

    def set_shell(self, running: bool) -> None:
        """A background command runs (status `shell` between turns), or no more."""
        self._do("shell", running=running)

    def clear(self) -> str:
        """`/clear`; returns the new session id."""
        session_id = str(self._do("clear"))
        self._events.all.append({"event": "cleared", "session_id": session_id})
        return session_id

    def rename(self, name: str) -> None:
        """`/rename`."""
        self._do("rename", name=name)

    def release_held(self, *, accept: bool) -> int:
        """Let held inbox messages in, or deny them; returns how many there were."""
        return int(self._do("release_held", accept=accept))

    def spawn(self, argv: Sequence[str], env: Mapping[str, str] | None = None, *, timeout: float = WAIT) -> JSON:
        """Run a command as the model's Bash tool does, below a shell below the client; `code`, `stdout`, `stderr`."""
        result: JSON = self._do("spawn", timeout=timeout, argv=list(argv), env=dict(env or {}))
        return result

    # ---- files

    def append_transcript(self, *rows: JSON | str) -> None:
        """Rows (or lines as they are) at the end of this session's transcript."""
        self._do("append_transcript", lines=[row if isinstance(row, str) else compact(row) for row in rows])

    def append_history(self, *rows: JSON) -> None:
        """Rows at the end of `history.jsonl`."""
        self._do("append_history", rows=list(rows))

    def write_record(self, raw: bytes | None = None) -> None:
        """The start dialog is answered (record, then server), or any bytes in the record's place."""
        self._do("write_record", raw=None if raw is None else base64.b64encode(raw).decode())

    def remove_record(self) -> None:
        """Take the record away while the client lives."""
        self._do("remove_record")

    # ---- the server

    def call_tool(
        self, tool: str, arguments: JSON | None = None, *, key: str = "server-1", timeout: float = WAIT
    ) -> JSON:
        """Call a tool without a trace in the transcript; the result, or `ClientError` on a protocol error."""
        return self._result(self._do("call", timeout=timeout, key=key, tool=tool, arguments=arguments or {}))

    def model_call(
        self, tool: str, arguments: JSON | None = None, *, key: str = "server-1", timeout: float = WAIT
    ) -> JSON:
        """The model calls a tool in a turn (its own, where none runs), with every row that this leaves."""
        return self._result(self._do("model_call", timeout=timeout, key=key, tool=tool, arguments=arguments or {}))

    def ask(self, method: str, params: Any = None, *, key: str = "server-1", timeout: float = WAIT) -> JSON:
        """Any request; the server's whole answer."""
        answer: JSON = self._do("ask", timeout=timeout, key=key, method=method, params=params)
        return answer

    def send(self, message: JSON, *, key: str = "server-1") -> None:
        """Any message."""
        self._do("send", key=key, message=message)

    def send_raw(self, data: bytes, *, key: str = "server-1") -> None:
        """Any bytes."""
        self._do("send_raw", key=key, data=base64.b64encode(data).decode())

    def start_server(self, command: Sequence[str] | None = None) -> str:
        """One more server in this session; returns its key."""
        return str(self._do("start_server", command=list(command or self.plan.server)))

    def end_server(self, key: str = "server-1") -> JSON:
        """End one server as the client does, by the three signals; how it went."""
        self._do("end_server", key=key)
        return self.wait_server_exit(key)

    def close_stream(self, name: str, *, key: str = "server-1") -> None:
        """Close the client's end of the server's `stdin`, `stdout` or `stderr`."""
        self._do("stream", key=key, what=f"close {name}")

    def stop_reading(self, *, key: str = "server-1") -> None:
        """Leave the server's stdout unread."""
        self._do("stream", key=key, what="stop reading")

    def resume_reading(self, *, key: str = "server-1") -> None:
        """Read it again."""
        self._do("stream", key=key, what="resume reading")

    def hold_stdin(self, *, key: str = "server-1") -> int:
        """Hold the server's stdin open from this process, whatever becomes of the client; the descriptor.

        The caller may close it; `close` does otherwise.
        """
        self._do("hand_over_stdin", key=key)
        end = time.monotonic() + WAIT
        while not self._events.descriptors:
            self._pump(end, "the descriptor of the server's stdin")
        return self._events.descriptors[-1]

    # ---- the end of the client

    def exit(self, *, timeout: float = WAIT) -> None:
        """`/exit`: servers ended, record removed; returns when the process is gone."""
        self._do("exit")
        self._wait_gone(timeout)

    def terminate(self, *, timeout: float = WAIT) -> None:
        """SIGTERM, which ends the client as `/exit` does."""
        self.handle.send_signal(signal.SIGTERM)
        self._wait_gone(timeout)

    def kill(self) -> None:
        """SIGKILL: record, key and socket stay behind; the server sees the end of input, where nobody holds it."""
        self.handle.kill()

    def freeze(self) -> None:
        """SIGSTOP, as ctrl-Z."""
        self.handle.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self.handle.send_signal(signal.SIGCONT)

    def ctrl_c(self) -> None:
        """SIGINT to the whole process group, as a ^C on the terminal of a client that has left raw mode."""
        os.killpg(self.pid, signal.SIGINT)


def _shown(event: JSON) -> Shown:
    return Shown(
        kind=event["kind"],
        texts=tuple(event["texts"]),
        session_id=event["session_id"],
        at=event["at"],
        tool=event.get("tool", ""),
        result=event.get("result"),
    )


def _complete(root: str, plan: Plan) -> Plan:
    """The plan with every place filled in, and the places made."""
    home = plan.home or os.path.join(root, "home")
    project = plan.project or os.path.join(root, "proj")
    config_dir = plan.config_dir or plan.env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    for folder in (home, project, config_dir):
        os.makedirs(folder, exist_ok=True)
    socket_dir = tempfile.mkdtemp(prefix="cc-", dir=plan.socket_dir or "/tmp")
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "SHELL": "/bin/sh",
        "USER": "tester",
        **plan.env,
    }
    if plan.config_dir:
        env["CLAUDE_CONFIG_DIR"] = plan.config_dir
    return replace(plan, home=home, project=project, config_dir=config_dir, socket_dir=socket_dir, env=env)
