"""What the client writes to a hook's standard input, and what a model may put into it (ATT-9, ATT-13, ATT-14)."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from agent_ways.attend import drain, guards, hooks
from agent_ways.base.jsontext import NotJSONError, loads
from tests.fuzz.shapes import near, text_of
from tests.fuzz.target import Pump, Target

ROOT = "/home/person/.local/state/agent-ways/attend"
HOME = "/home/person"
BASH = {"tool_name": "Bash", "tool_input": {"command": "cd web && env A=1 attend run"}, "cwd": HOME, "session_id": "s"}
READ = {"tool_name": "Read", "tool_input": {"file_path": f"{ROOT}/signals/x"}, "cwd": HOME, "stop_hook_active": True}
FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-hooks-")


class _Input:
    """A standard input with these bytes in it."""

    def __init__(self, path: str) -> None:
        self.buffer = open(path, "rb")  # noqa: SIM115  # closed by `check`

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self.buffer.fileno()


def check(data: bytes) -> None:
    path = os.path.join(FOLDER.name, "stdin")
    with open(path, "wb") as file:
        file.write(data)
    given = _read(path, hooks, "_input")
    assert isinstance(given, dict)
    goes_on = _read(path, drain, "_goes_on")
    assert goes_on is (_plain(data).get("stop_hook_active") is True)
    denial = guards.run(given)
    assert not denial or "Monitor tool" in denial
    assert not denial or "attend" in given["tool_input"]["command"], "a command is refused that does not name it"
    denial = guards.files(given, ROOT, HOME)
    assert not denial or "attend_inbox" in denial


def _read(path: str, module: Any, function: str) -> Any:
    """The answer of a function that reads `sys.stdin`, with the file there."""
    before, given = module.sys.stdin, _Input(path)
    module.sys.stdin = given
    try:
        return getattr(module, function)()
    finally:
        module.sys.stdin = before
        given.buffer.close()


def _plain(data: bytes) -> dict[str, Any]:
    try:
        value = loads(data.decode("utf-8", "replace"))
    except NotJSONError:
        return {}
    return value if isinstance(value, dict) else {}


TARGET = Target(
    "hooks",
    check,
    text_of(near(BASH) | near(READ)),
    (
        *(b'"tool_name":"Bash"', b'"tool_input":{', b'"command":"', b"attend run", b"; attend run", b"time -p attend 'run'", b"--help"),
        *(b'"file_path":"~/', b'"path":"', ROOT.encode(), b"$HOME/.local/state/agent-ways/attend", b'"stop_hook_active":true', b"\\u0000"),
    ),
    (
        Pump(b"x", b'{"tool_name":"Bash","tool_input":{"command":"', b'"}}'),
        Pump(b"x=1 ", b'{"tool_name":"Bash","tool_input":{"command":"', b'"}}'),
        Pump(b"a;", b'{"tool_name":"Bash","tool_input":{"command":"', b'"}}'),
        Pump(b"../", b'{"tool_name":"Read","tool_input":{"file_path":"', b'"}}'),
        Pump(b"["),
    ),
)  # fmt: skip
