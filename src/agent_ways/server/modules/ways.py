"""The module `ways`: what is true about this session.

Owns one read-only tool, `ways_status` (SRV-12), which never says more than is known: a launch flag is an intent,
an event found in the transcript is proof. Everything is derived afresh at each call (SRV-9).
"""

from __future__ import annotations

import os

from agent_ways.base.errors import StateError
from agent_ways.claude import proof, transcript
from agent_ways.claude.identity import identify
from agent_ways.claude.launch import channel_intent
from agent_ways.server.module import Module
from agent_ways.server.protocol import SERVER_NAME
from agent_ways.server.tools import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_ways.claude.identity import Identity
    from agent_ways.claude.records import SessionRecord

NULLABLE_TEXT = {"type": ["string", "null"]}
CONDUIT = {
    "type": "object",
    "properties": {
        "state": {"type": "string", "enum": ["yes", "no", "unknown"]},
        "reason": {"type": "string"},
        "evidence": NULLABLE_TEXT,
    },
    "required": ["state", "reason", "evidence"],
}
STATUS = Tool(
    name="ways_status",
    title="Status of this session",
    description=(
        "Report what agent-ways knows about this session: server version, session id and how it is known, which "
        "conduits (channel, inbox socket, loop, drain) can bring messages into it, each with the reason and the "
        "evidence, and which modules are live. Reads only. Trust it over memory: it looks afresh at every call."
    ),
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
    output_schema={
        "type": "object",
        "properties": {
            "server": {"type": "string"},
            "version": {"type": "string"},
            "installed_version": NULLABLE_TEXT,
            "session": {
                "type": "object",
                "properties": {
                    "id": NULLABLE_TEXT,
                    "source": NULLABLE_TEXT,
                    "claude_pid": {"type": ["integer", "null"]},
                    "config_dir": NULLABLE_TEXT,
                    "client_version": NULLABLE_TEXT,
                    "disagreement": NULLABLE_TEXT,
                },
                "required": ["id", "source", "claude_pid", "config_dir", "client_version", "disagreement"],
            },
            "conduits": {
                "type": "object",
                "properties": {"channel": CONDUIT, "inbox_socket": CONDUIT, "loop": CONDUIT, "drain": CONDUIT},
                "required": ["channel", "inbox_socket", "loop", "drain"],
            },
            "modules": {
                "type": "object",
                "properties": {
                    "live": {"type": "array", "items": {"type": "string"}},
                    "failed": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "reason": {"type": "string"}},
                            "required": ["name", "reason"],
                        },
                    },
                },
                "required": ["live", "failed"],
            },
        },
        "required": ["server", "version", "installed_version", "session", "conduits", "modules"],
    },
    read_only=True,
)

GATES = ("DISABLE_TELEMETRY", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
"""Variables that switch the client's channels off whatever the flag says (2.1.285, 2.1.332)."""


class Ways(Module):
    """See the module's docstring."""

    name = "ways"
    instructions = "ways_status tells what is true about this session: its id, its conduits, the running modules."
    tools = (STATUS,)

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """See `Module.call`; there is one tool, and it takes nothing."""
        del tool, arguments
        world = self.world
        report = world.report()
        return {
            "server": SERVER_NAME,
            "version": world.version,
            "installed_version": world.installed_version(),
            **self._session(),
            "modules": {
                "live": list(report.live),
                "failed": [{"name": name, "reason": reason} for name, reason in report.failed],
            },
        }

    def _session(self) -> dict[str, Any]:
        world = self.world
        try:
            identity = identify(world.env, world.table, world.pid, anchor=world.anchor())
        except StateError as error:
            nobody = dict.fromkeys(("id", "source", "claude_pid", "config_dir", "client_version", "disagreement"))
            unknown = _conduit("unknown", f"The session is not known: {error.message}.")
            return {"session": nobody, "conduits": dict.fromkeys(("channel", "inbox_socket", "loop", "drain"), unknown)}
        record = identity.record
        return {
            "session": {
                "id": identity.session,
                "source": identity.source,
                "claude_pid": record.pid if record else None,
                "config_dir": identity.config_dir,
                "client_version": record.version if record else None,
                "disagreement": identity.disagreement,
            },
            "conduits": {
                "channel": self._channel(identity),
                "inbox_socket": _inbox_socket(identity),
                "loop": _conduit("no", "This version has no sensor loop."),
                "drain": _conduit("no", "This version installs no Stop hook."),
            },
        }

    def _channel(self, identity: Identity) -> dict[str, Any]:
        record = identity.record
        if record is None:
            return _conduit("unknown", f"The session is not known: {identity.reason}")
        if record.is_sdk:
            return _conduit("no", "A session of -p or an SDK loads no channel.", f"entrypoint {record.entrypoint}")
        intent = channel_intent(self.world.table.argv(record.pid), SERVER_NAME)
        if intent.state != "yes":
            return _conduit(intent.state, intent.reason, intent.evidence)
        proven = _proven_event(identity.config_dir, record)
        if proven is not None:
            return _conduit("yes", "An event of this server was given to the model.", proven)
        gate = _closed_gate(self.world.env)
        if gate is not None:
            return _conduit("no", f"{gate} is set, which switches the client's channels off.", intent.evidence)
        return _conduit("unknown", intent.reason, intent.evidence)


def _inbox_socket(identity: Identity) -> dict[str, Any]:
    record = identity.record
    if record is None:
        return _conduit("unknown", f"The session is not known: {identity.reason}")
    if record.is_sdk:
        return _conduit("no", "Nothing is pushed into a session of -p or an SDK.", f"entrypoint {record.entrypoint}")
    if not record.socket:
        return _conduit("no", "The session record names no inbox socket: the client's messaging is off.")
    if not os.path.exists(record.socket):
        return _conduit("no", "The inbox socket that the session record names is not there.", record.socket)
    return _conduit(
        "unknown", "The client bound an inbox socket; this version does not push through it.", record.socket
    )


def _proven_event(config_dir: str, record: SessionRecord) -> str | None:
    """Where this run of the client showed an event of ours: a resumed transcript also holds those of earlier runs."""
    path = transcript.find(config_dir, record.session)
    if path is None or record.started_at is None:
        return None
    rows = (row for row in transcript.tail(path) if row.at is not None and row.at >= record.started_at)
    found = proof.channel_proof(rows, SERVER_NAME)
    return None if found is None else f"{path}, byte {found.line}"


def _closed_gate(env: Mapping[str, str]) -> str | None:
    return next((name for name in GATES if env.get(name)), None)


def _conduit(state: str, reason: str, evidence: str | None = None) -> dict[str, Any]:
    return {"state": state, "reason": reason, "evidence": evidence}
