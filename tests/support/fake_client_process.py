"""The fake client's process: looks like `claude` to the process table, plays the client's part, obeys the test.

Owns `run` (called by the bootstrap that `FakeClient` feeds to the interpreter) and `Client`. Must not know the
product under test. One thread; commands arrive as JSON lines on the control socket and each is answered; what
happens is told as events on the same socket. When the test's end of the socket closes, the client ends itself.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

from tests.support.client_env import server_env, tool_env
from tests.support.events import LostError, channel_text
from tests.support.inbox import Gate, Inbox, Message, Poster, now
from tests.support.loop import Loop, Output
from tests.support.plan import Plan
from tests.support.processes import stat_fields
from tests.support.server_child import ServerChild
from tests.support.session_files import append_line, compact, new_id, transcript_path
from tests.support.session_record import SessionRecord
from tests.support.tool_command import ToolCommand
from tests.support.turns import Queued, Turns

if TYPE_CHECKING:
    from collections.abc import Callable

JSON = dict[str, Any]


def run(control_fd: int) -> None:
    """Read the plan from the control socket, become the client, and never return."""
    control = socket.socket(fileno=control_fd)
    plan = Plan.from_json(json.loads(_first_line(control)))
    if plan.exact_argv:
        show_command_line(plan.argv)
    os.umask(0o022)
    os.chdir(plan.project)
    Client(plan, control).run()
    os._exit(0)


def show_command_line(argv: tuple[str, ...]) -> None:
    """Let `/proc` show `argv` as this process's command line, and its first word as the name.

    The interpreter was started with arguments of exactly the same length (`FakeClient` sees to that), so the
    kernel's window on them can be overwritten in place.
    """
    wanted = b"".join(os.fsencode(word) + b"\0" for word in argv)
    fields = stat_fields(os.getpid())
    first, last = int(fields[45]), int(fields[46])
    if last - first != len(wanted):
        raise ValueError(f"room for {last - first} bytes of arguments, not {len(wanted)}")
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(first)
        memory.write(wanted)
    with open("/proc/self/comm", "wb") as name:
        name.write(os.fsencode(os.path.basename(argv[0]))[:15])


def _first_line(control: socket.socket) -> bytes:
    data = bytearray()
    while not data.endswith(b"\n"):
        part = control.recv(1)
        if not part:
            raise SystemExit("the test went away before the plan came")
        data += part
    return bytes(data)


class Client:
    """One client process."""

    def __init__(self, plan: Plan, control: socket.socket) -> None:
        self.plan = plan
        self.loop = Loop()
        self._control = control
        control.setblocking(False)
        self._out = Output(self.loop, control.fileno(), control.send)
        self._partial = b""
        self._servers: dict[str, ServerChild] = {}
        self._ending = False
        self._orphaned = False
        self._held: list[Message] = []
        self._token = secrets.token_hex(16)
        session_id = plan.resume or plan.session_id or new_id()
        messaging = plan.inbox != "off" and not plan.health_check
        self._socket_path = os.path.join(plan.socket_dir, f"{os.getpid()}.sock") if messaging else ""
        self.record = SessionRecord(
            plan, pid=os.getpid(), session_id=session_id, socket_path=self._socket_path, clock=time.time
        )
        has_record = not plan.health_check
        self.turns = Turns(
            self.loop,
            plan,
            session_id,
            record=self.record if has_record else None,
            emit=self.emit,
            run_hook=self._run_hook,
        )
        self._inbox = Inbox(self.loop, self._socket_path, self._take_frame) if messaging else None
        self._gate = Gate(plan.inbox, plan.permission_mode == "bypassPermissions", session_id)
        if has_record:
            self.record.write_key()
            if plan.write_record:
                self.record.write()

    def run(self) -> None:
        """Until the end."""
        self._watch_signals()
        self.loop.reader(self._control.fileno(), self._read_control)
        self.emit(
            "started",
            pid=os.getpid(),
            session_id=self.turns.session_id,
            record=self.record.path,
            socket=self._socket_path,
            token=self._token,
        )
        if self.plan.server and self.plan.write_record:
            self._start_server(list(self.plan.server))
        self.loop.run()

    def emit(self, event: str, **fields: Any) -> None:
        """Tell the test."""
        self._out.send(json.dumps({"event": event, **fields}).encode() + b"\n")

    # ---- the ends of the client

    def _watch_signals(self) -> None:
        """SIGTERM and SIGHUP end the client as `/exit` does; SIGINT is a key press that it handles itself.

        Handlers and not SIG_IGN: an ignored signal would stay ignored in the server.
        """
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)

        def woken() -> None:
            for number in os.read(reader, 64):
                if number in (signal.SIGTERM, signal.SIGHUP):
                    self._end()
                elif number == signal.SIGINT:
                    self.emit("interrupted")

        self.loop.reader(reader, woken)

    def _end(self) -> None:
        """As all clean ends go: the servers first, then the record, the key, the socket."""
        if self._ending:
            return
        self._ending = True
        left = set(self._servers)

        def one_gone(key: str) -> None:
            left.discard(key)
            if not left:
                self._ended()

        if not left:
            self._ended()
        for key, server in list(self._servers.items()):
            server.shut_down(functools.partial(one_gone, key))

    def _ended(self) -> None:
        self.turns.end()
        if self._inbox:
            self._inbox.close()
            self._inbox = None
        if not self.plan.health_check:
            self.record.remove()
        if self._orphaned:
            shutil.rmtree(self.plan.socket_dir, ignore_errors=True)  # its owner died before it could
        self.emit("ended")
        self._control.settimeout(2)
        self._out.drain()
        self.loop.stop()

    # ---- servers

    def _start_server(self, command: list[str]) -> str:
        key = f"server-{len(self._servers) + 1}"
        self._servers[key] = ServerChild(
            self.loop,
            self.plan,
            key,
            command=command,
            env=server_env(self.plan, **self._surroundings()),
            emit=self._server_event,
            take_event=lambda lost, params, at: self._take_channel(key, lost, params, at),
        )
        return key

    def _server_event(self, event: str, **fields: Any) -> None:
        self.emit(event, **fields)
        if event == "handshake" and self.plan.health_check:
            self._end()

    def _surroundings(self) -> dict[str, str]:
        """What both kinds of child are told; a health check's session id is thrown away after it."""
        session_id = new_id() if self.plan.health_check else self.turns.session_id
        return {"session_id": session_id, "socket_path": self._socket_path, "token": self._token}

    def _tool_env(self) -> dict[str, str]:
        return tool_env(self.plan, client_pid=os.getpid(), **self._surroundings())

    def _run_hook(self, stdin: str, done: Callable[[JSON], None]) -> None:
        """Hooks get a tool's environment and the project dir."""
        env = {**self._tool_env(), "CLAUDE_PROJECT_DIR": self.plan.project}
        ToolCommand(self.loop, list(self.plan.stop_hook), env=env, cwd=self.plan.project, done=done, stdin=stdin)

    # ---- what comes in

    def _take_channel(self, key: str, lost: str, params: Any, at: float) -> None:
        text = ""
        try:
            text = channel_text(params, self.plan.server_name)
        except LostError as error:
            lost = lost or str(error)
        fate = self.plan.plays_channel
        if lost:
            fate = "lost"
        if fate in ("play", "block"):
            origin = {"kind": "channel", "server": self.plan.server_name}
            self.turns.arrive(Queued(text, origin, time.time(), blocked=fate == "block"))
        self.emit("channel", key=key, at=at, params=params, text=text, fate=fate, reason=lost)

    def _take_frame(self, frame: Any, poster: Poster) -> None:
        self._gate.session_id = self.turns.session_id
        fate, reason, message = self._gate.judge(frame, poster, now=now(), queued=len(self.turns.queue))
        text = message.text if message else ""
        if message and fate == "accepted":
            self._let_in(message)
        elif message and fate == "held":
            self._held.append(message)
            if reason == "parity":
                self.turns.open_dialog("dialog open")
        self.emit("inbox", fate=fate, reason=reason, text=text, pid=poster.pid, frame=frame)

    def _let_in(self, message: Message) -> None:
        self.turns.arrive(Queued(message.text, message.origin, time.time()))

    # ---- commands of the test

    def _read_control(self) -> None:
        try:
            data = self._control.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.loop.forget(self._control.fileno())
            self._orphaned = True
            self._end()
            return
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))

    def _obey(self, command: JSON) -> None:
        number = command.pop("n")
        verb: Callable[..., Any] = getattr(self, f"do_{command.pop('do')}")

        def answer(value: Any = None) -> None:
            self.emit("answer", n=number, value=value)

        try:
            value = verb(answer, **command)
        except Exception as error:  # noqa: BLE001  # told to the test, which raises it
            self.emit("answer", n=number, error=f"{type(error).__name__}: {error}")
            return
        if value is not answer:
            answer(value)

    def do_write_record(self, _answer: Any, raw: str | None = None) -> str:
        """The start dialog is answered: the record, and then the server. Or any bytes in the record's place."""
        if raw is not None:
            self.record.write_raw(base64.b64decode(raw))
            return ""
        self.record.write()
        return self._start_server(list(self.plan.server)) if self.plan.server and not self._servers else ""

    def do_remove_record(self, _answer: Any) -> None:
        """Take the record away while the client lives."""
        self.record.remove()

    def do_rename(self, _answer: Any, name: str) -> None:
        """`/rename`."""
        self.turns.note_history(f"/rename {name}")
        self.record.change(name=name, nameSource="user")
        self.record.write()

    def do_clear(self, _answer: Any) -> str:
        """`/clear`: a new session id; a server that died is started again under it."""
        session_id = self.turns.clear()
        if self._servers and not any(server.alive for server in self._servers.values()):
            self._start_server(list(self.plan.server))
        return session_id

    def do_type(self, _answer: Any, text: str) -> None:
        """A prompt, typed."""
        self.turns.type(text)

    def do_finish_turn(self, _answer: Any, text: str) -> None:
        """The model's last word of this turn."""
        self.turns.finish(text)

    def do_interrupt(self, _answer: Any) -> None:
        """Escape."""
        self.turns.interrupt()

    def do_begin_tool(self, _answer: Any, name: str, arguments: JSON) -> str:
        """The model starts a tool of the client's own."""
        return self.turns.begin_tool(name, arguments)

    def do_end_tool(self, _answer: Any, identity: str, content: Any) -> None:
        """That tool is done."""
        self.turns.end_tool(identity, content)

    def do_open_dialog(self, _answer: Any, what: str) -> None:
        """A dialog opens."""
        self.turns.open_dialog(what)

    def do_close_dialog(self, _answer: Any) -> None:
        """It closes."""
        self.turns.close_dialog()

    def do_shell(self, _answer: Any, running: bool) -> None:
        """Status `shell`, or not."""
        self.turns.set_shell(running)

    def do_release_held(self, _answer: Any, accept: bool) -> int:
        """Answer the question about held messages."""
        held, self._held = self._held, []
        self.turns.close_dialog()
        for message in held if accept else []:
            self._let_in(message)
        return len(held)

    def do_append_transcript(self, _answer: Any, lines: list[str]) -> None:
        """Lines as they are, to this session's transcript."""
        self.turns.write_lines(transcript_path(self.plan, self.turns.session_id), lines)

    def do_append_history(self, _answer: Any, rows: list[JSON]) -> None:
        """Rows as they are, to the history."""
        for row in rows:
            append_line(os.path.join(self.plan.config_dir, "history.jsonl"), compact(row))

    def do_start_server(self, _answer: Any, command: list[str]) -> str:
        """One more server, of this command."""
        return self._start_server(command)

    def do_send(self, _answer: Any, key: str, message: JSON) -> None:
        """Any message to a server."""
        self._servers[key].send(message)

    def do_send_raw(self, _answer: Any, key: str, data: str) -> None:
        """Any bytes to a server."""
        self._servers[key].send_raw(base64.b64decode(data))

    def do_ask(self, answer: Callable[[Any], None], key: str, method: str, params: Any) -> Any:
        """A request; answered with the server's message."""
        self._servers[key].ask(method, params, answer)
        return answer

    def do_call(self, answer: Callable[[Any], None], key: str, tool: str, arguments: JSON) -> Any:
        """A tools/call that leaves no trace in the transcript."""
        self._servers[key].call(tool, arguments, f"toolu_{new_id()[:8]}", answer)
        return answer

    def do_model_call(self, answer: Callable[[Any], None], key: str, tool: str, arguments: JSON) -> Any:
        """The model calls a tool of the server: in a turn, with all its rows."""
        identity = self.turns.begin_tool(f"mcp__{self.plan.server_name}__{tool}", arguments)

        def answered(message: JSON) -> None:
            result = message.get("result", {})
            content = result.get("content", str(message.get("error", "")))
            failed = "error" in message or bool(result.get("isError"))
            self.turns.end_tool(identity, content, is_error=failed)
            answer(message)

        self._servers[key].call(tool, arguments, identity, answered)
        return answer

    def do_stream(self, _answer: Any, key: str, what: str) -> None:
        """`close stdin`, `close stdout`, `close stderr`, `stop reading`, `resume reading`."""
        verb, name = what.split()
        server = self._servers[key]
        if verb == "close":
            server.close_stream(name)
        elif verb == "stop":
            server.stop_reading()
        else:
            server.resume_reading()

    def do_hand_over_stdin(self, answer: Callable[[Any], None], key: str) -> Any:
        """Send the client's end of the server's stdin along with the answer, which then holds it open."""
        answer(None)
        self._control.settimeout(2)
        self._out.drain()
        socket.send_fds(self._control, [b'{"event":"descriptor"}\n'], [self._servers[key].stdin_descriptor()])
        self._control.setblocking(False)
        return answer

    def do_end_server(self, answer: Callable[[Any], None], key: str) -> Any:
        """End one server as the client does."""
        self._servers[key].shut_down(functools.partial(answer, None))
        return answer

    def do_spawn(self, answer: Callable[[Any], None], argv: list[str], env: dict[str, str]) -> Any:
        """A command of the model's Bash tool; answered with its status and output when it has ended."""
        ToolCommand(self.loop, argv, env={**self._tool_env(), **env}, cwd=self.plan.project, done=answer)
        return answer

    def do_exit(self, _answer: Any) -> None:
        """`/exit`."""
        self._end()


if __name__ == "__main__":
    sys.exit("this is started by tests.support.fake_client.FakeClient")
