"""The client's hooks: SessionStart (ATT-14) and the two guards before a tool is used (ATT-13).

Owns reading a hook's input and giving its answer. A hook of ours never ends a turn, a start or a tool by failing: a
guard's own fault lets the tool go ahead. Must not know what is answered (`start.py`, `guards.py`), nor how hooks are
installed. The Stop hook is the drain.
"""

from __future__ import annotations

import os
import sys

from agent_ways.base.jsontext import NotJSONError, dumps_readable, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_ways.attend.verbs.caller import Caller

    Input = dict[str, Any]

SESSION_START, GUARD_RUN, GUARD_FILES = NAMES = ("session-start", "guard-run", "guard-files")
DENIED = 10
"""Exit code of a guard that refuses. The hook scripts make it 2, which the client takes for a refusal: here that is the
code of words that do not fit, and those must never hold up a tool."""
PATIENCE = 3.0
"""Seconds that the session's record is waited for at its start; the hook may take ten."""
_PAUSE = 0.02
_LONGEST_INPUT = 1 << 24


def run(name: str, env: Mapping[str, str] = os.environ) -> int:
    """Answer the hook `name` from standard input. Returns the exit code: 0, or `DENIED`."""
    if name == SESSION_START:
        return _start(env)
    try:
        denial = _judge(name, env)
    except Exception:  # noqa: BLE001  # a guard's own fault must never hold up the session (ATT-13)
        return 0
    if denial:
        sys.stderr.write(denial + "\n")
        return DENIED
    return 0


def _judge(name: str, env: Mapping[str, str]) -> str:
    from agent_ways.attend import guards, layout

    given = _input()
    return guards.run(given) if name == GUARD_RUN else guards.files(given, layout.bus_root(env), env.get("HOME", ""))


def _start(env: Mapping[str, str]) -> int:
    from agent_ways.attend.start import session_start
    from agent_ways.base.errors import WaysError

    given = _input()
    try:
        text = session_start(_caller(env, given.get("session_id")), str(given.get("source", "startup")))
    except WaysError as error:
        sys.stderr.write(f"attend: {error.message}\n{error.hint}\n")
        return 0
    if text:
        answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}
        sys.stdout.write(dumps_readable(answer) + "\n")
        sys.stdout.flush()
    return 0


def _caller(env: Mapping[str, str], session: object) -> Caller:
    """The caller, once the client's record names the session that the hook was started for.

    At a start the hook runs first and the record comes about 0.1 s later (2.1.285, 2.1.332).
    """
    import time

    from agent_ways.attend.verbs.caller import COMMAND, open_caller
    from agent_ways.claude.records import is_sdk

    end = time.monotonic() + PATIENCE
    while True:
        caller = open_caller(env, COMMAND)
        record = caller.identity.record
        if session is None or is_sdk(env.get("CLAUDE_CODE_ENTRYPOINT")) or time.monotonic() >= end:
            return caller
        if record is not None and record.session == session:
            return caller
        time.sleep(_PAUSE)


def _input() -> Input:
    """The hook's input, empty where there is none that can be understood."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    try:
        value = loads(sys.stdin.buffer.read(_LONGEST_INPUT).decode("utf-8", "replace"))
    except (OSError, NotJSONError):
        return {}
    return value if isinstance(value, dict) else {}
