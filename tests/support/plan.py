"""What a fake client is to be: one value that the test writes and the fake client's process reads.

Owns `Plan`, its defaults and its way over the control socket. Must not know how either side works.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tests.support.processes import HAS_PROC

FLAG = "--dangerously-load-development-channels"
FLAGGED = ("claude", FLAG, "server:agent-ways")
"""The command line of a session that a person started with the channel flag."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How the fake client starts and behaves. Milliseconds where a name ends in `_ms`."""

    server: tuple[str, ...] = ()
    """Command of the server under test; empty for a session without one."""
    server_env: dict[str, str] = field(default_factory=dict)
    """The `env` of the server's configuration: added last to what the client gives."""
    server_name: str = "agent-ways"
    """The configured name: `source` of channel events."""
    argv: tuple[str, ...] = ("claude",)
    """The client's command line as the process table shows it."""
    exact_argv: bool = HAS_PROC
    """False, as on macOS: the interpreter's `-c` and its program stand between the first word and the others."""
    version: Literal["2.1.332", "2.1.285"] = "2.1.332"
    session_id: str | None = None
    """A chosen id; None for a new one."""
    resume: str | None = None
    """Resume this session: a new process and record, the old id and transcript."""
    entrypoint: str = "cli"
    """`cli` for a person's session, `sdk-cli` for `-p` and health checks."""
    kind: str = "interactive"
    health_check: bool = False
    """Be `claude mcp list`: no record, no inbox, a throw-away id, and the end after tools/list."""
    launch: Literal["direct", "sh", "launcher-exits"] = "direct"
    """The server as direct child (the real client), under a shell that waits, or orphaned by a launcher that exits."""
    stderr: Literal["read", "unread"] = "read"
    write_record: bool = True
    """False: as under a start dialog, no record until `FakeClient.write_record`."""
    channel: Literal["auto", "play", "swallow", "block"] = "auto"
    """What becomes of events. `auto` plays them where `argv` has the flag and swallows them where not, as the client
    does; `block` is a UserPromptSubmit hook that blocks each: it arrives and is never shown."""
    channel_opens_ms: int = 20
    """From the answer to tools/list until the client listens for events; earlier ones vanish (seen: up to 36)."""
    inbox: Literal["default", "accept", "hold", "refuse", "off"] = "default"
    """`crossSessionInbound` (default: not set), or no inbox at all."""
    permission_mode: str = "default"
    cache: Literal["5m", "1h"] = "5m"
    """The tier of the usage rows: 5m with an API key, 1h with a subscription."""
    stop_hook: tuple[str, ...] = ()
    """Command of a Stop hook: run at the end of each turn, and obeyed where it blocks or adds context."""
    turn_ms: int | None = 20
    """How long a turn lasts; None: until `FakeClient.finish_turn`."""
    transcript_delay_ms: int = 0
    """How long a transcript row waits before it is written, in order (seen: about 100)."""
    probe_timeout_ms: int = 3000
    connect_timeout_ms: int = 30000
    home: str = ""
    config_dir: str = ""
    project: str = ""
    socket_dir: str = ""
    """Where the inbox's private folder is made; /tmp if not named: a socket's path has at most 103 bytes."""
    env: dict[str, str] = field(default_factory=dict)
    """Added to the client's environment, which is otherwise a plain one of PATH, HOME, LANG and the like."""
    python: str = sys.executable
    """An interpreter for what the client starts by itself: it can not find its own under the name `claude`."""

    def to_json(self) -> dict[str, Any]:
        """For the control socket."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Plan:
        """From the control socket."""
        return cls(**{**raw, **{name: tuple(raw[name]) for name in ("server", "argv", "stop_hook")}})

    @property
    def plays_channel(self) -> str:
        """`play`, `swallow` or `block`."""
        if self.channel != "auto":
            return self.channel
        return "play" if asks_for_channel(self.argv, self.server_name) and self.entrypoint == "cli" else "swallow"


def asks_for_channel(argv: tuple[str, ...], name: str) -> bool:
    """Whether the client would load the channel: the entry after the flag, or behind its `=` (facts of 2.1.332).

    Simple on purpose, for command lines that tests write; the product's own judge is tested against it, not with it.
    """
    if "--channels" in argv:
        return False
    for place, word in enumerate(argv):
        if word == f"{FLAG}=server:{name}":
            return True
        if word == FLAG:
            for entry in argv[place + 1 :]:
                if entry.startswith("-"):
                    break
                if entry == f"server:{name}":
                    return True
    return False
