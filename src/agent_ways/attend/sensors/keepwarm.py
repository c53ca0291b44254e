"""The sensor `keepwarm`: a word asked for in the last quarter of the prompt cache's life (KA-9).

Owns being keepalive's host in the loop: its lines are keepalive's events. What is due and when is the judge's to say,
and whether anything is done at all: only where the operator armed keepalive and the session's server can not push. Must
not know the judge's rules.
"""

from __future__ import annotations

from agent_ways.attend import warmth
from agent_ways.attend.sensors.found import Found
from agent_ways.keepalive.keeper import Keeper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.keepalive.events import Event

UNARMED_LOOK = 60.0
"""Seconds between two looks at the config while keepalive is off."""


class Keepwarm:
    """See the module's docstring."""

    name = "keepwarm"

    def __init__(self, bus: Bus) -> None:
        self._config: Final = warmth.settings_file(bus)
        self._lines: Final[list[str]] = []
        self._keeper: Final = Keeper(warmth.eyes(bus, in_loop=True), warmth.store(bus), self._push)

    def look(self, instance: Instance) -> Found:
        """Step once; the event, if one is due, is the line. The intent was written before."""
        del instance  # keepalive finds its session by itself
        self._lines.clear()
        step = self._keeper.step(warmth.settings_now(self._config))
        return Found(tuple(self._lines), UNARMED_LOOK if step.after_ms is None else step.after_ms / 1000)

    def _push(self, conduit: str, event: Event) -> str:
        del conduit  # there is one
        self._lines.append(event.text)
        return ""
