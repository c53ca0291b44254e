"""Independent clients, each started with our server as its own.

Owns how each is had, run and judged. One more is one function in `CHEAP` or `ALL`. A client that can not be had
here raises `UnavailableError`.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from build.launch import interpreter

from tests.bench.cache import UnavailableError
from tests.conformance.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.bench.cache import Cache
    from tests.conformance.outcome import Target

    Client = Callable[[Cache, Target], list[Outcome]]

PATIENCE = 120
"""Seconds for one run of a client."""
TOOL = "ways_status"
_BRIDGED = ("--outputTransport", "streamableHttp", "--stateful", "--streamableHttpPath", "/mcp")
SCENARIOS = ("server-initialize", "ping", "tools-list")
"""What the official suite has for a server of tools alone; its other scenarios ask for fixtures by name."""

PYTHON_SDK = """\
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main(command, *args):
    async with stdio_client(StdioServerParameters(command=command, args=list(args))) as (read, write):
        async with ClientSession(read, write) as session:
            init = await session.initialize()
            tools = await session.list_tools()
            await session.send_ping()
            result = await session.call_tool("ways_status", {})
            print(json.dumps({
                "protocol": init.protocol_version,
                "experimental": init.capabilities.experimental,
                "instructions": init.instructions,
                "tools": [tool.name for tool in tools.tools],
                "failed": result.is_error,
                "structured": result.structured_content,
            }))

asyncio.run(main(*sys.argv[1:]))
"""

FASTMCP = """\
import asyncio, json, sys
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

async def main(command, *args):
    async with Client(StdioTransport(command=command, args=list(args))) as client:
        tools = await client.list_tools()
        result = await client.call_tool("ways_status", {})
        print(json.dumps({
            "tools": [tool.name for tool in tools],
            "failed": result.is_error,
            "structured": result.structured_content,
        }))

asyncio.run(main(*sys.argv[1:]))
"""


def python_sdk(cache: Cache, target: Target) -> list[Outcome]:
    """The official Python SDK's client: handshake, capabilities, instructions, tools, ping, a call."""
    python = cache.environment(interpreter(), "mcp==2.3.0")
    said = _json([python, "-I", "-c", PYTHON_SDK, *target.command], target)
    right = (
        _tool_works(said)
        and said["protocol"] in ("2025-11-25", "2025-06-18")
        and said["experimental"] == {"claude/channel": {}}
        and bool(said["instructions"])
    )
    return [Outcome("Python SDK 2.3.0 client", right, _short(said))]


def fastmcp(cache: Cache, target: Target) -> list[Outcome]:
    """FastMCP's client, which opens with server/discover and must fall back."""
    python = cache.environment(interpreter(), "fastmcp==4.2.3")
    said = _json([python, "-I", "-c", FASTMCP, *target.command], target)
    return [Outcome("FastMCP 4.2.3 client", _tool_works(said), _short(said))]


def inspector(cache: Cache, target: Target) -> list[Outcome]:
    """The inspector's command line: what is listed, and a call."""
    node = _Node(cache, target)
    run = [node.program("mcp-inspector"), "--cli", *target.command]
    listed = _json([*run, "--method", "tools/list"], target, node.env)
    called = _json([*run, "--method", "tools/call", "--tool-name", TOOL], target, node.env)
    names = [tool["name"] for tool in listed["tools"]]
    said = {"tools": names, "failed": called.get("isError", False), "structured": called["structuredContent"]}
    return [
        Outcome("inspector 0.15.0 tools/list", TOOL in names, ", ".join(names)),
        Outcome(f"inspector 0.15.0 tools/call {TOOL}", _tool_works(said), _short(said)),
    ]


def mcp_conform(cache: Cache, target: Target) -> list[Outcome]:
    """A checker of handshake, version, tools and errors."""
    python = cache.environment(interpreter(), "mcp-conform==0.1.0")
    program = os.path.join(os.path.dirname(python), "mcp-conform")
    command = [program, "server", "--transport", "stdio", "--command", shlex.join(target.command)]
    ran = _run(command, target.env)
    said = [line.strip() for line in ran.stdout.splitlines() if "Result:" in line or "\u2717" in line]
    return [Outcome("mcp-conform 0.1.0", ran.returncode == 0, "; ".join(said) or _last(ran))]


def official(cache: Cache, target: Target) -> list[Outcome]:
    """The official suite, which speaks HTTP only: through a bridge to stdio, on loopback."""
    node = _Node(cache, target)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    bridge = subprocess.Popen(
        [node.program("supergateway"), "--stdio", shlex.join(target.command), *_BRIDGED, "--port", str(port)],
        env=node.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    suite = [node.program("conformance"), "server", "--url", f"http://127.0.0.1:{port}/mcp", "--scenario"]
    try:
        _until_listening(bridge)
        outcomes = []
        for scenario in SCENARIOS:
            ran = _run([*suite, scenario], node.env)
            outcomes.append(Outcome(f"official suite 0.1.16 {scenario}", ran.returncode == 0, _last(ran)))
        return outcomes
    finally:
        bridge.terminate()
        bridge.communicate(timeout=PATIENCE)


CHEAP: tuple[Client, ...] = (python_sdk,)
ALL: tuple[Client, ...] = (python_sdk, fastmcp, inspector, mcp_conform, official)


class _Node:
    """The npm clients, and the Node that they need (22; the official suite breaks on 20)."""

    def __init__(self, cache: Cache, target: Target) -> None:
        packages = ("node@22", "@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/inspector@0.15.0")
        folder = cache.packages("npm-clients", *packages, "supergateway@4")
        self._programs = os.path.join(folder, "node_modules", ".bin")
        self.env = {**target.env, "PATH": f"{self._programs}{os.pathsep}{target.env['PATH']}"}

    def program(self, name: str) -> str:
        return os.path.join(self._programs, name)


def _until_listening(bridge: subprocess.Popen[str]) -> None:
    patience = threading.Timer(PATIENCE, bridge.kill)
    patience.start()
    said = []
    try:
        for line in bridge.stdout or ():
            said.append(line)
            if "istening" in line:
                return
    finally:
        patience.cancel()
    raise UnavailableError(f"the bridge ended: {''.join(said[-3:])}")


def _tool_works(said: dict[str, Any]) -> bool:
    return TOOL in said["tools"] and not said["failed"] and "session" in said["structured"]


def _json(command: Sequence[str], target: Target, env: dict[str, str] | None = None) -> dict[str, Any]:
    """What a client printed; where that is no JSON it failed, and its last words are raised as `ValueError`."""
    ran = _run(command, env or target.env)
    try:
        said: dict[str, Any] = json.loads(ran.stdout)
    except ValueError:
        raise ValueError(_last(ran)) from None
    return said


def _run(command: Sequence[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE,
        check=False,
    )


def _last(ran: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
    return lines[-1] if lines else f"exit {ran.returncode}"


def _short(said: dict[str, Any]) -> str:
    shown = {name: value for name, value in said.items() if name not in ("structured", "instructions")}
    return json.dumps(shown)
