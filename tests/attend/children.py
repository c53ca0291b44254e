"""Real processes for the tests of `attend`: many at once, or one that is killed or stopped at a chosen system call.

Owns `Nursery` (in the test) and the small process that it starts, which forks the children; that one has one thread,
so forking it is safe, and is imported once, so a child costs milliseconds. A child acts on the bus below a home as the
product's own processes would (`TASKS`). A call is chosen by its number: the profiler counts those calls of `posix` and
`fcntl` that change something, so a test can end a child before each of them in turn without any hook in the product.
Must not know what a test shows.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, Any

from agent_ways.attend import evidence, inbox, instances, intake, ledger, retention, rooms, trays
from agent_ways.base.errors import RefusedError, WaysError
from tests.attend.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from agent_ways.attend.instances import Instance

CHANGING = frozenset(
    (
        *("mkdir", "open", "rename", "unlink", "rmdir", "write", "pwrite"),
        *("ftruncate", "fsync", "fchmod", "close", "flock", "utime"),
    )
)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Outcome:
    """How a child ended: `killed` by its signal, else with `value`, or with the `error` that it met.

    An error of ours reads "Class: message | hint"; a stopped child's value is its pid.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        self.killed: bool = raw["killed"]
        self.value: Any = raw.get("value")
        self.error: str | None = raw.get("error")


class Nursery:
    """Starts children. A context manager; those that were stopped are killed at its end."""

    def __init__(self) -> None:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join((os.path.join(ROOT, "src"), ROOT))}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.attend.children"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            cwd=ROOT,
        )

    def run(self, world: World, task: str, *args: Any, times: int = 1, **setup: Any) -> list[Outcome]:
        """Let `times` children do `task` at once and answer how they ended.

        `setup`: `at` the number of the changing call before which the child gets the signal `by` (SIGKILL by default;
        with SIGSTOP it is left stopped), `umask`, `user` (a uid), `files` (descriptors that can be opened), `patience`
        for locks.
        """
        order = {
            "home": world.home,
            "wall": world.clock.wall(),
            "monotonic": world.clock.monotonic(),
            "pids": list(world.table.processes),
            "task": task,
            "args": args,
            "times": times,
            **setup,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        return [Outcome(raw) for raw in json.loads(self._process.stdout.readline())]

    def one(self, world: World, task: str, *args: Any, **setup: Any) -> Outcome:
        """One child."""
        return self.run(world, task, *args, **setup)[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def _me(world: World, pid: int) -> Instance:
    found = instances.find(world.bus, world.identity(pid))
    if found is None:
        raise RefusedError(f"{pid} is nobody")
    return found


def _send(world: World, number: int, pid: int, body: str, *to: str) -> str:
    return world.send(_me(world, pid) if pid else None, body, *to).signal.id


def _many(world: World, number: int, count: int, *to: str) -> list[str]:
    where = [to[number % len(to)]] if to else []
    return [world.send(None, f"{number} {one}", *where).signal.id for one in range(count)]


def _drain(world: World, number: int, pid: int) -> list[str]:
    """What a drain does up to its print: proofs of earlier claims, then claims for what waits."""
    me = world.arrive(pid)
    with ledger.open_ledger(world.bus, me.key) as opened:
        slips = ledger.settled(world.bus, opened, trays.waiting(world.bus.root, me.session))
        evidence.settle(world.bus, opened, me, slips)
        slips = [slip for slip in trays.waiting(world.bus.root, me.session) if world.body(slip.id) is not None]
        taken = ledger.claim(world.bus, opened, me, slips[:10], conduit="drain", offset=evidence.transcript_end(me))
    return [slip.id for slip in taken]


def _join(world: World, number: int, pid: int, channel: str) -> bool:
    return intake.join(world.bus, world.arrive(pid + number, "joined"), channel)


def _start(world: World, number: int, pid: int) -> str:
    return world.arrive(pid + number, "sent").name


def _tidy(world: World, number: int) -> bool:
    return retention.tidy(world.bus) is not None


def _hold(world: World, number: int, name: str) -> None:
    """Take a lock and stop with it, as a suspended process does."""
    with world.bus.lock(name):
        os.kill(os.getpid(), signal.SIGSTOP)


def _read(world: World, number: int, pid: int) -> list[str]:
    """List the inbox by way of many looks, as a resident reader does; answers its descriptors before and after."""
    me = _me(world, pid)
    counts = []
    for _ in range(3):
        inbox.listing(world.bus, inbox.Viewer(world.bus, me), inbox.Filter(text="x"), 5)
        counts.append(str(len(os.listdir("/proc/self/fd"))))
    return counts


def _leave(world: World, number: int, pid: int, channel: str) -> bool:
    return rooms.leave(world.bus, _me(world, pid).key, channel)


def _dissolve(world: World, number: int, channel: str) -> str:
    return rooms.dissolve(world.bus, channel).name


def _alias(world: World, number: int, pid: int, name: str) -> int:
    return intake.take_alias(world.bus, _me(world, pid), name)


def _self(world: World, number: int, pid: int) -> list[str]:
    return [slip.id for slip in intake.take_self(world.bus, _me(world, pid + number))]


TASKS: dict[str, Callable[..., Any]] = {
    "send": _send,
    "many": _many,
    "drain": _drain,
    "join": _join,
    "start": _start,
    "tidy": _tidy,
    "hold": _hold,
    "read": _read,
    "leave": _leave,
    "dissolve": _dissolve,
    "alias": _alias,
    "self": _self,
}


def _profiler(at: int, by: int) -> Callable[[Any, str, Any], None]:
    count = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        if event == "c_call" and arg.__module__ in ("posix", "fcntl") and arg.__name__ in CHANGING:
            count += 1
            if count == at:
                os.kill(os.getpid(), by)

    return profile


def _child(order: dict[str, Any], number: int, answer: int) -> None:
    world = World(order["home"])
    world.clock._wall, world.clock._monotonic = order["wall"], order["monotonic"]
    for pid in order["pids"]:
        world.table.add(pid)
    world.bus = world.open(patience=order.get("patience", 30.0))
    if "umask" in order:
        os.umask(order["umask"])
    if "files" in order:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + order["files"], free + order["files"]))
    if "user" in order:
        os.setgid(order["user"])
        os.setuid(order["user"])
    result: dict[str, Any]
    try:
        if order.get("at"):
            sys.setprofile(_profiler(order["at"], order.get("by", signal.SIGKILL)))
        value = TASKS[order["task"]](world, number, *order["args"])
        sys.setprofile(None)
        result = {"value": value}
    except WaysError as error:
        sys.setprofile(None)
        result = {"error": f"{type(error).__name__}: {error.message} | {error.hint}"}
    except BaseException:  # noqa: BLE001  # whatever it is, the test must read it
        sys.setprofile(None)
        result = {"error": traceback.format_exc()}
    os.write(answer, json.dumps(result).encode())
    os._exit(0)


def _order(order: dict[str, Any]) -> tuple[list[dict[str, Any]], list[int]]:
    """Fork, let all begin at once, and collect; answers the outcomes and the pids of those that were left stopped."""
    gate, opener = os.pipe()
    children = []
    for number in range(order["times"]):
        answer, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(opener)
            os.close(answer)
            os.read(gate, 1)
            _child(order, number, write)
        os.close(write)
        children.append((pid, answer))
    os.close(gate)
    os.close(opener)
    outcomes, stopped = [], []
    for pid, answer in children:
        found, status = os.waitpid(pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            stopped.append(found)
            os.close(answer)
            outcomes.append({"killed": False, "value": found})
            continue
        data = b""
        while more := os.read(answer, 65536):
            data += more
        os.close(answer)
        outcomes.append({"killed": os.WIFSIGNALED(status), **(json.loads(data) if data else {})})
    return outcomes, stopped


def main() -> None:
    """Take orders, one JSON object a line, until the end of the input."""
    b"{}".decode("utf-8-sig")  # a child that is another user may not be able to import what is loaded late
    left: list[int] = []
    for line in sys.stdin:
        outcomes, stopped = _order(json.loads(line))
        left += stopped
        sys.stdout.write(json.dumps(outcomes) + "\n")
        sys.stdout.flush()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
