"""Sensors of the loop: what is worth a turn.

Owns what a sensor is, and which there are. A third one is one more file here and one line in `SENSORS`. A sensor keeps
nothing that a restart would miss. Must not know how lines reach the session.
"""

from __future__ import annotations

from agent_ways.attend.sensors.found import Found
from agent_ways.attend.sensors.keepwarm import Keepwarm
from agent_ways.attend.sensors.messages import Messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance

    class Sensor(Protocol):
        """One thing that is looked at for a session."""

        name: str

        def look(self, instance: Instance) -> Found:
            """What is worth a turn now, and when to look again. Called after every change and when its time is up."""


SENSORS: dict[str, Callable[[Bus], Sensor]] = {"messages": Messages, "keepwarm": Keepwarm}

__all__ = ["SENSORS", "Found"]
