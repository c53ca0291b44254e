"""`ways statusline` by way of the whole command; what runs it often is `attend.statusline.main`, with the same answer.

Owns nothing but that way.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from agent_ways.attend import statusline
from agent_ways.base.errors import UsageError
from agent_ways.ways.report import Report

if TYPE_CHECKING:
    from agent_ways.ways.world import World


def run(world: World) -> Report:
    """Read standard input and answer with the line; at a terminal nobody writes there."""
    if sys.stdin.isatty():
        raise UsageError(statusline.NOBODY, "ways statusline --help shows how to set it up.")
    line = statusline.line(sys.stdin.buffer.read(statusline.LONGEST), world.env, int(time.time() * 1000))
    return Report("statusline", (), quiet=line, bare=True, data={"line": line})
