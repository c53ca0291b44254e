"""Which conduit to push through: one choice for mail and keepalive.

Owns the order: those that are proven to reach the session before those that may. Pure but for what a conduit looks at.
Must not know what is pushed.
"""

from __future__ import annotations

from agent_ways.claude.reach import NO, YES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_ways.server.conduits import Conduit, View


def usable(
    conduits: Iterable[Conduit], session: View, closed: Callable[[str], str]
) -> tuple[tuple[Conduit, ...], tuple[str, ...]]:
    """The conduits that may reach the session, best first, and of each other one why not.

    `closed` says by a conduit's name why our own side does not use it, empty where nothing speaks against it.
    """
    proven: list[Conduit] = []
    possible: list[Conduit] = []
    reasons: list[str] = []
    for conduit in conduits:
        name = conduit.name.replace(" ", "_")
        if why := closed(conduit.name):
            reasons.append(f"{name}: {why}")
            continue
        reach = conduit.reach(session)
        if reach.state == NO:
            reasons.append(f"{name}: {reach.reason}")
        else:
            (proven if reach.state == YES else possible).append(conduit)
    return (*proven, *possible), tuple(reasons)
