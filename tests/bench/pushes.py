"""How long a message takes to the event on the server's stdout, from when the sender was told that it is sent.

Owns that one measurement. The session is the tests' fake client, idle, with the channel flag; its clock is ours.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import TYPE_CHECKING

from agent_ways.attend import bus as buses
from agent_ways.attend import sending
from tests.support.fake_client import FLAGGED, FakeClient, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

PUSH = "push"
APART = 0.4
"""Seconds between two messages: longer than the server gathers a burst for."""


def pushes(command: Sequence[str], scratch: str, count: int) -> dict[str, float]:
    """Medians of `count` messages, in ms: sending one, from there to its event, and the latter's 95th percentile."""
    folder = os.path.join(scratch, "pushes")
    os.mkdir(folder)
    sends: list[float] = []
    took: list[float] = []
    with FakeClient(folder, Plan(server=tuple(command), argv=FLAGGED)) as client:
        client.wait_handshake()
        client.type("hello")
        client.wait_status("idle")
        mode = {"type": "permission-mode", "permissionMode": "default", "sessionId": client.session_id}
        client.append_transcript(mode)
        bus = buses.open_bus({"HOME": client.plan.home})
        person = sending.human_sender(bus, "bench", client.plan.project)
        for number in range(count + 1):
            began = time.monotonic()
            sent = sending.send(bus, person, None, "ping", to=[client.session_id]).signal
            told = time.monotonic()
            event = client.wait_channel_event(lambda event, sent=sent: sent.id in event.text)  # type: ignore[misc]
            if number:  # the first also waits until events may leave at all
                sends.append((told - began) * 1000)
                took.append(max(0.0, event.at - told) * 1000)  # it may be pushed before the sender is told
            client.wait_status("idle", count=number + 2)
            time.sleep(APART)
    return {
        "send_ms": statistics.median(sends),
        "push_ms": statistics.median(took),
        "push_p95_ms": statistics.quantiles(took, n=20)[18],
    }
