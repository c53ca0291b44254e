"""The test's end of the control socket: the fake client's process, its events, its answers.

Owns `ClientLink`: start, commands, bounded waits, and an end that leaves no process behind. Must not know what the
commands mean; `FakeClient` does.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from tests.support.messages import JSON, WAIT
from tests.support.processes import ProcessHandle

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.plan import Plan

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

_BOOTSTRAP = "import sys; sys.path.insert(0, {root!r}); from tests.support.fake_client_process import run; run({fd})"


class ClientError(AssertionError):
    """What the test waited for did not come, or the client refused a command; carries the last events."""


@dataclass
class _Events:
    all: list[JSON] = field(default_factory=list)
    answers: dict[int, JSON] = field(default_factory=dict)
    descriptors: list[int] = field(default_factory=list)


class ClientLink:
    """One client process and what it tells. A context manager; see `close`."""

    def __init__(self, plan: Plan) -> None:
        """`plan` names every place."""
        self.plan = plan
        self.survivors: list[int] = []
        """After `close`: the pids that had to be killed."""
        self._events = _Events()
        self._partial = b""
        self._number = 0
        self._open = True
        self._server_handles: dict[int, ProcessHandle] = {}
        self._stderr_path = os.path.join(self.plan.socket_dir, "stderr")
        self._control, theirs = socket.socketpair()
        self.process = self._start(theirs)
        self.handle = ProcessHandle(self.process.pid)
        self._control.settimeout(WAIT)
        self._control.sendall(json.dumps(self.plan.to_json()).encode() + b"\n")
        try:
            self.started = self.wait_event("started")
        except BaseException:
            self.close()
            raise

    def _start(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        plan = self.plan
        bootstrap = _BOOTSTRAP.format(root=REPOSITORY, fd=theirs.fileno())
        python_env = {"PYTHONHOME": f"{sys.base_prefix}:{sys.base_exec_prefix}", "PYTHONSAFEPATH": "1"}
        with open(self._stderr_path, "wb") as stderr, theirs:
            process = subprocess.Popen(
                _arguments(plan, bootstrap),
                executable=os.path.realpath(sys.executable),
                stdin=subprocess.PIPE,
                stdout=stderr,
                stderr=stderr,
                env={**plan.env, **python_env},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        if process.stdin is not None:
            process.stdin.write(bootstrap.encode())
            process.stdin.close()
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The client's pid."""
        return self.process.pid

    def events(self, kind: str) -> list[JSON]:
        """Everything of that kind so far, oldest first."""
        self._take_what_is_there()
        return [event for event in self._events.all if event["event"] == kind]

    def wait_event(
        self,
        kind: str,
        where: Callable[[JSON], bool] = lambda _event: True,
        *,
        count: int = 1,
        timeout: float = WAIT,
    ) -> JSON:
        """The `count`-th event of that kind that satisfies `where`, from the start of the client on."""
        end = time.monotonic() + timeout
        while True:
            found = [event for event in self._events.all if event["event"] == kind and where(event)]
            if len(found) >= count:
                return found[count - 1]
            self._pump(end, f"event {kind!r} number {count} (there were {len(found)})")

    def close(self) -> None:
        """End everything that this client started. Safe to call twice."""
        if not self._open:
            return
        self._open = False
        if self.handle.alive:
            self.handle.send_signal(signal.SIGCONT)
            self.handle.send_signal(signal.SIGTERM)
            if not self.handle.wait(3):
                self.survivors.append(self.pid)
                self.handle.kill()
        self._drain_events()
        for fd in self._events.descriptors:
            _close_if_open(fd)
        for handle in self._server_handles.values():
            if not handle.wait(1):
                self.survivors.append(handle.pid)
                handle.kill()
            handle.close()
        self._kill_group()
        self.process.wait()
        self.handle.close()
        self._control.close()
        shutil.rmtree(self.plan.socket_dir, ignore_errors=True)

    # ---- within

    def _kill_group(self) -> None:
        """Whatever else was started below the client. Its zombie keeps the group's number from being used again."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # nobody there (macOS says it the second way for a zombie)

    def _do(self, verb: str, *, timeout: float = WAIT, **arguments: Any) -> Any:
        self._number += 1
        number = self._number
        self._control.sendall(json.dumps({"n": number, "do": verb, **arguments}).encode() + b"\n")
        end = time.monotonic() + timeout
        while number not in self._events.answers:
            self._pump(end, f"the answer to {verb!r}")
        answer = self._events.answers.pop(number)
        if "error" in answer:
            raise self._error(f"{verb}: {answer['error']}")
        return answer.get("value")

    def _result(self, answer: JSON) -> JSON:
        if "result" not in answer:
            raise self._error(f"tools/call was refused: {answer}")
        result: JSON = answer["result"]
        return result

    def _wait_gone(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not self.handle.wait(0):
            self._pump(end, "the client to end")
        self._drain_events()

    def _pump(self, end: float, waiting_for: str) -> None:
        """Wait for the client to say something, and take it."""
        left = end - time.monotonic()
        ready = select.select([self._control], [], [], max(0.0, left))[0]
        if not ready:
            raise self._error(f"waited in vain for {waiting_for}")
        if not self._receive():
            if self.handle.wait(min(1.0, max(0.0, left))) and waiting_for == "the client to end":
                return
            raise self._error(f"the client is gone; waited for {waiting_for}")

    def _take_what_is_there(self) -> None:
        while self._open and select.select([self._control], [], [], 0)[0] and self._receive():
            pass

    def _drain_events(self) -> None:
        while select.select([self._control], [], [], 0)[0] and self._receive():
            pass

    def _receive(self) -> bool:
        try:
            data, descriptors, _flags, _address = socket.recv_fds(self._control, 1 << 20, 4)
        except ConnectionResetError:
            return False
        self._events.descriptors += descriptors
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        return bool(data)

    def _take(self, event: JSON) -> None:
        if event["event"] == "answer":
            self._events.answers[event["n"]] = event
            return
        if event["event"] == "server" and event["pid"] and event["pid"] not in self._server_handles:
            try:
                self._server_handles[event["pid"]] = ProcessHandle(event["pid"])
            except ProcessLookupError:
                pass  # it was that quick; its server_exit tells how
        self._events.all.append(event)

    def _error(self, problem: str) -> ClientError:
        tail = "\n".join(f"  {json.dumps(event)[:400]}" for event in self._events.all[-12:])
        try:
            with open(self._stderr_path, encoding="utf-8", errors="replace") as file:
                own = file.read()[-2000:]
        except OSError:
            own = ""
        return ClientError(f"{problem}\n{tail}\nthe fake client's own stderr: {own or '(nothing)'}")


def _arguments(plan: Plan, bootstrap: str) -> list[str]:
    """Arguments for the interpreter that take exactly as many bytes as `argv`: it reads its program from stdin.

    The client then writes `argv` over them (see `fake_client_process.show_command_line`).
    """
    first, *others = plan.argv
    if not plan.exact_argv:
        return [first, "-c", bootstrap, *others]
    room = sum(len(os.fsencode(word)) + 1 for word in others)
    if room == 0:
        return [first]
    if room == 1:
        raise ValueError("a command line of one empty argument can not be shown")
    return [first, "-"] if room == 2 else [first, "-", "x" * (room - 3)]


def _close_if_open(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        pass  # the test closed it
