"""A stand-in for `claude mcp`: what the client's own does to its global file, or one of its known misdeeds.

`FakeClaude` puts it into a folder as `claude`. What it is to do wrong stands in the file `misdeed` beside it; every
call is appended to `calls` there, one JSON line with the arguments and what it was started with.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
import json, os, sys, time
folder = os.path.dirname(os.path.realpath(__file__))
with open(f"{folder}/calls", "a") as calls:
    calls.write(json.dumps({"words": sys.argv[1:], "dir": os.environ.get("CLAUDE_CONFIG_DIR"), "cwd": os.getcwd(),
                            "tty": os.isatty(0), "input": sys.stdin.read()}) + "\\n")
try:
    misdeed = open(f"{folder}/misdeed").read()
except OSError:
    misdeed = ""
_, verb, name, *rest = sys.argv[1:]
home, named = os.environ["HOME"], os.environ.get("CLAUDE_CONFIG_DIR")
config = named or f"{home}/.claude"
legacy = f"{config}/.config.json"
path = legacy if os.path.exists(legacy) else f"{config}/.claude.json" if named else f"{home}/.claude.json"
if misdeed == "hangs":
    if not os.fork():
        time.sleep(60)
    time.sleep(60)
if misdeed == "hangs after it is done":
    pass
if misdeed == "fails" or misdeed == f"fails to {verb}" and not (verb == "add-json" and "/put/back/" in rest[0]):
    sys.exit("\\x1b[31mError:\\x1b[0m the\\nmoon is\\n full")
if misdeed == f"lies about {verb}":
    sys.exit(print("Done, already there"))
if misdeed == "banner":
    print("*** A new version is there! ***")
if misdeed == "writes elsewhere":
    path = f"{home}/elsewhere.json"
if misdeed == "writes half":
    sys.exit(open(path, "w").write('{"mcpServers": {"agent'))
text = open(path).read() if os.path.exists(path) else "{}"
value = json.loads(text)
servers = value.setdefault("mcpServers", {})
if verb == "add-json":
    if name in servers:
        sys.exit(f"MCP server {name} already exists in user config")
    servers[name] = json.loads(rest[0])
else:
    if name not in servers:
        sys.exit(f"No MCP server named \\"{name}\\" in user scope")
    del servers[name]
os.makedirs(os.path.dirname(path), exist_ok=True)
open(f"{path}.new", "w").write(json.dumps(value, indent=2))
os.rename(f"{path}.new", path)
print("Added" if verb == "add-json" else "Removed")
if misdeed == "hangs after it is done":
    time.sleep(60)
"""


class FakeClaude:
    """The fake in `folder`, which is to be on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "claude"
        program.write_text(f"#!/usr/bin/env -S {sys.executable} -IS\n{SOURCE}")
        program.chmod(0o755)

    def misbehave(self, how: str) -> None:
        (self.folder / "misdeed").write_text(how)

    @property
    def calls(self) -> list[dict[str, object]]:
        try:
            lines = (self.folder / "calls").read_text().splitlines()
        except OSError:
            return []
        return [json.loads(line) for line in lines]

    def env(self, home: Path, **more: str) -> dict[str, str]:
        return {"PATH": f"{self.folder}:{os.defpath}", "HOME": str(home), **more}
