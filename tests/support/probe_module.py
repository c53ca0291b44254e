"""A module for tests: tools that misbehave on demand, and an event for every file dropped into a folder.

It is also the proof of SRV-10: one file, and one registry line in `probe_server.py`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

from agent_ways.base.errors import UsageError
from agent_ways.base.watch import FileWatch, file_watch
from agent_ways.server.module import Module
from agent_ways.server.tools import Tool

if TYPE_CHECKING:
    from agent_ways.server.module import Host

OBJECT = {"type": "object"}


def _tool(verb: str, description: str, **properties: dict[str, Any]) -> Tool:
    return Tool(
        name=f"probe_{verb}",
        title=f"Probe: {verb}",
        description=description,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name in ("text", "how")],
            "additionalProperties": False,
        },
        output_schema=OBJECT,
        read_only=True,
    )


class Probe(Module):
    """Tools and an event source that do what a test asks."""

    name = "probe"
    instructions = "probe_echo gives its text back."
    tools = (
        _tool(
            "echo",
            "Give the text back.",
            text={"type": "string", "maxLength": 2_000_000},
            times={"type": "integer", "minimum": 1, "maximum": 10},
            loud={"type": "boolean"},
            tags={"type": "array", "items": {"type": "string"}, "maxItems": 3},
            kind={"type": "string", "enum": ["plain", "fancy"]},
        ),
        _tool("fail", "Fail in the way that `how` names.", how={"type": "string"}),
        _tool("noise", "Write where nothing may be written.", text={"type": "string"}),
    )

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if tool == "probe_echo":
            return {"text": arguments["text"] * arguments.get("times", 1)}
        if tool == "probe_fail":
            _fail(arguments["how"])
        _make_noise(arguments["text"])
        return {"done": True}

    def start(self, host: Host) -> None:
        if os.environ.get("PROBE_FAIL") == "start":
            raise RuntimeError("told to fail at start")
        if os.environ.get("PROBE_FAIL") == "tick":
            host.at(host.world.monotonic(), lambda: _fail("error"))
        drop = os.environ.get("PROBE_DROP")
        if drop:
            _Source(host, drop)


class _Source:
    """Pushes `{"content": …, "meta": {…}}` for every `*.json` renamed into the folder, in the order of names."""

    def __init__(self, host: Host, folder: str) -> None:
        self.host = host
        self.folder = folder
        watch = file_watch()
        if watch is None or not watch.add(folder):
            raise RuntimeError("no inotify: this probe needs it")
        self.watch: FileWatch = watch
        host.watch(watch.fd, self.look)
        self.look()

    def look(self) -> None:
        self.watch.drain()
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".json"):
                path = os.path.join(self.folder, name)
                with open(path, encoding="utf-8") as file:
                    event = json.load(file)
                os.unlink(path)
                self.host.push(event["content"], event.get("meta", {}))


def _fail(how: str) -> None:
    if how == "usage":
        raise UsageError("that address is not known", "Did you mean Heron-alpha?")
    if how == "exit":
        sys.exit(3)
    if how == "recursion":
        _fail(how)
    if how == "json":
        raise ValueError(chr(0xD800))
    raise RuntimeError(f"told to fail: {how}")


def _make_noise(text: str) -> None:
    print(text)  # noqa: T201 - a stray print is the point
    sys.stdout.flush()
    os.write(1, text.encode() + b"\n")
    os.write(2, text.encode() + b"\n")
    warnings.warn(text, stacklevel=1)
    os.system("echo from a child")  # noqa: S605 - a child's stray output is the point
    for stray in (lambda: print(text), lambda: _fail(text)):  # noqa: T201 - as above, and a thread's traceback
        thread = threading.Thread(target=stray)
        thread.start()
        thread.join()
