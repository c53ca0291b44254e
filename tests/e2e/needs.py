"""What the suite needs of a machine, and whether going without it is a failure.

Must not know how any of it is used.
"""

from __future__ import annotations

import os
import shutil
import sys

from tests.e2e import namespace
from tests.e2e.clients import says_its_version, tracked

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def product(environ: dict[str, str]) -> str:
    """The `ways-mcp` under test: AGENT_WAYS_MCP, else the one that `make ways-mcp` leaves in bin/."""
    return os.path.abspath(environ.get("AGENT_WAYS_MCP") or os.path.join(REPOSITORY, "bin", "ways-mcp"))


def command(ways_mcp: str, name: str) -> str:
    """Another command of the product, which lies beside the server wherever that is a link to."""
    return os.path.join(os.path.dirname(os.path.realpath(ways_mcp)), name)


def unbuilt(environ: dict[str, str]) -> str | None:
    """Why there is nothing to test. That is never a reason to skip: it is ours to build, not the machine's to have."""
    path = product(environ)
    return None if os.access(path, os.X_OK) else f"There is no server at {path} to test: run `make ways-mcp` first."


def required(environ: dict[str, str]) -> bool:
    """True where a missing need must fail the run: in CI, or when asked for."""
    return environ.get("CI", "").lower() in ("true", "1") or environ.get("AGENT_WAYS_E2E") == "require"


def missing(environ: dict[str, str]) -> list[str]:
    """What this machine lacks, each with how to get it; empty when the suite can run."""
    lacks = []
    if not sys.platform.startswith("linux"):
        return ["Linux (the suite isolates the client by Linux namespaces)"]
    if shutil.which("tmux") is None:
        lacks.append("tmux")
    if not namespace.only_loopback() and not namespace.may_unshare():
        lacks.append("`unshare` from util-linux as root or with unprivileged user namespaces")
    absent = [client.version for client in tracked(environ) if not says_its_version(client)]
    if absent:
        lacks.append(f"Claude Code {' and '.join(absent)} (`python -m tests.e2e.clients install`, with npm)")
    return lacks


def sentence(lacks: list[str]) -> str:
    return f"The end-to-end suite on the real client needs {'; '.join(lacks)}."
