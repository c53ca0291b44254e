"""The channel: the client's own extension of the protocol, where the session was launched with its flag.

Owns the conduit `channel`. The client says nothing about an event, not even that it dropped it, so a flag is an
intent and the transcript is the proof.
"""

from __future__ import annotations

from agent_ways.server.conduits import NO, UNKNOWN, YES, Reach
from agent_ways.server.protocol import SERVER_NAME, channel_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from agent_ways.server.conduits import Event, View


class Channel:
    """`send` takes the line of one event to the client."""

    name = "channel"

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send: Final = send

    def reach(self, session: View) -> Reach:
        """See `Conduit.reach`."""
        from agent_ways.claude import proof
        from agent_ways.claude.launch import GATES, channel_intent

        if session.record.is_sdk:
            return Reach(NO, "A session of -p or an SDK loads no channel.", f"entrypoint {session.record.entrypoint}")
        intent = channel_intent(session.argv, SERVER_NAME)
        if intent.state != YES:
            return Reach(intent.state, intent.reason, intent.evidence)
        proven = proof.channel_proof(session.rows(), SERVER_NAME)
        if proven is not None:
            return Reach(YES, "An event of this server was given to the model.", f"transcript, byte {proven.line}")
        gate = next((name for name in GATES if session.env.get(name)), None)
        if gate is not None:
            return Reach(NO, f"{gate} is set, which switches the client's channels off.", intent.evidence)
        return Reach(UNKNOWN, intent.reason, intent.evidence)

    def push(self, session: View, event: Event) -> str | None:
        """See `Conduit.push`. Whether the client drops it can not be seen here."""
        del session
        self._send(channel_event(event.text, event.meta))
        return None
