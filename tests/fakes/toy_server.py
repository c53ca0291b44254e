"""A throw-away channel server: what the fakes are tried on, so that their tests do not need the product.

Tools: `echo` gives its arguments back, `push` sends its arguments as a channel event, `env` gives the environment.
`TOY` in the environment chooses a misbehaviour (see `main`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

JSON = dict[str, Any]
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "push", "env")]


def say(message: JSON) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def push(params: Any) -> None:
    say({"method": "notifications/claude/channel", "params": params})


def answer(message: JSON, mood: str) -> JSON:
    method = message["method"]
    params = message.get("params", {})
    if method == "initialize":
        version = "2026-07-28" if mood == "wrong-version" else "2025-11-25"
        capabilities: JSON = {"tools": {}, "experimental": {"claude/channel": {}}}
        return {"result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "toy"}}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/call":
        if params["name"] == "push":
            push(params["arguments"])
        shown = dict(os.environ) if params["name"] == "env" else params["arguments"]
        return {"result": {"content": [{"type": "text", "text": json.dumps(shown)}], "structuredContent": shown}}
    if method == "server/discover" and mood == "modern":
        return {"result": {"protocolVersion": "2026-07-28"}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    mood = os.environ.get("TOY", "")
    if mood == "stubborn":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif mood == "needs-sigterm":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if mood == "noisy":
        sys.stderr.write("a word on stderr\n")
        sys.stderr.flush()
    for line in sys.stdin:
        message = json.loads(line)
        if mood == "no-probe" and message["method"] == "server/discover":
            continue
        if mood == "crash" and message["method"] == "tools/call":
            sys.exit(3)
        if "id" in message and "method" in message:
            say({"id": message["id"], **answer(message, mood)})
            if mood == "eager" and message["method"] == "tools/list":
                push({"content": "too early"})


if __name__ == "__main__":
    main()
