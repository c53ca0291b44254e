"""The module `keepalive`: an idle session's prompt cache stays warm for a bounded window, then the agent wraps.

Owns nothing of its own: one read-only tool that says what the judge says, and the source that acts on it
(`server/warmth.py`). It is off until the operator arms it.
"""

from __future__ import annotations

from agent_ways.keepalive.shape import SCHEMA
from agent_ways.server.module import Module
from agent_ways.server.tools import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_ways.server.module import Host, World

STATUS = Tool(
    name="keepalive_status",
    title="Status of keepalive",
    description=(
        "Report whether this session's prompt cache is kept warm: armed or not, the window and when it closes, the "
        "cache's tier and age, the next action and why, pings sent and their cost, the last read-back, the wrap. Reads "
        "only; only the operator arms keepalive (ways keepalive on)."
    ),
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
    output_schema=SCHEMA,
    read_only=True,
)


class Keepalive(Module):
    """See the module's docstring."""

    name = "keepalive"
    instructions = (
        "An event of kind keepalive_ping or keepalive_wrap comes from this server because the operator armed "
        "keepalive: do exactly what it says and nothing else. keepalive_status tells more."
    )
    tools = (STATUS,)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._host: Host | None = None

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """See `Module.call`; there is one tool, and it takes nothing."""
        from agent_ways.server import warmth

        del tool, arguments
        return warmth.status(self.world)

    def start(self, host: Host) -> None:
        """See `Module.start`."""
        self._host = host

    def open(self) -> None:
        """See `Module.open`."""
        if self._host is not None:
            from agent_ways.server.warmth import Warmth

            Warmth(self._host).start()
