"""`ways statusline`: one line for Claude Code's status line, from what the client writes on standard input (KA-2).

Owns the command's run: what the client says, our record of that session, the count of its waiting mail. Reads no config
and no transcript, starts nothing, decides nothing. The client runs it after each turn, and every few seconds where it
is told to, so this is a hot path; and whatever goes wrong is a shorter line, never an error on the person's screen.
"""

from __future__ import annotations

import os
import sys
import time

from agent_ways.attend import layout, trays
from agent_ways.base import paths
from agent_ways.base.errors import WaysError
from agent_ways.base.jsontext import NotJSONError, loads
from agent_ways.claude.records import session_name
from agent_ways.keepalive import store
from agent_ways.keepalive.statusline import BETWEEN, segment, session_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS = ["statusline"]
"""The command line that is answered here; any other is click's."""
LONGEST = 1 << 20
"""Bytes of standard input that are read; the client writes about 2,000."""

NOBODY = "this reads what Claude Code writes to its status line command, and here nobody writes it"


def main() -> int:
    """Read standard input and print the line; returns the exit code, 2 at a terminal, where nobody writes."""
    if sys.stdin is None or sys.stdin.isatty():
        sys.stderr.write(f"ways: {NOBODY}\nways statusline --help shows how to set it up.\n")
        return 2
    told = line(sys.stdin.buffer.read(LONGEST), os.environ, int(time.time() * 1000))
    try:
        os.write(1, f"{told}\n".encode() if told else b"")
    except OSError:
        pass  # the client took its end away: nobody is there to tell
    return 0


def line(given: bytes, env: Mapping[str, str], now_ms: int) -> str:
    """The line; empty where there is nothing to say. `given` is what the client wrote, of any shape."""
    try:
        client = loads(given.decode("utf-8-sig", "replace"))
        session = session_name(session_in(client))
        state_root = paths.state_root(env)
    except (NotJSONError, WaysError):
        return ""
    record, trouble = None, ""
    if session is not None:
        try:
            record = store.read(state_root, session)
        except WaysError:
            trouble = "keepalive: its record can not be read"
    told = segment(client, record, _unread(env, session), now_ms)
    return BETWEEN.join(part for part in (told, trouble) if part)


def _unread(env: Mapping[str, str], session: str | None) -> int:
    """As `inbox.unseen` counts, without what else an inbox needs: two listings, nothing opened."""
    if session is None:
        return 0
    try:
        root = layout.bus_root(env)
        return sum(len(trays.waiting(root, session, held)) for held in (False, True))
    except WaysError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
