"""One person's session through all its lives: client processes, servers, a loop now and then, and what its model saw.

Owns `Session`: starting, resuming, ending it in every way, and taking in what the fake client tells. Must not decide
when anything happens (`storm.py`), nor judge it (`account.py`).

The client writes its proofs as the real one does: the fake writes the rows of channel, inbox socket and Stop hook; of a
loop's line this module writes the notification, as the Monitor tool would.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_ways.attend import evidence, headers
from agent_ways.claude import proof, transcript
from tests.support import transcripts as rows
from tests.support.fake_client import FLAGGED, ClientError, FakeClient, Plan
from tests.support.processes import ProcessHandle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_START = f"import sys\nsys.path.insert(0, {os.path.join(ROOT, 'src')!r})\nfrom agent_ways.{{}}.__main__ import main\n"
PYTHON = (os.path.realpath(sys.executable), "-I", "-S", "-c")
SERVER = (*PYTHON, _START.format("server") + "main([])\n")
ATTEND = (*PYTHON, _START.format("attend") + "sys.exit(main())\n")
HOOK = (*ATTEND, "inbox", "--drain", "--format", "hook")
MARK = "AGENT_WAYS_SOAK"
"""A variable that every process of a run has in its environment, to find those that are left."""
KINDS = ("channel", "channel", "socket", "socket", "loop", "drain")
"""By which conduit a session's mail comes, beside the Stop hook that all have."""
_KEPT = ("started", "server", "cleared", "handshake")
"""Events of the fake client that its own test's end needs again."""
PATIENCE = 15.0
_LONG = 5 << 20
"""Bytes of a calm session's transcript from the start: no look at a transcript goes further back than 4 MiB."""
_LONG_AGO = 1_764_000_000_000
_WORDS = "words " * 150


@dataclass(frozen=True)
class Show:
    """That the model was given a signal whole: in which life of its client, and by which conduit."""

    life: int
    kind: str


@dataclass
class Session:
    """See the module's first lines. `calm` sessions are never harmed: their servers are measured."""

    root: str
    number: int
    kind: str
    calm: bool
    chance: Random
    run: str
    ids: list[str] = field(default_factory=list)
    life: int = 0
    shows: dict[str, list[Show]] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    to_read: bool = False
    unproven: dict[str, int] = field(default_factory=dict)
    """By signal, how often its client was killed after it was shown and before that stood in the transcript."""
    left: list[str] = field(default_factory=list)
    """Processes that outlived their client."""
    client: FakeClient | None = None
    frozen: bool = False
    server_key: str = ""
    server_pid: int = 0
    server_stopped: bool = False
    tool: str = ""
    dialog: bool = False
    monitor: ProcessHandle | None = None
    _monitor_folder: str = ""
    _lines: int = 0

    @property
    def id(self) -> str:
        """The session id now."""
        return self.ids[-1]

    @property
    def usable(self) -> bool:
        """Whether the client is there and answers."""
        return self.client is not None and not self.frozen

    @property
    def serves(self) -> bool:
        """Whether its server lives and answers."""
        return self.usable and not self.server_stopped and self.server_lives

    @property
    def server_lives(self) -> bool:
        """Whether the newest server's process is there."""
        handle = self.client._server_handles.get(self.server_pid) if self.client else None
        return handle is not None and handle.alive

    def start(self) -> None:
        """Its first life, or the next: `--resume` of the id that it had last."""
        self.life += 1
        resume = self.id if self.ids else None
        plan = Plan(
            server=SERVER,
            argv=FLAGGED if self.kind == "channel" else ("claude",),
            version="2.1.285" if self.number % 3 == 0 else "2.1.332",
            inbox="off" if self.kind in ("drain", "loop") else "default",
            resume=resume,
            stop_hook=HOOK,
            transcript_delay_ms=(0, 100, 200)[self.number % 3],
            turn_ms=30,
            env={MARK: self.run},
        )
        self.client = FakeClient(self.root, plan)
        if resume is None:
            self.ids.append(self.client.first_session_id)
        self.frozen = self.server_stopped = self.dialog = False
        self.tool = ""
        if resume is None and self.calm:
            self._long_past()
        self.client.type(f"hello {self.life}")
        self._mode()
        if self.kind == "loop":
            self.start_loop()

    def start_loop(self) -> None:
        """`attend run` below the client, as the Monitor tool hosts it; its first words are not waited for."""
        client = self._there()
        self.stop_watching_loop()
        self._monitor_folder = os.path.join(self.root, f"monitor-{self.number}-{time.monotonic_ns()}")
        self._lines = 0
        os.mkdir(self._monitor_folder)
        words = " ".join(shlex.quote(word) for word in (*ATTEND, "run"))
        folder = self._monitor_folder
        script = f"echo $$ > {folder}/pid; exec {words} > {folder}/out 2> {folder}/err"
        client._number += 1
        client._control.sendall(_order(client._number, ["sh", "-c", script]))

    def kill_loop(self) -> bool:
        """SIGKILL to the loop; False where none is known."""
        handle = self._loop()
        if handle is None or not handle.alive:
            return False
        handle.kill()
        return True

    def stop_watching_loop(self) -> None:
        """Forget the loop that ran."""
        if self.monitor is not None:
            self.monitor.close()
        self.monitor, self._monitor_folder = None, ""

    def clear(self) -> None:
        """`/clear`, also where the server has died: a new one starts then."""
        self.ids.append(self._there().clear())
        self.server_stopped = False if not self.server_lives else self.server_stopped
        self._mode()

    def restart_server(self) -> None:
        """What `/mcp` reconnect does."""
        self._there().start_server()
        self.server_stopped = False

    def call(self, tool: str, arguments: dict[str, Any], *, traced: bool = False) -> dict[str, Any] | None:
        """A tool call; its structured result, None where it was refused or never answered."""
        client = self._there()
        try:
            does = client.model_call if traced else client.call_tool
            result = does(tool, arguments, key=self.server_key, timeout=PATIENCE)
        except ClientError:
            if client.handle.alive:
                client.interrupt()
            return None
        found: dict[str, Any] | None = result.get("structuredContent")
        return None if result.get("isError") else found

    def read_inbox(self) -> bool:
        """The model asks for what a doorbell named; what it was given counts as read."""
        self.to_read = False
        found = self.call("attend_inbox", {"unseen": True, "limit": 50}, traced=True)
        for one in found["signals"] if found else ():
            self.reads.add(one["id"])
        return found is not None

    # ---- the ends

    def kill(self) -> None:
        """SIGKILL to the client; what ends with it by itself is given the time for that."""
        client = self._there()
        self.pump()
        client.handle.kill()
        self.pump()
        proven = self._proven()
        for signal_id, shows in self.shows.items():
            if shows[-1].life == self.life and signal_id not in proven:
                self.unproven[signal_id] = self.unproven.get(signal_id, 0) + 1
        self._after()

    def exit(self) -> None:
        """`/exit`."""
        client = self._there()
        self.pump()
        try:
            client.exit(timeout=PATIENCE)
        except ClientError as error:
            self.left.append(f"client {client.pid} does not end: {str(error).splitlines()[0]}")
        self.pump()
        self._after()

    def _after(self) -> None:
        client = self._there()
        handle = self._loop()
        if handle is not None and not handle.wait(PATIENCE):
            self.left.append(f"loop {handle.pid} of session {self.number}")
        self.stop_watching_loop()
        if self.server_stopped and self.server_lives:
            client._server_handles[self.server_pid].send_signal(18)  # SIGCONT
        for pid, server in client._server_handles.items():
            if not server.wait(PATIENCE):
                self.left.append(f"server {pid} of session {self.number}")
        client.close()
        self.client, self.frozen, self.server_stopped, self.server_pid = None, False, False, 0

    # ---- what is told

    def pump(self) -> None:
        """Take in what the client and the loop have told since."""
        if self.client is None:
            return
        events = self.client._events.all
        self.client._take_what_is_there()
        for event in events:
            if event["event"] == "request":
                self._given(event["kind"], event["texts"])
            elif event["event"] == "server" and event["pid"]:
                self.server_key, self.server_pid = event["key"], event["pid"]
        events[:] = [event for event in events if event["event"] in _KEPT][-64:]
        if self.usable:
            for line in self._printed():
                self._given("loop", [line])
                self.client.append_transcript(rows.notification(line, int(time.time() * 1000)))

    def _given(self, kind: str, texts: list[str]) -> None:
        if kind not in ("channel", "peer", "hook", "loop", "tool"):
            return
        given: list[str] = []
        for text in texts:
            shown, named = headers.read_back(text)
            # A Stop hook that blocks puts one text into a request twice (both clients); two events are two.
            given += [one for one in shown if kind != "hook" or one not in given]
            self.to_read |= bool(named)
        for signal_id in given:
            self.shows.setdefault(signal_id, []).append(Show(self.life, kind))

    def _printed(self) -> Iterator[str]:
        if not self._monitor_folder:
            return
        lines = _text(os.path.join(self._monitor_folder, "out")).split("\n")[:-1]
        for line in lines[self._lines :]:
            self._lines += 1
            yield line

    def _loop(self) -> ProcessHandle | None:
        if self.monitor is None and self._monitor_folder:
            pid = _text(os.path.join(self._monitor_folder, "pid")).strip()
            try:
                self.monitor = ProcessHandle(int(pid)) if pid else None
            except ProcessLookupError:
                return None
        return self.monitor

    def _long_past(self) -> None:
        """A transcript longer than any look at it, so that what its server holds does not grow with it."""
        lines = [
            rows.assistant(f"msg_{number}", _LONG_AGO + number, [{"type": "text", "text": _WORDS}])
            for number in range(500)
        ]
        for _ in range(_LONG // (500 * len(_WORDS))):
            self._there().append_transcript(*lines)

    def _mode(self) -> None:
        """The row from which it is read that text may be shown; the client writes it at each start of a session."""
        row = {"type": "permission-mode", "permissionMode": "default", "sessionId": self.id}
        self._there().append_transcript(row)

    def _proven(self) -> set[str]:
        """The signals that the transcripts of this session show to have been given, read as the product reads them."""
        found: set[str] = set()
        for one in self.ids:
            path = transcript.find(os.path.join(self.root, "home", ".claude"), one)
            at, more = 0, path is not None
            while path is not None and more:
                part = transcript.since(path, at)
                for told in (*proof.shown(part), *proof.tool_results(part, evidence.READERS, proof.calls(part))):
                    found |= headers.read_back(told.text)[0]
                at, more = part.end, part.more
        return found

    def _there(self) -> FakeClient:
        assert self.client is not None
        return self.client


def _order(number: int, argv: list[str]) -> bytes:
    import json

    return json.dumps({"n": number, "do": "spawn", "argv": argv, "env": {}}).encode() + b"\n"


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
