"""Which conduit to push through: one choice for mail, keepalive and every module.

Owns the order: those that are proven to reach the session before those that may. Must not know what is pushed.
"""

from __future__ import annotations

import os

from agent_ways.attend.reach import FORBIDDEN
from agent_ways.base import config, paths
from agent_ways.claude.reach import NO, YES
from agent_ways.server import sight
from agent_ways.server.conduits import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent_ways.server.conduits import Conduit, View
    from agent_ways.server.module import World


def usable(
    conduits: Iterable[Conduit], session: View, allowed: Iterable[str], given_up: Callable[[str], str] = lambda _: ""
) -> tuple[tuple[Conduit, ...], tuple[str, ...]]:
    """The conduits that may reach the session, best first, and of each other one why not.

    `allowed` are those that the user config allows; `given_up` says by a conduit's name why our side does not use it
    any more, empty where nothing speaks against it.
    """
    proven: list[Conduit] = []
    possible: list[Conduit] = []
    reasons: list[str] = []
    for conduit in conduits:
        name = conduit.name.replace(" ", "_")
        if why := given_up(conduit.name) if name in allowed else FORBIDDEN:
            reasons.append(f"{name}: {why}")
            continue
        reach = conduit.reach(session)
        if reach.state == NO:
            reasons.append(f"{name}: {reach.reason}")
        else:
            (proven if reach.state == YES else possible).append(conduit)
    return (*proven, *possible), tuple(reasons)


def push(world: World, content: str, meta: Mapping[str, str]) -> bool:
    """Give an event to the best conduit of this session that takes it; False where none does, or nobody is there."""
    record = sight.identity(world).record
    if record is None or not sight.is_own(world.env, record):
        return False
    allowed = config.ConfigFile(os.path.join(paths.config_dir(world.env), config.FILE)).now().conduits
    session = sight.view(world, record, record.config_dir)
    found, _ = usable(world.conduits, session, allowed)
    return any(conduit.push(session, Event(content, meta)) is None for conduit in found)
