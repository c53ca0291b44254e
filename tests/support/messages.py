"""What a client sends: the messages of Claude Code to a stdio server, as 2.1.332 and 2.1.285 write them.

Pure. Must not know how they travel.
"""

from __future__ import annotations

from typing import Any

JSON = dict[str, Any]

WAIT = 10.0
"""Seconds that a wait lasts at most where the caller names no other bound: long, for a loaded machine."""

CHANNEL = "notifications/claude/channel"


def request(request_id: Any, method: str, params: Any = None) -> JSON:
    """A request; `params` is left out where it is None, as the client does for tools/list."""
    message: JSON = {"method": method}
    if params is not None:
        message["params"] = params
    return {**message, "jsonrpc": "2.0", "id": request_id}


def notification(method: str, params: Any = None) -> JSON:
    """A notification."""
    message: JSON = {"method": method}
    if params is not None:
        message["params"] = params
    return {**message, "jsonrpc": "2.0"}


def client_info(version: str) -> JSON:
    """What the client says of itself (seen 2.1.285 and 2.1.332)."""
    return {
        "name": "claude-code",
        "title": "Claude Code",
        "version": version,
        "description": "Anthropic's agentic coding tool",
        "websiteUrl": "https://claude.com/claude-code",
    }


def discover(version: str = "2.1.332") -> JSON:
    """The probe that newer clients open with: a string id and the revision that has no channel (seen 2.1.332)."""
    return {
        "jsonrpc": "2.0",
        "id": "server-discover-probe-1",
        "method": "server/discover",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": client_info(version),
                "io.modelcontextprotocol/clientCapabilities": {
                    "roots": {"listChanged": True},
                    "elicitation": {"form": {}, "url": {}},
                    "extensions": {"io.modelcontextprotocol/tasks": {}},
                },
            }
        },
    }


def initialize(version: str = "2.1.332", *, protocol: str = "2025-11-25") -> JSON:
    """The client's initialize, id 0 (seen on both tracked versions, which differ in `elicitation`)."""
    elicitation: JSON = {} if version == "2.1.285" else {"form": {}, "url": {}}
    return {
        "method": "initialize",
        "params": {
            "protocolVersion": protocol,
            "capabilities": {"roots": {"listChanged": True}, "elicitation": elicitation},
            "clientInfo": client_info(version),
        },
        "jsonrpc": "2.0",
        "id": 0,
    }


def initialized() -> JSON:
    """The notification that ends the handshake."""
    return notification("notifications/initialized")


def tools_list() -> JSON:
    """The client's first and only tools/list: id 1, no params."""
    return request(1, "tools/list")


def tools_call(request_id: int | str, name: str, arguments: JSON, *, tool_use_id: str = "toolu_test") -> JSON:
    """A call as the client makes it, progress token and tool use id included."""
    meta = {"claudecode/toolUseId": tool_use_id, "progressToken": request_id}
    return request(request_id, "tools/call", {"name": name, "arguments": arguments, "_meta": meta})
