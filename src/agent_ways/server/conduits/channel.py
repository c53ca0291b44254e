"""The channel: the client's own extension of the protocol, where the session was launched with its flag.

Owns the conduit `channel`. The client says nothing about an event, not even that it dropped it, so a flag is an
intent and the transcript is the proof.
"""

from __future__ import annotations

from agent_ways.server.protocol import SERVER_NAME, channel_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from agent_ways.claude.reach import Reach
    from agent_ways.server.conduits import Event, View


class Channel:
    """`send` takes the line of one event to the client."""

    name = "channel"

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send: Final = send

    def reach(self, session: View) -> Reach:
        """See `Conduit.reach`."""
        from agent_ways.claude import proof, reach

        return reach.channel(
            session.record,
            session.argv,
            session.env,
            SERVER_NAME,
            lambda: proof.channel_proof(session.rows(), SERVER_NAME),
        )

    def push(self, session: View, event: Event) -> str | None:
        """See `Conduit.push`. Whether the client drops it can not be seen here."""
        del session
        self._send(channel_event(event.text, event.meta))
        return None
