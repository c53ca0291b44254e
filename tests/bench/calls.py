"""Many calls of a running server, timed by a client that costs next to nothing.

Owns the two callers: the C program `caller.c`, and where no compiler is, the same loops in Python. Every answer
is checked afterwards: a call that failed fast is no result.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.bench.server import BrokenServerError, check, encoded
from tests.support import wire

if TYPE_CHECKING:
    from tests.bench.server import Server


@dataclass(frozen=True)
class Timing:
    """Nanoseconds: of each call where they were made one after the other, and of all together."""

    each: list[int]
    total: int


class Caller:
    """Makes calls; `program` is the compiled caller.c, or None for the Python loops. `scratch` is a folder."""

    def __init__(self, program: str | None, scratch: str) -> None:
        self._program = program
        self._requests = os.path.join(scratch, "requests")
        self._answers = os.path.join(scratch, "answers")
        self._next_id = 100

    @property
    def words(self) -> str:
        """What makes the calls, for the reader of a table."""
        return "a C client" if self._program else "a Python client (there is no C compiler)"

    def run(self, server: Server, count: int, *, pipelined: bool) -> Timing:
        """Call the row's tool `count` times: one after the other, or all at once."""
        ids = range(self._next_id, self._next_id + count)
        self._next_id += count
        row = server.row
        requests = b"".join(encoded(wire.tools_call(number, row.tool, row.arguments)) for number in ids)
        timing, answers = (
            self._compiled(server, requests, pipelined) if self._program else _plain(server, requests, pipelined)
        )
        try:
            found = [json.loads(line) for line in answers.splitlines()]
            answered = {answer["id"] for answer in found if check(answer, answer["id"])}
        except (ValueError, LookupError, TypeError):
            answered = set()
        if answered != set(ids):
            raise BrokenServerError(f"{row.title} answered calls wrongly: {answers[:200]!r}")
        return timing

    def _compiled(self, server: Server, requests: bytes, pipelined: bool) -> tuple[Timing, bytes]:
        with open(self._requests, "wb") as file:
            file.write(requests)
        ran = subprocess.run(
            [str(self._program), self._requests, self._answers, "all" if pipelined else "one"],
            stdin=server.from_server.fileno(),
            stdout=server.to_server.fileno(),
            stderr=subprocess.PIPE,
            check=False,
            timeout=300,
        )
        if ran.returncode:
            raise BrokenServerError(f"{server.row.title}: {ran.stderr.decode(errors='replace').strip()}")
        *each, total = map(int, ran.stderr.split())
        with open(self._answers, "rb") as file:
            return Timing(each, total), file.read()


def _plain(server: Server, requests: bytes, pipelined: bool) -> tuple[Timing, bytes]:
    began = time.perf_counter_ns()
    if pipelined:
        together = _all(server, requests)
        return Timing([], time.perf_counter_ns() - began), together
    send, receive = server.to_server.sendall, server.from_server.recv
    each, answers = [], []
    for line in requests.splitlines(keepends=True):
        start = time.perf_counter_ns()
        send(line)
        answer = receive(1 << 20)
        while not answer.endswith(b"\n"):
            answer += receive(1 << 20)
        each.append(time.perf_counter_ns() - start)
        answers.append(answer)
    return Timing(each, time.perf_counter_ns() - began), b"".join(answers)


def _all(server: Server, requests: bytes) -> bytes:
    count, view, answers = requests.count(b"\n"), memoryview(requests), bytearray()
    poll = select.poll()
    poll.register(server.from_server, select.POLLIN)
    poll.register(server.to_server, select.POLLOUT)
    done = 0
    server.to_server.setblocking(False)
    while done < count:
        for fd, _ in poll.poll():
            if fd == server.from_server.fileno():
                got = server.from_server.recv(1 << 16)
                done += got.count(b"\n")
                answers += got
                if not got:
                    raise BrokenServerError(f"{server.row.title} ended")
            else:
                view = view[server.to_server.send(view[: 1 << 16]) :]
                if not view:
                    poll.unregister(server.to_server)
    server.to_server.setblocking(True)
    return bytes(answers)
