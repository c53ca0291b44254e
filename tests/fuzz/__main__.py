"""`make fuzz`: the long hunt. `ARGS='--minutes 10 --target signals --seed 7'`; without a target, all of them in turn.

A fault's input is written to `tests/fuzz/seeds/<target>/`, made as small as it goes; the tests then meet it each time.
Ends with a table, and with 1 where anything was found.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time

from tests.fuzz.engines import SHARE, Hunt, guided, pumped, structured, told, with_atheris
from tests.fuzz.target import load, names


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if options.worker:
        with_atheris(options.worker, options.seed, options.seconds, options.report)
        return 0
    has = importlib.util.find_spec("atheris") is not None
    engine = options.engine or ("atheris" if has else "settrace")
    if engine == "atheris" and not has:
        print("fuzz: atheris is not installed: pip install 'atheris>=3,<4', or --engine settrace", file=sys.stderr)
        return 2
    chosen = options.target or list(names())
    seconds = options.minutes * 60 / len(chosen)
    print(f"fuzz: engine {engine}, seed {options.seed}, {seconds:.0f} s for each of {len(chosen)} targets", flush=True)
    rows, found = [], 0
    for name in chosen:
        hunt, runs = _hunt(name, engine, options.seed, seconds)
        found += len(hunt.found)
        rows.append((name, hunt.runs - runs, runs, hunt.steps or "-", hunt.corpus or "-", len(hunt.found)))
        print(_row(rows[-1]), flush=True)
    print("\n" + "\n".join(map(_row, [("target", "structured", engine, "steps", "corpus", "faults"), *rows])))
    print(f"{sum(row[1] + row[2] for row in rows)} inputs, {found} kinds of faults")
    return 1 if found else 0


def _hunt(name: str, engine: str, seed: int, seconds: float) -> tuple[Hunt, int]:
    """One target's time; the hunt, and how many of its runs were the byte engine's."""
    hunt = Hunt(load(name))
    start = time.monotonic()
    structured(hunt, seed, seconds * SHARE)
    pumped(hunt, seed, seconds * 0.1)
    before, left = hunt.runs, max(1.0, seconds - (time.monotonic() - start))
    if engine == "settrace":
        guided(hunt, seed, left)
        return hunt, hunt.runs - before
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        report = os.path.join(folder, "report")
        words = ("--worker", name, "--seed", str(seed), "--seconds", str(left), "--report", report)
        env = {**os.environ, "TMPDIR": folder}
        ran = subprocess.run([sys.executable, "-m", "tests.fuzz", *words], env=env, stderr=subprocess.PIPE, check=False)
        (_, runs), *faults = told(report)
        hunt.found |= dict(faults)
        hunt.runs += int(runs)
    if ran.returncode:
        words_of_it = ran.stderr.decode("utf-8", "replace")[-2000:]
        print(f"fuzz: {name}: the engine itself ended with {ran.returncode}\n{words_of_it}", file=sys.stderr)
        hunt.found[f"the engine ended with {ran.returncode}"] = ""
    return hunt, hunt.runs - before


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for all targets together")
    parser.add_argument("--target", action="append", choices=names(), help="only this one (may be repeated)")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    parser.add_argument("--engine", choices=("atheris", "settrace"), help="by default atheris where it is installed")
    for name, kind in (("worker", str), ("seconds", float), ("report", str)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _row(row: tuple[object, ...]) -> str:
    return "  " + "".join(f"{cell!s:<14}" for cell in row)


if __name__ == "__main__":
    sys.exit(main())
