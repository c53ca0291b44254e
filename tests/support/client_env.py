"""The environment that the client gives to what it starts.

Owns the two shapes, a server's and a Bash tool's, for both tracked versions. Pure. Must not know sessions.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.plan import Plan


def server_env(plan: Plan, *, session_id: str, socket_path: str, token: str) -> dict[str, str]:
    """What a stdio server gets; its configuration's own `env` last. A health check is `sdk-cli` and has no socket."""
    given = {
        **plan.env,
        "PWD": plan.project,
        "NoDefaultCurrentDirectoryInExePath": "1",
        "COREPACK_ENABLE_AUTO_PIN": "0",
        "AI_AGENT": f"claude-code_{plan.version.replace('.', '-')}_harness",
        "CLAUDE_CODE_ENTRYPOINT": "sdk-cli" if plan.health_check else plan.entrypoint,
        "CLAUDE_PROJECT_DIR": plan.project,
        "CLAUDE_CODE_SESSION_ID": session_id,
        "CLAUDECODE": "1",
    }
    if socket_path:
        given["CLAUDE_CODE_MESSAGING_SOCKET"] = socket_path
        given["CLAUDE_CODE_MESSAGING_TOKEN"] = token
    if plan.version != "2.1.285":
        given["CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS"] = session_id
        given["CLAUDE_CODE_CHILD_NOTES_DIR"] = os.path.join(plan.home, "notes", session_id, "started")
    return {**given, **plan.server_env}


def tool_env(plan: Plan, *, session_id: str, socket_path: str, token: str, client_pid: int) -> dict[str, str]:
    """What a command of the Bash tool gets: the client's pid, and no project dir."""
    env = server_env(plan, session_id=session_id, socket_path=socket_path, token=token)
    for name in ("CLAUDE_PROJECT_DIR", *plan.server_env):
        env.pop(name, None)
    shared = {name: value for name, value in plan.env.items() if name in plan.server_env}
    return {**env, **shared, "CLAUDE_PID": str(client_pid), "CLAUDE_CODE_CHILD_SESSION": "1"}
