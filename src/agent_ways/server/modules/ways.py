"""The module `ways`: what is true about this session.

Owns one read-only tool, `ways_status` (SRV-12), which never says more than is known: a launch flag is an intent,
an event found in the transcript is proof. Everything is derived afresh at each call (SRV-9).
"""

from __future__ import annotations

from agent_ways.base.errors import StateError
from agent_ways.server import sight
from agent_ways.server.module import Module
from agent_ways.server.protocol import SERVER_NAME
from agent_ways.server.tools import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from agent_ways.claude.identity import Identity
    from agent_ways.claude.reach import Reach
    from agent_ways.server.module import World

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
            identity = sight.identity(world)
        except StateError as error:
            nobody = dict.fromkeys(("id", "source", "claude_pid", "config_dir", "client_version", "disagreement"))
            return {"session": nobody, "conduits": _all_unknown(error.message)}
        record = identity.record
        session = {
            "id": identity.session,
            "source": identity.source,
            "claude_pid": record.pid if record else None,
            "config_dir": identity.config_dir,
            "client_version": record.version if record else None,
            "disagreement": identity.disagreement,
        }
        if record is None:
            return {"session": session, "conduits": _all_unknown(identity.reason or "")}
        seen = sight.view(world, record, identity.config_dir)
        pushing = {conduit.name: conduit.reach(seen) for conduit in world.conduits}
        outside = _from_outside(world, identity, pushing)
        conduits = {
            "channel": _told(pushing["channel"]),
            "inbox_socket": _told(pushing["inbox socket"]),
            **outside,
        }
        return {"session": session, "conduits": conduits}


def _from_outside(world: World, identity: Identity, pushing: Iterable[str]) -> dict[str, Any]:
    """What attend knows from outside: the conduits that print, and which of the pushing ones our side does not use."""
    from agent_ways.attend import directory, instances, reach
    from agent_ways.attend.bus import open_bus
    from agent_ways.claude.reach import NO, Reach

    bus = open_bus(world.env, world.table)
    instance = instances.find(bus, identity)
    used = reach.allowed(bus)
    closed = {name.replace(" ", "_"): why for name in pushing if (why := reach.closed(bus, instance, name, used))}
    told = {name: _told(Reach(NO, why)) for name, why in closed.items()}
    if instance is None:
        nobody = Reach(NO, "This session is not on the bus yet.")
        return {"loop": _told(nobody), "drain": _told(nobody), **told}
    found = reach.conduits(bus, directory.known(bus, instance), instance, identity.record)
    return {"loop": found["loop"], "drain": found["drain"], **told}


def _all_unknown(reason: str) -> dict[str, Any]:
    from agent_ways.claude.reach import UNKNOWN, Reach

    unknown = _told(Reach(UNKNOWN, f"The session is not known: {reason}"))
    return dict.fromkeys(("channel", "inbox_socket", "loop", "drain"), unknown)


def _told(reach: Reach) -> dict[str, Any]:
    return {"state": reach.state, "reason": reach.reason, "evidence": reach.evidence}
