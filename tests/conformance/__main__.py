"""`python -m tests.conformance [--cheap] [SERVER]`: independent clients and odd input against one server.

SERVER is an executable or a zipapp; by default bin/ways-mcp, else dist/ways-mcp.pyz. `--cheap` runs the odd input
and the Python SDK's client alone. Everything runs with a throw-away home. Exits 1 where a check fails, or where one
could not be run in CI (`CI=true`); elsewhere one that could not be run is named.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from build.launch import interpreter

from build import ROOT
from tests.bench.cache import Cache, UnavailableError, clean_environment
from tests.conformance import clients, odd_inputs
from tests.conformance.outcome import Outcome, Target
from tests.support.wire import WireError

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = {True: "pass", False: "FAIL", None: "not run"}


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Check the server by others.")
    parser.add_argument("server", nargs="?", metavar="SERVER", help="an executable or a zipapp")
    parser.add_argument("--cheap", action="store_true", help="only what needs no npm and little time")
    options = parser.parse_args(arguments)
    server = os.path.abspath(options.server or _built())
    if not os.path.exists(server):
        sys.stderr.write(f"{server} is not there: `make zipapp` or `make ways-mcp` builds the server.\n")
        return 2
    cache = Cache("conformance")
    with tempfile.TemporaryDirectory(prefix="agent-ways-conformance-") as home:
        target = Target(_command(server), _environment(home))
        outcomes = _contained("odd input", lambda: odd_inputs.run(target))
        for client in clients.CHEAP if options.cheap else clients.ALL:
            name = client.__name__.replace("_", " ")
            outcomes += _contained(name, lambda client=client: client(cache, target))  # type: ignore[misc]
        outcomes.append(_nothing_left(home))
    width = max(len(outcome.name) for outcome in outcomes)
    for outcome in outcomes:
        sys.stdout.write(f"{outcome.name.ljust(width)}  {WORDS[outcome.passed]:7}  {outcome.detail[:160]}\n")
    counts = {word: sum(WORDS[outcome.passed] == word for outcome in outcomes) for word in WORDS.values()}
    sys.stdout.write(f"\n{server}: " + ", ".join(f"{count} {word}" for word, count in counts.items()) + "\n")
    in_ci = os.environ.get("CI", "").lower() in ("true", "1")
    return 1 if counts["FAIL"] or (in_ci and counts["not run"]) else 0


def _built() -> str:
    command = os.path.join(ROOT, "bin", "ways-mcp")
    return command if os.path.exists(command) else os.path.join(ROOT, "dist", "ways-mcp.pyz")


def _command(server: str) -> tuple[str, ...]:
    return (interpreter(), "-I", "-S", server) if server.endswith(".pyz") else (server,)


def _environment(home: str) -> dict[str, str]:
    env = {name: value for name, value in clean_environment().items() if not name.startswith("XDG_")}
    return {**env, "HOME": home}


def _contained(name: str, run: Callable[[], list[Outcome]]) -> list[Outcome]:
    """A client that breaks fails its own line."""
    try:
        return run()
    except UnavailableError as error:
        return [Outcome(name, None, str(error))]
    except (WireError, ValueError, LookupError, TypeError, OSError, subprocess.TimeoutExpired) as error:
        return [Outcome(name, passed=False, detail=" ".join(str(error).split()))]


def _nothing_left(home: str) -> Outcome:
    """No session ran here, so no server may have written anything."""
    state = os.path.join(home, ".local", "state")
    found = [os.path.join(folder, name) for folder, _, files in os.walk(state) for name in files]
    return Outcome("nothing left behind", not found, ", ".join(found) or "no file below the state root")


if __name__ == "__main__":
    sys.exit(main())
