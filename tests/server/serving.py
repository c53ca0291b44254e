"""How tests of this folder start the server under test."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.fake_client import FakeClient

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
START = f"""import sys
sys.path.insert(0, {os.path.join(ROOT, "src")!r})
from agent_ways.server.__main__ import main
main([])
"""
SERVER = (sys.executable, "-I", "-S", "-c", START)
PROBE = (sys.executable, "-I", "-S", os.path.join(ROOT, "tests", "support", "probe_server.py"))


def markers(client: FakeClient) -> list[str]:
    """The names of the presence markers in this client's home."""
    try:
        return sorted(os.listdir(markers_dir(client)))
    except FileNotFoundError:
        return []


def markers_dir(client: FakeClient) -> str:
    """Where they lie."""
    return os.path.join(client.plan.home, ".local", "state", "agent-ways", "servers")
