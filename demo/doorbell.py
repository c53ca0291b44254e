"""A module of the server with one event source: somebody writes a line into a named pipe, and the session hears it.

Owns the class `Doorbell`. It is all that a module needs to be: one file, and one line in a registry (here in
`demo/server.py`). The pipe's path comes in `DEMO_DOORBELL`.
"""

from __future__ import annotations

import os

from agent_ways.server.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.server.module import Host


class Doorbell(Module):
    """Each line written into the pipe becomes one event."""

    name = "doorbell"
    instructions = "An event of kind doorbell says that somebody is at the door; nothing need be done."

    def start(self, host: Host) -> None:
        """Watch the pipe; no thread, no timer: a server at rest does not wake."""
        pipe = os.open(host.world.env["DEMO_DOORBELL"], os.O_RDWR | os.O_NONBLOCK)

        def ring() -> None:
            for line in os.read(pipe, 4096).decode("utf-8", "replace").splitlines():
                host.push(f"The doorbell of this machine rang. It says: {line}", {"kind": "doorbell"})

        host.watch(pipe, ring)
