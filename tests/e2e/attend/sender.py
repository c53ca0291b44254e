"""A person who sends without starting a command: the time of sending is then known to the millisecond.

Owns sending by the library of this checkout. Must not know what becomes of a message.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agent_ways.attend import bus as buses
from agent_ways.attend import sending

if TYPE_CHECKING:
    from tests.e2e.lab import Lab


class Sender:
    """Writes to the bus of a lab."""

    def __init__(self, lab: Lab) -> None:
        self._bus = buses.open_bus(lab.env)
        self._person = sending.human_sender(self._bus, "me", lab.home.project)

    def send(self, to: str, body: str) -> tuple[str, float, float]:
        """The id of the message, and when sending began and ended, in seconds since 1970."""
        began = time.time()
        sent = sending.send(self._bus, self._person, None, body, to=[to])
        return sent.signal.id, began, time.time()
