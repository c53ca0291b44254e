"""What the real server imports between start and its first tool answer: the allow-list of its hot path."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.wire import Wire

with open(os.path.join(os.path.dirname(__file__), "imports_allowed.txt"), encoding="utf-8") as listed:
    ALLOWED = frozenset(listed.read().split())
"""On top of a bare `python -I -S`; what runpy brings with a zipapp is frozen into the interpreter."""

WATCHER = """
import sys
sys.path.insert(0, {src!r})
from agent_ways.server.__main__ import main
import agent_ways.server.main
from agent_ways.server import stdio
handle = stdio.Server._handle
def spying(self, event):
    handle(self, event)
    if type(event).__name__ == "Listed":
        sys.stderr.write("\\n".join(sys.modules) + "\\n.\\n")
stdio.Server._handle = spying
main([])
"""


@pytest.mark.demand("SRV-1")
def test_the_hot_path_imports_only_what_is_allowed() -> None:
    bare = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    with Wire([sys.executable, "-I", "-S", "-c", WATCHER.format(src="src")]) as wire:
        wire.handshake()
        wire.close_stdin()
        assert wire.wait_exit() == 0
        seen = set(wire.stderr_text.split())
    assert ".\n" in wire.stderr_text
    assert seen - {"."} - set(bare.stdout.split()) - ALLOWED == set()


def test_the_slow_things_stay_out_by_name() -> None:
    """The list above is the rule; this one says what it is for."""
    never = "asyncio typing dataclasses argparse logging subprocess tomllib pydantic psutil platformdirs json re enum"
    assert ALLOWED.isdisjoint(never.split())
