"""Other people's servers and commands, measured beside ours.

Owns how each is had and started. A further one is one more function in `SERVERS`; it raises `UnavailableError` where
this machine can not have it. Must not know how anything is measured.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.bench.cache import UnavailableError, clean_environment
from tests.bench.commands import Command
from tests.bench.rows import PYTHON_SDK, Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bench.rows import Machine

FASTMCP, TYPESCRIPT_SDK, RUST = "fastmcp", "typescript-sdk", "rust"
HCOM_LIST, HCOM_SEND = "hcom-list", "hcom-send"

SDK_SERVER = """\
from {module} import {name}

app = {name}("one-tool")


@app.tool()
def echo(text: str) -> str:
    \"\"\"Give the text back.\"\"\"
    return text


app.run()
"""

TYPESCRIPT_SERVER = """\
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "one-tool", version: "1.0.0" });
server.registerTool(
  "echo",
  { description: "Give the text back.", inputSchema: { text: z.string() } },
  async ({ text }) => ({ content: [{ type: "text", text }] }),
);
await server.connect(new StdioServerTransport());
"""


def python_sdk(machine: Machine) -> Row:
    """The official Python SDK serving one tool."""
    return _python(machine, PYTHON_SDK, "Python SDK", "mcp==2.3.0", "mcp.server", "MCPServer")


def fastmcp(machine: Machine) -> Row:
    """FastMCP serving one tool."""
    return _python(machine, FASTMCP, "FastMCP", "fastmcp==4.2.3", "fastmcp", "FastMCP")


def typescript_sdk(machine: Machine) -> Row:
    """The official TypeScript SDK serving one tool."""
    node = shutil.which("node")
    if node is None:
        raise UnavailableError("there is no node")
    folder = machine.cache.packages("typescript-sdk", "@modelcontextprotocol/sdk@1.32.2", "zod@4")
    return Row(
        key=TYPESCRIPT_SDK,
        title="TypeScript SDK",
        command=(node, _written(folder, "one_tool.mjs", TYPESCRIPT_SERVER)),
    )


def rust(machine: Machine) -> Row:
    """A server in Rust on the official SDK, from a package: its cheapest tool tells its own version.

    biomcp 0.9.3 leaves some of a thousand calls that are written at once without an answer.
    """
    python = machine.cache.environment(machine.python, "biomcp-cli==0.9.3")
    program = os.path.join(os.path.dirname(python), "biomcp")
    arguments = {"command": "biomcp version"}
    env = {"HOME": os.path.dirname(os.path.dirname(python))}
    command = (program, "serve")
    return Row(
        key=RUST, title="Rust (biomcp)", command=command, tool="biomcp", arguments=arguments, env=env, piped=False
    )


SERVERS: tuple[Callable[[Machine], Row], ...] = (python_sdk, fastmcp, typescript_sdk, rust)


def hcom(machine: Machine, scratch: str) -> list[Command]:
    """Listing and sending in hcom (Rust, SQLite) with one agent joined: our `attend peers` and `attend send`."""
    program = os.path.join(os.path.dirname(machine.cache.environment(machine.python, "hcom==0.7.31")), "hcom")
    home = os.path.join(scratch, "hcom")
    os.mkdir(home)
    env = {**clean_environment(), "HOME": home}
    begun = subprocess.run(
        [program, "start"], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if begun.returncode:
        raise UnavailableError(f"hcom does not start here: {begun.stderr.decode(errors='replace').strip()[:200]}")
    send = (program, "send", "--from", "bench", "--", "hello")
    return [
        Command(key=HCOM_LIST, title="hcom list", words=(program, "list"), env=env, given=b"", says=b"Your name"),
        Command(key=HCOM_SEND, title="hcom send", words=send, env=env, given=b"", says=b"Sent"),
    ]


def _python(machine: Machine, key: str, title: str, requirement: str, module: str, name: str) -> Row:
    python = machine.cache.environment(machine.python, requirement)
    folder = os.path.dirname(os.path.dirname(python))
    source = _written(folder, "one_tool.py", SDK_SERVER.format(module=module, name=name))
    return Row(key=key, title=title, command=(python, source), env={"HOME": folder})


def _written(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
