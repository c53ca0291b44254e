"""The measuring itself: servers in turn, round by round, medians.

Owns the phases and what each figure is. Must not know what the figures should be (`figures.py`), nor how they are
shown.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.bench import proc
from tests.bench.server import BrokenServerError, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.bench.calls import Caller
    from tests.bench.commands import Command
    from tests.bench.rows import Row

COPIES = 20
SETTLE = 0.3
"""Seconds from the first answer to a look at memory."""
REST = 2.0
"""Seconds from the last answer until a server counts as idle."""

LEAST = ("init_ms", "run_ms")
"""Of these the least of all rounds is kept, too."""

Figures = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is measured."""

    rounds: int
    idle: float
    warm_up: int
    """Calls until a heap is as large as it gets: ours grows by 200 KiB in the first 2,000, then not at all."""
    blocks: int
    calls: int
    """Calls one by one in a block."""
    bursts: int
    pipelined: int
    """Calls all at once in a burst."""
    old: int
    """Old signals in the bus with the long history."""
    pushes: int
    """Messages to an idle session."""


FULL = Size(rounds=21, idle=20.0, warm_up=2000, blocks=50, calls=200, bursts=7, pipelined=2000, old=100_000, pushes=50)
QUICK = Size(rounds=5, idle=5.0, warm_up=500, blocks=10, calls=100, bursts=3, pipelined=1000, old=10_000, pushes=10)


@dataclass
class Bench:
    """One run. `results` has the figures of each row by its key; `broken` the rows that failed, with the reason."""

    rows: list[Row]
    python: str
    env: dict[str, str]
    size: Size
    caller: Caller
    commands: list[Command] = field(default_factory=list)
    results: dict[str, Figures] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """All phases, each with every row in turn."""
        for row in self.rows:
            self.results[row.key] = {}
        whole = [row for row in self.rows if not row.calls_only]
        self._say("start and exit")
        for command in self.commands:
            self._try(command, command.check)
        self._starts(whole)
        self._say(f"memory of one copy and of {COPIES}")
        self._each(whole, self._one_copy)
        self._each(whole, self._copies)
        self._say(f"{self.size.idle:.0f} s of rest, then calls")
        with ExitStack() as stack:
            servers: list[Server] = []
            self._each(self.rows, lambda row: servers.append(stack.enter_context(self._ready(row))))
            self._rest([server for server in servers if not server.row.calls_only])
            self._calls(servers)

    @property
    def measured(self) -> list[Row]:
        """The rows that went through."""
        return [row for row in self.rows if row.key not in self.broken]

    def _each(self, rows: Iterable[Row], act: Callable[[Row], None]) -> None:
        for row in rows:
            self._try(row, lambda row=row: act(row))  # type: ignore[misc]

    def _try(self, what: Row | Command, act: Callable[[], None]) -> None:
        if what.key in self.broken:
            return
        try:
            act()
        except (BrokenServerError, OSError) as error:
            self.broken[what.key] = f"{what.title}: {error}"

    def _ready(self, row: Row) -> Server:
        server = Server(row, self.env)
        try:
            server.initialize()
            server.list_tools()
            server.call()
        except BaseException:
            server.leave()
            raise
        return server

    # ---- start

    def _starts(self, rows: list[Row]) -> None:
        times: dict[str, list[Figures]] = {key: [] for key in self._keys(rows)}
        bare: list[float] = []
        for number in range(self.size.rounds + 2):
            begun = self._bare()
            self._each(rows, lambda row: times[row.key].append(self._start(row)))
            for each in self.commands:
                self._try(each, lambda each=each: times[each.key].append({"run_ms": each.run()}))  # type: ignore[misc]
            if number < 2:  # the first starts write bytecode and fill the page cache
                for kept in times.values():
                    kept.clear()
            else:
                bare.append(begun)
        self.results["bare"] = {"init_ms": statistics.median(bare), "init_least_ms": min(bare)}
        for key, kept in times.items():
            if key not in self.broken:
                found = {name: statistics.median(one[name] for one in kept) for name in kept[0]}
                least = {f"{name[:-3]}_least_ms": min(one[name] for one in kept) for name in kept[0] if name in LEAST}
                self.results[key] = {**self.results.get(key, {}), **found, **least}

    def _keys(self, rows: list[Row]) -> list[str]:
        return [row.key for row in rows] + [command.key for command in self.commands]

    def _bare(self) -> float:
        """Milliseconds that `python3 -I -S -c pass` takes from before its start to after its end."""
        command = (self.python, "-I", "-S", "-c", "pass")
        began = time.perf_counter_ns()
        os.waitpid(os.posix_spawn(command[0], command, self.env), 0)
        return (time.perf_counter_ns() - began) / 1e6

    def _start(self, row: Row) -> Figures:
        with Server(row, self.env) as server:
            server.initialize()
            initialized = time.perf_counter_ns()
            server.list_tools()
            server.call()
            called = time.perf_counter_ns()
            return {
                "init_ms": (initialized - server.started_ns) / 1e6,
                "tool_ms": (called - server.started_ns) / 1e6,
                "exit_ms": server.leave(),
            }

    # ---- memory and rest

    def _one_copy(self, row: Row) -> None:
        with self._ready(row) as server:
            time.sleep(SETTLE)
            used = proc.memory(server.pid)
            self.results[row.key] |= {
                "rss_mb": used["Rss"] / 1024,
                "pss_mb": used["Pss"] / 1024,
                "private_mb": used["Private_Dirty"] / 1024,
                "processes": len(proc.tree(server.pid)),
                "threads": proc.threads(server.pid),
            }

    def _copies(self, row: Row) -> None:
        with ExitStack() as stack:
            servers = [stack.enter_context(self._ready(row)) for _ in range(COPIES)]
            time.sleep(SETTLE)
            self.results[row.key]["pss20_mb"] = statistics.mean(proc.memory(one.pid)["Pss"] / 1024 for one in servers)

    def _rest(self, servers: list[Server]) -> None:
        time.sleep(REST)
        before = [(proc.switches(server.pid), proc.processor_ns(server.pid)) for server in servers]
        time.sleep(self.size.idle)
        for server, (woken, busy) in zip(servers, before, strict=True):
            self.results[server.row.key] |= {
                "wakeups": (proc.switches(server.pid) - woken) / self.size.idle,
                "idle_cpu_ms": (proc.processor_ns(server.pid) - busy) / 1e6 / self.size.idle,
            }

    # ---- calls

    def _calls(self, servers: list[Server]) -> None:
        size = self.size
        by_key = {server.row.key: server for server in servers}
        blocks: dict[str, list[list[int]]] = {key: [] for key in by_key}
        rates: dict[str, list[float]] = {key: [] for key in by_key}
        busy = dict.fromkeys(by_key, 0)
        before: dict[str, tuple[int, int]] = {}

        def warm(row: Row) -> None:
            server = by_key[row.key]
            self.caller.run(server, size.warm_up, pipelined=False)
            before[row.key] = proc.memory(server.pid)["Rss"], proc.open_files(server.pid)

        def one_by_one(row: Row) -> None:
            server = by_key[row.key]
            began = proc.processor_ns(server.pid)
            blocks[row.key].append(self.caller.run(server, size.calls, pipelined=False).each)
            busy[row.key] += proc.processor_ns(server.pid) - began

        def sum_up(row: Row) -> None:
            server, (resident, files) = by_key[row.key], before[row.key]
            every = [took for block in blocks[row.key] for took in block]
            self.results[row.key] |= {
                "p50_us": statistics.median(every) / 1e3,
                "p50_least_us": min(statistics.median(block) for block in blocks[row.key]) / 1e3,
                "p99_us": statistics.quantiles(every, n=100)[98] / 1e3,
                "cpu_us": busy[row.key] / 1e3 / len(every),
                "grown_kb": proc.memory(server.pid)["Rss"] - resident,
                "grown_files": proc.open_files(server.pid) - files,
            }

        def together(row: Row) -> None:
            total = self.caller.run(by_key[row.key], size.pipelined, pipelined=True).total
            rates[row.key].append(size.pipelined * 1e9 / total)
            self.results[row.key]["piped"] = statistics.median(rates[row.key])

        rows = [server.row for server in servers]
        self._each(rows, warm)
        for _ in range(size.blocks):
            self._each(rows, one_by_one)
        self._each(rows, sum_up)
        for _ in range(size.bursts):
            self._each([row for row in rows if row.piped], together)

    @staticmethod
    def _say(what: str) -> None:
        sys.stderr.write(f"measuring: {what}\n")
