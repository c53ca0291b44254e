"""`make soak`: many sessions in a storm, and then the reckoning. `ARGS='--minutes 20 --sessions 40 --seed 7'`.

Prints its seed, with which the same acts come again (their moments depend on the machine), and a table. Ends with 1
where a signal was lost, shown too often, claimed to be seen and was not, or anything was left behind or has grown.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from agent_ways.attend import retention
from tests.soak.account import Account, account, left_behind
from tests.soak.measure import Series
from tests.soak.session import ROOT, Session
from tests.soak.storm import Storm

NAMESPACE = ("unshare", "-rm")
DISK = "size=96m,mode=0700"
SAMPLED_EVERY = 5.0


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if not options.inside and _may_mount():
        words = [*NAMESPACE, sys.executable, "-m", "tests.soak", *sys.argv[1:], "--inside", "--seed", str(options.seed)]
        return subprocess.run(words, cwd=ROOT, env=_environment(), check=False).returncode
    folder = tempfile.mkdtemp(prefix="soak-")
    try:
        return _run(folder, options)
    finally:
        if options.inside:
            subprocess.run(["umount", "-l", _state(folder)], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def _run(folder: str, options: argparse.Namespace) -> int:
    os.makedirs(_state(folder))
    if options.inside:
        subprocess.run(["mount", "-t", "tmpfs", "-o", DISK, "tmpfs", _state(folder)], check=True)
    print(f"soak: seed {options.seed}, {options.sessions} sessions, {options.minutes:g} minutes", flush=True)
    chance = random.Random(options.seed)
    storm = Storm(folder, options.sessions, chance, disk=_state(folder) if options.inside else None)
    try:
        storm.begin()
        measured = [Series(session.server_pid) for session in storm.sessions if session.calm]
        started = time.monotonic()
        seconds = options.minutes * 60
        _storm(storm, measured, started + seconds, options.rate, spells=max(1, int(seconds // 120)))
        storm.settle(options.patience)
        for series in measured:
            series.take()
        took = time.monotonic() - started
        found = account(storm)
    finally:
        for session in storm.sessions:
            if session.client is not None:
                session.exit()
    _sweep(storm)
    found.faults += left_behind(storm, storm.run)
    found.faults += [f"server {series.pid} has grown: {series.samples}" for series in measured if not series.flat]
    _print(storm, found, measured, took)
    return 1 if found.faults else 0


def _storm(storm: Storm, measured: list[Series], end: float, rate: float, spells: int) -> None:
    now = time.monotonic()
    full = [now + (end - now) * (number + 0.5) / spells for number in range(spells)]
    sampled = now
    while (now := time.monotonic()) < end:
        if full and now >= full[0]:
            full.pop(0)
            storm.fill_disk()
        if now >= sampled:
            sampled = now + min(SAMPLED_EVERY, (end - now) / 4 + 0.5)
            for series in measured:
                series.take()
        storm.step()
        time.sleep(max(0.0, now + 1 / rate - time.monotonic()))


def _sweep(storm: Storm) -> None:
    """What the product's own tidying is for: a server that starts takes dead markers away, cleanup old remains."""
    last = Session(storm.sessions[0].root, len(storm.sessions), "socket", calm=True, chance=storm.chance, run=storm.run)
    last.start()
    if last.client is not None:
        last.client.wait_handshake()
        last.call("ways_status", {})
    last.exit()
    storm.bus.clock = lambda: time.time() + 7_200  # type: ignore[misc]  # remains of the last hour count as in use
    retention.tidy(storm.bus)


def _print(storm: Storm, found: Account, measured: list[Series], took: float) -> None:
    rows: list[tuple[str, object]] = [
        ("seconds, settling included", f"{took:.0f}"),
        ("lives of clients", sum(session.life for session in storm.sessions)),
        *sorted(storm.done.items()),
        ("signals on the bus", found.signals),
        ("deliveries (signal and recipient)", found.deliveries),
        ("shown once", found.once),
        ("shown again after a kill between show and proof", found.repeated),
        ("read from the inbox", found.read),
        ("still queued", found.queued),
        *((f"first shown by {kind}", count) for kind, count in sorted(found.by_kind.items())),
        *((f"trouble: {name}", count) for name, count in sorted(storm.trouble.items())),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"  {name:<{width}}  {value}")
    print("  servers measured: PSS, private memory in KB and descriptors, first and last of their samples")
    for series in measured:
        if series.samples:
            one, other = series.samples[0], series.samples[-1]
            print(f"    {one.pss} {one.private} {one.files}  ->  {other.pss} {other.private} {other.files}")
    if storm.disk is None:
        print("  no small disk can be mounted here, so none was full")
    for fault in found.faults[:50]:
        print(f"FAULT {fault}")
    print(f"soak: {len(found.faults)} faults")


def _state(folder: str) -> str:
    return os.path.join(folder, "home", ".local", "state")


def _may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)
    return tried.returncode == 0


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join((os.path.join(ROOT, "src"), ROOT))}


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    parser.add_argument("--rate", type=float, default=8.0, help="acts in a second")
    parser.add_argument("--patience", type=float, default=90.0, help="seconds for mail to arrive at the end")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
