"""Who perceives for a session now: its sensor loop, or its server, or nobody (ATT-4).

Owns telling it from the role's lock and from the servers' presence markers (SRV-11), both judged by pid and start.
Takes no lock, so it disturbs nobody. Must not know what either does.
"""

from __future__ import annotations

import os

from agent_ways.attend import layout
from agent_ways.attend.addresses import DEAD
from agent_ways.base import paths
from agent_ways.base.errors import StateError
from agent_ways.base.locks import Lock
from agent_ways.base.process import Owner
from agent_ways.base.records import read_record
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from agent_ways.attend.bus import Bus

LOOP, SERVER = "loop", "server"
_MARKER = 1
"""The version of a presence marker."""


class Perceiver(Value):
    """`kind` is LOOP or SERVER, `owner` the process."""

    __slots__ = ("kind", "owner")

    def __init__(self, kind: str, owner: Owner) -> None:
        self.kind: Final = kind
        self.owner: Final = owner

    def __str__(self) -> str:
        return f"{self.kind}, {self.owner}"


def perceiver(bus: Bus, key: str | None, session: str) -> Perceiver | None:
    """Who perceives for the session `session`, whose instance is `key`; None where neither lives."""
    there = servers(bus, session)
    loop = _loop(bus, key, there) if key else None
    if loop is not None:
        return Perceiver(LOOP, loop)
    return Perceiver(SERVER, there[0]) if there else None


def loop(bus: Bus, key: str, session: str) -> Owner | None:
    """The sensor loop of an instance, None where none runs."""
    return _loop(bus, key, servers(bus, session))


def servers(bus: Bus, session: str) -> list[Owner]:
    """The live servers of a session, by their markers."""
    found = []
    try:
        folder = os.path.join(paths.state_root(bus.env), "servers")
        names = os.listdir(folder)
    except (OSError, StateError):
        return []
    for name in sorted(names):
        if not name.startswith(session + "."):
            continue
        try:
            record = read_record(os.path.join(folder, name), _MARKER)
        except StateError:
            continue
        owner = Owner.from_json(record.get("owner")) if record else None
        if owner is not None and owner.verdict(bus.owner, bus.table) != DEAD:
            found.append(owner)
    return found


def _loop(bus: Bus, key: str, there: list[Owner]) -> Owner | None:
    """Who holds the role's lock and is no server: a server has it for the moment of an act."""
    path = layout.lock(bus.root, f"role.{key}")  # as `role.role` names it, which makes the file
    owner = Lock(path, bus.owner, 0.0).holder()
    if owner is None or owner in there or owner.verdict(bus.owner, bus.table) == DEAD:
        return None
    return owner
