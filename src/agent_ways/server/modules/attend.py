"""The module `attend`: messages between sessions.

Owns when the inbound source starts. Its tools are the verbs of the catalogue (`attend/catalogue.py`), its events mail
that may start a turn (`server/inbound.py`).
"""

from __future__ import annotations

from agent_ways.server.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.server.module import Host


class Attend(Module):
    """See the module's docstring."""

    name = "attend"
    instructions = ""
    _host: Host | None = None

    def start(self, host: Host) -> None:
        """See `Module.start`."""
        self._host = host

    def open(self) -> None:
        """See `Module.open`. What it needs is imported here, when the client has its answers."""
        if self._host is not None:
            from agent_ways.server.inbound import Inbound

            Inbound(self._host).start()
