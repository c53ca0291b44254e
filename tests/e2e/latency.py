"""How long a message takes to an idle session: from sending it to the API request that holds it.

    python -m tests.e2e.latency [messages per conduit and client, 50]

Prints a line per client and conduit. A measurement and no test: it depends on the machine.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import TYPE_CHECKING

from tests.e2e import inside, needs
from tests.e2e.attend.mail import Mail
from tests.e2e.attend.sender import Sender
from tests.e2e.clients import tracked
from tests.e2e.lab import CHANNEL_FLAG, Lab
from tests.e2e.waiting import until

if TYPE_CHECKING:
    from tests.e2e.clients import Client

FLAGS = {"channel": CHANNEL_FLAG, "inbox socket": ()}
REST = 0.6
"""Seconds between two messages: the server lets what follows a push at once ride together with it."""


def measure(client: Client, flag: tuple[str, ...], count: int) -> tuple[list[float], list[float]]:
    """Milliseconds for each message: of sending itself, and from its beginning to the API request."""
    sending, arriving = [], []
    with Lab(client) as lab:
        Mail.set_up(lab, needs.product(dict(os.environ)))
        session = lab.start(*flag)
        session.say("SAY:here")
        sender = Sender(lab)
        for number in range(count):
            rested = time.monotonic() + REST
            until("a moment of rest", lambda at=rested: time.monotonic() >= at)  # type: ignore[misc]
            session.wait_at_rest()
            signal, began, ended = sender.send(session.id, f"SAY:number {number}")
            since = max(0, len(lab.api.requests) - 5)
            request = lab.api.wait(signal, lambda one, its=signal: one.is_turn and one.mentions(its), since=since)  # type: ignore[misc]
            sending.append((ended - began) * 1000)
            arriving.append((request.at - began) * 1000)
    return sending, arriving


def row(name: str, values: list[float]) -> str:
    """Median and 95th percentile, in ms."""
    ranked = sorted(values)
    return f"{name} {statistics.median(ranked):.0f} / {ranked[int(len(ranked) * 0.95) - 1]:.0f}"


def program(argv: list[str]) -> int:
    count = int(argv[0]) if argv else 50
    sys.stdout.write(f"{count} messages each, ms: median / 95th percentile\n")
    for client in tracked(dict(os.environ)):
        for conduit, flag in FLAGS.items():
            sending, arriving = measure(client, flag, count)
            told = f"{row('send', sending)}   {row('send to API request', arriving)}"
            sys.stdout.write(f"{client}  {conduit:<13} {told}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(inside.run("tests.e2e.latency", program, sys.argv[1:]))
