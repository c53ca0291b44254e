"""`python -m tests.bench [--quick] [--json FILE] [--zipapp FILE] [--only ROW ...]`, which `make bench` runs.

Prints three tables: what was measured for each server, for each command, and which of the figures to hold do hold.
Exits 0 with whatever is in them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from build.launch import interpreter

from build import ROOT
from tests.bench import peers, table
from tests.bench.cache import Cache, UnavailableError, clean_environment
from tests.bench.calls import Caller
from tests.bench.commands import commands, session
from tests.bench.figures import BARE, verdicts
from tests.bench.measures import FULL, QUICK, Bench
from tests.bench.pushes import PUSH, pushes
from tests.bench.rows import HERE, Machine, available, frozen_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure the server beside others.")
    parser.add_argument("--quick", action="store_true", help="few rounds: an impression, not a result")
    parser.add_argument("--json", metavar="FILE", help="also write what was measured to FILE")
    parser.add_argument("--zipapp", metavar="FILE", help="measure this one (else one is built from the checkout)")
    parser.add_argument("--only", metavar="ROW", nargs="+", help="measure only these servers, by their keys")
    options = parser.parse_args(arguments)
    if not sys.platform.startswith("linux"):
        sys.stdout.write("The bench reads /proc, which only Linux has; there is nothing to run here.\n")
        return 0
    cache = Cache("bench")
    with tempfile.TemporaryDirectory(prefix="agent-ways-bench-") as scratch:
        machine = Machine(interpreter(), options.zipapp or _built(scratch), cache)
        rows, absent = available(machine, peers.SERVERS)
        rows = [row for row in rows if not options.only or row.key in options.only]
        try:
            program = cache.program(os.path.join(HERE, "caller.c"))
        except UnavailableError:
            program = None
        caller = Caller(program, scratch)
        size = QUICK if options.quick else FULL
        hot = [] if options.only else commands(scratch, frozen_folder(), size.old)
        try:
            hot += [] if options.only else peers.hcom(machine, scratch)
        except UnavailableError as error:
            absent.append(f"hcom: {error}")
        bench = Bench(rows, machine.python, session(scratch, "home")[0], size, caller, hot)
        began = time.monotonic()
        bench.run()
        if not options.only:
            bench.results[PUSH] = pushes((machine.python, "-I", "-S", machine.zipapp), scratch, size.pushes)
        left = sorted(_left_behind(scratch))
        bench.results[BARE]["left_behind"] = len(left)
    hot = [command for command in hot if command.key not in bench.broken]
    keys = [
        BARE,
        *([] if options.only else [PUSH]),
        *(row.key for row in bench.measured),
        *(command.key for command in hot),
    ]
    results = {key: bench.results[key] for key in keys}
    sys.stdout.write(
        f"\nPython {sys.version.split()[0]} at {machine.python}, {os.cpu_count()} processors, "
        f"{size.rounds} rounds, {size.blocks * size.calls:,} calls one by one and {size.bursts} bursts of "
        f"{size.pipelined:,} by {caller.words}, "
        f"{time.monotonic() - began:.0f} s; ratios to the zipapp in parentheses\n\n"
        f"{table.measured(bench.measured, results)}\n\n{table.run(hot, results)}\n\n{table.pushed(results)}"
        f"{table.judged(results)}\n"
    )
    for name in left:
        sys.stdout.write(f"left behind: {name}\n")
    for reason in (*absent, *bench.broken.values()):
        sys.stdout.write(f"not measured: {reason}\n")
    if options.json:
        _write(options.json, results)
    return 0


def _built(scratch: str) -> str:
    path = os.path.join(scratch, "ways-mcp.pyz")
    command = [interpreter(), "-E", "-s", "-m", "build.zipapp", "--output", path]
    subprocess.run(command, cwd=ROOT, env=clean_environment(), stdout=subprocess.DEVNULL, check=True)
    return path


def _left_behind(scratch: str) -> Iterator[str]:
    """Files in the home that nobody means to keep: not the client's session record, not what the bus keeps.

    Markers, sockets and whatever else lies about are in it, and a file in the bus whose writing was cut short.
    """
    home = os.path.join(scratch, "home")
    bus = os.path.join(".local", "state", "agent-ways", "attend", "")
    for folder, _, files in os.walk(home):
        if os.path.basename(folder) == "sessions":
            continue
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), home)
            if not path.startswith(bus) or name.startswith("."):
                yield path


def _write(path: str, results: dict[str, dict[str, float]]) -> None:
    judged = [
        {
            "figure": one.figure.name,
            "hold": one.figure.hold,
            "aim": one.figure.aim,
            "measured": one.measured,
            "holds": one.holds,
        }
        for one in verdicts(results)
    ]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"measured": results, "figures": judged}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
