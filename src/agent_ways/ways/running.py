"""The servers that run now, by their presence markers.

Owns reading the markers; `server/presence.py` writes them. A marker counts where its owner is not proven dead; what
another machine or pid namespace owns is `unknown`. Must not say that a session lives: that is the client's record.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from agent_ways.base import paths
from agent_ways.base.errors import StateError
from agent_ways.base.process import Owner, this_process
from agent_ways.base.records import read_record

if TYPE_CHECKING:
    from agent_ways.ways.world import World

FORMAT = 1


class _Marker(BaseModel):
    owner: dict[str, Any]
    version: str
    executable: str = ""


@dataclass(frozen=True)
class Running:
    """One server: its session, its process, the version it runs and the file it was started from."""

    session: str
    pid: int
    version: str
    executable: str
    alive: str
    """`alive`, or `unknown` where that can not be proven from here."""


def running(world: World) -> list[Running]:
    """The servers whose markers are there and not proven dead, by session."""
    folder = os.path.join(paths.state_root(world.env), "servers")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = (_one(world, folder, name) for name in names)
    return [one for one in found if one is not None]


def _one(world: World, folder: str, name: str) -> Running | None:
    session, _, pid = name.rpartition(".")
    if not session or not pid.isdecimal():
        return None
    try:
        record = read_record(os.path.join(folder, name), FORMAT)
        marker = _Marker.model_validate(record or {})
    except (StateError, ValidationError):
        return None
    owner = Owner.from_json(marker.owner)
    verdict = owner.verdict(this_process(world.table, world.env), world.table) if owner else "dead"
    if verdict == "dead":
        return None
    return Running(session, int(pid), marker.version, marker.executable, verdict)
