"""The server under test as the client's child: streams, handshake, calls, and the three signals at the end.

Owns `ServerChild`. Must not know sessions, transcripts or what an event is for: it hands on what arrives.
The order and form of messages are those of 2.1.332 and 2.1.285.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.support.loop import Loop, Output, Timer
from tests.support.messages import CHANNEL, discover, initialize, initialized, request, tools_call, tools_list
from tests.support.processes import ProcessHandle, children_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.plan import Plan

JSON = dict[str, Any]
PROBE_ID = "server-discover-probe-1"
KNOWN_REVISIONS = ("2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LADDER = ((0.0, signal.SIGINT), (0.1, signal.SIGTERM), (0.5, signal.SIGKILL))
"""Seconds after the decision to end a server, and the signal sent then to one that is still there."""

_LAUNCHER = """
import os, sys
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=[(os.POSIX_SPAWN_CLOSE, int(sys.argv[1]))])
os.write(int(sys.argv[1]), b"%d" % pid)
"""


class ServerChild:
    """One server process. `emit` gets `line`, `stderr`, `server`, `handshake`, `event` and `server_exit`."""

    def __init__(
        self,
        loop: Loop,
        plan: Plan,
        key: str,
        *,
        command: list[str],
        env: dict[str, str],
        emit: Callable[..., None],
        take_event: Callable[[str, Any, float], None],
    ) -> None:
        self.key = key
        self.alive = True
        self.pid = 0
        """The server's own pid; 0 while a wrapper hides it."""
        self._loop = loop
        self._plan = plan
        self._emit = emit
        self._take_event = take_event
        self._next_id = 2
        self._pending: dict[int, Callable[[JSON], None]] = {}
        self._listening = False
        self._ladder: list[Timer] = []
        self._signals: list[str] = []
        self._ending_since = 0.0
        self._when_gone: list[Callable[[], None]] = []
        self._partial = bytearray()
        self._initialize_answer: JSON = {}
        self._stage = "probe"
        self._ends: dict[str, socket.socket] = {}
        self._start(command, env)
        self._connect_timer = loop.later(plan.connect_timeout_ms / 1000, self._connect_timed_out)
        self._probe_timer: Timer | None = None
        self._open_handshake()

    # ---- start

    def _start(self, command: list[str], env: dict[str, str]) -> None:
        theirs: dict[str, socket.socket] = {}
        for name in ("stdin", "stdout", "stderr"):
            self._ends[name], theirs[name] = socket.socketpair()
            self._ends[name].setblocking(False)
        reader, writer = os.pipe()
        launch = self._plan.launch
        if launch == "sh":
            command = ["sh", "-c", '"$@"; exit $?', "sh", *command]
        elif launch == "launcher-exits":
            command = [self._plan.python, "-I", "-S", "-c", _LAUNCHER, str(writer), *command]
        kept = (writer,) if launch == "launcher-exits" else ()
        self._child: subprocess.Popen[bytes] = subprocess.Popen(
            command,
            stdin=theirs["stdin"].fileno(),
            stdout=theirs["stdout"].fileno(),
            stderr=theirs["stderr"].fileno(),
            env=env,
            cwd=self._plan.project,
            pass_fds=kept,
        )
        os.close(writer)
        for end in theirs.values():
            end.close()
        handle = ProcessHandle(self._child.pid)
        self._loop.when_gone(handle, self._child_gone)
        if launch == "direct":
            self.pid = self._child.pid
        elif launch == "launcher-exits":
            self.pid = int(os.read(reader, 32) or b"0")
            self._loop.when_gone(ProcessHandle(self.pid), self._gone)
        os.close(reader)
        self._stdin = Output(self._loop, self._ends["stdin"].fileno(), self._ends["stdin"].send)
        self._loop.reader(self._ends["stdout"].fileno(), self._read_stdout)
        if self._plan.stderr == "read":
            self._loop.reader(self._ends["stderr"].fileno(), self._read_stderr)
        self._emit("server", key=self.key, pid=self.pid, child_pid=self._child.pid)

    def _open_handshake(self) -> None:
        if self._plan.version == "2.1.285":
            self._initialize()
            return
        self.send(discover(self._plan.version))
        self._probe_timer = self._loop.later(self._plan.probe_timeout_ms / 1000, self._initialize)

    def _initialize(self) -> None:
        if self._probe_timer:
            self._probe_timer.cancel()
        if self._stage == "probe":
            self._stage = "initialize"
            self.send(initialize(self._plan.version))

    def _connect_timed_out(self) -> None:
        self._emit("handshake", key=self.key, ok=False, reason="CONNECT_TIMEOUT")
        self._signal(signal.SIGTERM)

    # ---- what arrives

    def _read_stdout(self) -> None:
        data = self._receive("stdout")
        if not data:
            return
        if not self.pid:
            self._find_behind_shell()
        at = time.monotonic()
        self._partial += data
        if b"\n" not in data:
            return
        *lines, rest = bytes(self._partial).split(b"\n")
        self._partial = bytearray(rest)
        for line in lines:
            text = line.decode("utf-8", "surrogateescape")
            self._emit("line", key=self.key, direction="received", at=at, text=text)
            try:
                message = json.loads(text)
            except ValueError:
                continue
            if isinstance(message, dict):
                self._take(message, at)

    def _read_stderr(self) -> None:
        data = self._receive("stderr")
        if data:
            self._emit("stderr", key=self.key, text=data.decode("utf-8", "replace"))

    def _receive(self, name: str) -> bytes:
        try:
            data = self._ends[name].recv(1 << 20)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self._loop.reader(self._ends[name].fileno(), None)
        return data

    def _take(self, message: JSON, at: float) -> None:
        if "method" in message:
            if "id" in message:
                self._answer_server(message)
            elif message["method"] == CHANNEL:
                listening = "" if self._listening else "the client does not listen yet"
                self._take_event(listening, message.get("params"), at)
            return
        identity = message.get("id")
        if identity == PROBE_ID and self._stage == "probe":
            if "error" in message:
                self._initialize()
            else:
                self._connected_modern(message)
        elif isinstance(identity, int) and not isinstance(identity, bool):
            self._take_answer(identity, message)

    def _take_answer(self, identity: int, message: JSON) -> None:
        if identity == 0 and self._stage == "initialize":
            self._initialize_answer = message
            version = message.get("result", {}).get("protocolVersion")
            if version not in KNOWN_REVISIONS:
                self._fail("Server's protocol version is not supported")
                return
            self._stage = "tools"
            self.send(initialized())
            self.send(tools_list())
        elif identity == 1 and self._stage in ("tools", "modern"):
            self._connected(message)
        elif identity in self._pending:
            self._pending.pop(identity)(message)

    def _connected(self, message: JSON) -> None:
        legacy = self._stage == "tools"
        self._stage = "connected"
        self._connect_timer.cancel()
        capabilities = self._initialize_answer.get("result", {}).get("capabilities", {})
        if legacy and "claude/channel" in capabilities.get("experimental", {}):
            self._loop.later(self._plan.channel_opens_ms / 1000, self._listen)
        tools = message.get("result", {}).get("tools", [])
        self._emit("handshake", key=self.key, ok=True, initialize=self._initialize_answer, tools=tools)

    def _connected_modern(self, message: JSON) -> None:
        """A server of 2026-07-28: it keeps its tools and silently loses its channel."""
        if self._probe_timer:
            self._probe_timer.cancel()
        self._initialize_answer = message
        self._stage = "modern"
        self.send(request(1, "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}))

    def _listen(self) -> None:
        self._listening = True
        self._emit("channel_open", key=self.key)

    def _fail(self, reason: str) -> None:
        self._stage = "failed"
        self._connect_timer.cancel()
        self._emit("handshake", key=self.key, ok=False, reason=reason, initialize=self._initialize_answer)
        self.shut_down(lambda: None)

    def _answer_server(self, message: JSON) -> None:
        if message["method"] == "ping":
            body: JSON = {"result": {}}
        elif message["method"] == "roots/list":
            body = {"result": {"roots": [{"uri": f"file://{self._plan.project}"}]}}
        else:
            body = {"error": {"code": -32601, "message": "Method not found"}}
        self.send({"jsonrpc": "2.0", "id": message["id"], **body})

    # ---- what leaves

    def send(self, message: JSON) -> None:
        """One message, one line."""
        text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
        self._emit("line", key=self.key, direction="sent", at=time.monotonic(), text=text)
        self._stdin.send(text.encode("utf-8", "surrogatepass") + b"\n")

    def send_raw(self, data: bytes) -> None:
        """Any bytes."""
        self._stdin.send(data)

    def ask(self, method: str, params: Any, answered: Callable[[JSON], None]) -> int:
        """A request under the next id."""
        identity = self._fresh(answered)
        self.send(request(identity, method, params))
        return identity

    def call(self, tool: str, arguments: JSON, tool_use_id: str, answered: Callable[[JSON], None]) -> int:
        """A tools/call as the client makes it."""
        identity = self._fresh(answered)
        self.send(tools_call(identity, tool, arguments, tool_use_id=tool_use_id))
        return identity

    def _fresh(self, answered: Callable[[JSON], None]) -> int:
        identity = self._next_id
        self._next_id += 1
        self._pending[identity] = answered
        return identity

    # ---- the streams in trouble

    def close_stream(self, name: str) -> None:
        """Close the client's end of stdin, stdout or stderr."""
        end = self._ends.pop(name, None)
        if end is not None:
            self._loop.forget(end.fileno())
            end.close()

    def stop_reading(self) -> None:
        """Leave stdout unread until it is full."""
        self._loop.reader(self._ends["stdout"].fileno(), None)

    def resume_reading(self) -> None:
        """Read stdout again."""
        self._loop.reader(self._ends["stdout"].fileno(), self._read_stdout)

    def stdin_descriptor(self) -> int:
        """The client's end of the server's stdin, for another process to hold open."""
        return self._ends["stdin"].fileno()

    # ---- the end

    def shut_down(self, then: Callable[[], None]) -> None:
        """SIGINT, SIGTERM 100 ms later, SIGKILL 400 ms after that, to the direct child; no end of input before."""
        if not self.alive:
            then()
            return
        self._when_gone.append(then)
        if not self._ladder:
            self._ending_since = time.monotonic()
            self._ladder = [self._loop.later(at, functools.partial(self._signal, number)) for at, number in LADDER]
        if self._child.returncode is not None:
            self._finished()  # an orphan: nobody to signal, and the client goes on

    def _signal(self, number: signal.Signals) -> None:
        if self._child.poll() is None:
            self._signals.append(number.name)
            self._child.send_signal(number)

    def _child_gone(self) -> None:
        self._child.wait()
        if self._plan.launch != "launcher-exits":
            self._gone()

    def _gone(self) -> None:
        if self._ends.get("stdout") is not None:
            self._read_stdout()
        self.alive = False
        took = (time.monotonic() - self._ending_since) * 1000 if self._ending_since else None
        orphan = self._plan.launch == "launcher-exits"
        code = None if orphan else self._child.returncode
        self._emit("server_exit", key=self.key, code=code, signals=self._signals, took_ms=took)
        self._finished()

    def _finished(self) -> None:
        self._connect_timer.cancel()
        for timer in self._ladder:
            timer.cancel()
        waiting, self._when_gone = self._when_gone, []
        for call in waiting:
            call()

    def _find_behind_shell(self) -> None:
        found = children_of(self._child.pid)
        if found:
            self.pid = found[0]
            self._emit("server", key=self.key, pid=self.pid, child_pid=self._child.pid)
