"""The two guards: `attend run` belongs to the Monitor tool, and the bus's files to its verbs (ATT-13).

Owns the judgement over a tool call: why it is refused, with the repair, or nothing. Pure but for links in a path. Must
not know how a refusal is told.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Input = dict[str, Any]

_READERS = ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep")
_PATHS = ("file_path", "path", "notebook_path")
_SEPARATORS = ("&&", "||", ";", "|", "&", "\n", "(", ")", "`", "{", "}")
_PREFIXES = (
    "env",
    "exec",
    "nohup",
    "time",
    "command",
    "timeout",
    "setsid",
    "nice",
    "stdbuf",
    "sudo",
    "then",
    "do",
    "else",
)


def run(given: Input) -> str:
    """Why `attend run` must not be run from Bash, where that is what the call is; else nothing.

    For this the hook's matcher must name Monitor too: to one that names Bash alone, 2.1.332 shows a command of the
    Monitor tool as one of Bash, with nothing to tell the two apart.
    """
    tool_input = given.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    if given.get("tool_name") != "Bash" or not isinstance(command, str) or not _runs_loop(command):
        return ""
    return (
        "attend run is the sensor loop: from Bash it would block or be lost, and its lines would wake nobody. Start it "
        'with the Monitor tool instead: command "attend run", description "attend", timeout_ms 1800000.'
    )


def files(given: Input, root: str, home: str) -> str:
    """Why a file of the bus must not be read or changed by hand, where the call does that; else nothing."""
    tool_input = given.get("tool_input")
    if not root or not isinstance(tool_input, dict):
        return ""
    if given.get("tool_name") in _READERS:
        base = given.get("cwd") if isinstance(given.get("cwd"), str) else "/"
        touched = [
            _absolute(str(tool_input[name]), str(base), home)
            for name in _PATHS
            if isinstance(tool_input.get(name), str)
        ]
        if not any(_inside(path, root) for path in touched):
            return ""
    elif given.get("tool_name") == "Bash":
        command = tool_input.get("command")
        if not isinstance(command, str) or not any(form in command for form in _spellings(root, home)):
            return ""
    else:
        return ""
    return (
        f"{root} is the message bus: reading it by hand marks nothing, changing it loses mail. Use its verbs instead: "
        "attend_inbox or `attend inbox` to read, `attend search`, `attend show ID`; attend_send or `attend send` to "
        "write."
    )


def _runs_loop(command: str) -> bool:
    """Whether one of the commands in a shell line is `attend run`; a text that only mentions it is none."""
    for separator in _SEPARATORS:
        command = command.replace(separator, "\0")
    for part in command.split("\0"):
        parts = part.split()
        at = 0
        while at < len(parts) and (parts[at] in _PREFIXES or "=" in parts[at] or parts[at][0] in "-0123456789"):
            at += 1
        parts = parts[at:]
        if len(parts) > 1 and os.path.basename(parts[0].strip("'\"")) == "attend" and parts[1].strip("'\"") == "run":
            return "--help" not in parts
    return False


def _spellings(root: str, home: str) -> list[str]:
    """The ways in which a command line names the bus's folder."""
    found = [root]
    if home and root.startswith(home + "/"):
        found += [prefix + root[len(home) :] for prefix in ("~", "$HOME", "${HOME}")]
    return found


def _inside(path: str, root: str) -> bool:
    try:
        real = os.path.realpath(path)
    except ValueError:  # a NUL or a lone surrogate: no file has such a name, so there is no link to follow
        real = path
    return any(one == root or one.startswith(root + "/") for one in (path, real))


def _absolute(path: str, base: str, home: str) -> str:
    return os.path.normpath(os.path.join(base, home + path[1:] if path.startswith("~/") else path))
