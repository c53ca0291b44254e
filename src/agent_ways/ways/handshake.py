"""A real handshake with an installed server: it is started, greeted, asked for its tools, and ended.

Owns what is said to it, how long it may take, and what a right answer is. The server is told that it is a handshake,
so it leaves nothing behind (SRV-11). Must not know where servers are installed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from agent_ways.claude.identity import HANDSHAKE

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 10.0
"""Seconds that the whole may take; it normally takes a fiftieth of one."""
REVISION = "2025-11-25"
STATUS_TOOL = "ways_status"

_SAID = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": {"name": "agent-ways-handshake", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": STATUS_TOOL, "arguments": {}}},
)


class _Server(BaseModel):
    name: str
    version: str


class _Initialized(BaseModel):
    protocolVersion: str  # noqa: N815 - the protocol's own name
    capabilities: dict[str, Any]
    serverInfo: _Server  # noqa: N815 - as above


class _Tool(BaseModel):
    name: str


class _Tools(BaseModel):
    tools: list[_Tool]


class _Modules(BaseModel):
    live: list[str]
    failed: list[dict[str, str]]


class _Status(BaseModel):
    version: str
    modules: _Modules


class _Called(BaseModel):
    structuredContent: _Status  # noqa: N815 - as above


@dataclass(frozen=True)
class Handshake:
    """What came of it: `trouble` is empty where all was right."""

    trouble: str
    version: str = ""
    tools: tuple[str, ...] = ()
    seconds: float = 0.0


def shake(command: str, env: Mapping[str, str], patience: float = PATIENCE) -> Handshake:
    """Start `command` and speak with it; never raises for what it does."""
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            [command],
            env={**env, HANDSHAKE: "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Handshake(f"{command} can not be started: {error.strerror or error}")
    said = b"".join(json.dumps(message).encode() + b"\n" for message in _SAID)
    try:
        answered, complained = process.communicate(said, patience)
    except subprocess.TimeoutExpired:
        return Handshake(f"{command} did not answer and end within {patience:g} s")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        words = complained.decode("utf-8", "replace").strip().splitlines()
        return Handshake(f"{command} ended with exit code {process.returncode}: {words[-1] if words else 'no word'}")
    return judge(answered, time.monotonic() - began)


def judge(answered: bytes, seconds: float = 0.0) -> Handshake:
    """Whether these answers, one JSON object a line, are right."""
    try:
        answers = {message["id"]: message for message in map(json.loads, answered.splitlines()) if "id" in message}
        first = _Initialized.model_validate(answers[0]["result"])
        tools = tuple(tool.name for tool in _Tools.model_validate(answers[1]["result"]).tools)
        status = _Called.model_validate(answers[2]["result"]).structuredContent
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        text = " ".join(str(error).split())[:200]
        return Handshake(f"the server's answers are not right ({type(error).__name__}: {text})")
    if "claude/channel" not in (first.capabilities.get("experimental") or {}):
        return Handshake("the server does not declare the channel")
    if STATUS_TOOL not in tools:
        return Handshake(f"the server has no tool {STATUS_TOOL}")
    if status.modules.failed:
        failed = ", ".join(f"{module.get('name')} ({module.get('reason')})" for module in status.modules.failed)
        return Handshake(f"modules failed: {failed}", first.serverInfo.version, tools, seconds)
    return Handshake("", first.serverInfo.version, tools, seconds)
