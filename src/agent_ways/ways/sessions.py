"""The sessions that live now, as `ways status` and `ways doctor` show them.

Owns putting together what the client's records, the bus and our servers' markers say of one session. A server without a
session that can be seen is shown too. Reads only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_ways.attend import bus as buses
from agent_ways.attend import directory, instances, reach
from agent_ways.attend.addresses import ALIVE
from agent_ways.claude.reach import UNKNOWN
from agent_ways.ways.layout import version_of
from agent_ways.ways.running import Running, running

if TYPE_CHECKING:
    from agent_ways.claude.records import SessionRecord
    from agent_ways.ways.world import World


@dataclass(frozen=True)
class Session:
    """One live session: its client's record where that can be seen, its conduits, the servers that run for it."""

    id: str
    name: str
    project: str
    record: SessionRecord | None
    conduits: reach.Conduits
    servers: tuple[Running, ...]
    old: bool
    """Whether a server of it is not the installed build."""

    @property
    def status(self) -> str:
        """What its client says that it is doing."""
        return (self.record.status if self.record else None) or "unknown"

    def to_json(self) -> dict[str, Any]:
        """The form in JSON answers."""
        first = self.servers[0] if self.servers else None
        return {
            "session": self.id,
            "name": self.name,
            "project": self.project or None,
            "status": self.status,
            "claude_pid": self.record.pid if self.record else None,
            "config_dir": self.record.config_dir if self.record else None,
            "client_version": self.record.version if self.record else None,
            "version": first.version if first else None,
            "pid": first.pid if first else None,
            "alive": first.alive if first else None,
            "old": self.old,
            "servers": [{"pid": one.pid, "version": one.version, "executable": one.executable} for one in self.servers],
            "conduits": self.conduits,
        }


def live(world: World, config_dirs: tuple[str, ...]) -> list[Session]:
    """The sessions of these config dirs that live, those of -p and SDKs left out, and the servers of others."""
    bus = buses.open_bus(world.env, world.table, config_dirs)
    servers: dict[str, list[Running]] = {}
    for server in running(world):
        servers.setdefault(server.session, []).append(server)
    everyone = {one.key: one for one in instances.read_all(bus)}
    found = []
    for known in directory.known_sessions(bus):
        instance = everyone.get(known.key or "")
        record = reach.record_of(bus, known, instance)
        if known.live != ALIVE or record is None or record.is_sdk:
            continue
        mine = tuple(servers.pop(known.session, ()))
        conduits = reach.conduits(bus, known, instance, record)
        found.append(Session(known.session, known.name, known.project, record, conduits, mine, _old(world, mine)))
    found += [_unseen(world, session, tuple(others)) for session, others in servers.items()]
    return sorted(found, key=lambda one: one.id)


def _unseen(world: World, session: str, servers: tuple[Running, ...]) -> Session:
    reason = "The session can not be seen from here."
    told: reach.Conduits = {name: {"state": UNKNOWN, "reason": reason, "evidence": None} for name in reach.NAMES}
    return Session(session, session[:8], "", None, told, servers, _old(world, servers))


def _old(world: World, servers: tuple[Running, ...]) -> bool:
    installed = world.layout.installed()
    folders = [os.path.basename(os.path.dirname(server.executable)) for server in servers]
    return installed is not None and any(version_of(name) is not None and name != installed for name in folders)
