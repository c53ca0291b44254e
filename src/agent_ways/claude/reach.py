"""Whether an event can be brought into a session through a pushing conduit: one judgement for all who ask.

Owns the three states and what speaks for each: the launch flag, the client's gates, its settings, the socket, a proof
in the transcript. It never says more than is known: a flag is an intent, a bound socket a possibility. Must not know
who pushes, nor whether a server is there to do it.
"""

from __future__ import annotations

import os

from agent_ways.base.values import Value
from agent_ways.claude import launch, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final

    from agent_ways.claude.proof import Evidence
    from agent_ways.claude.records import SessionRecord

    Proven = Callable[[], Evidence | None]

YES, NO, UNKNOWN = "yes", "no", "unknown"


class Reach(Value):
    """Whether a session can be reached: `state` is yes, no or unknown, `reason` a sentence, `evidence` its ground."""

    __slots__ = ("evidence", "reason", "state")

    def __init__(self, state: str, reason: str, evidence: str | None = None) -> None:
        self.state: Final = state
        self.reason: Final = reason
        self.evidence: Final = evidence


def nothing() -> None:
    """No proof, for who can not look for one."""


def channel(
    record: SessionRecord,
    argv: tuple[str, ...] | None,
    env: Mapping[str, str],
    server: str,
    proven: Proven = nothing,
) -> Reach:
    """The channel of `server`. `argv` is the client's command line (None: unreadable), `env` as far as it is known."""
    if record.is_sdk:
        return Reach(NO, "A session of -p or an SDK loads no channel.", f"entrypoint {record.entrypoint}")
    intent = launch.channel_intent(argv, server)
    if intent.state != YES:
        return Reach(intent.state, intent.reason, intent.evidence)
    proof = proven()
    if proof is not None:
        return Reach(YES, "An event of this server was given to the model.", f"transcript, byte {proof.line}")
    gate = next((name for name in launch.GATES if env.get(name)), None)
    if gate is not None:
        return Reach(NO, f"{gate} is set, which switches the client's channels off.", intent.evidence)
    return Reach(UNKNOWN, intent.reason, intent.evidence)


def inbox_socket(record: SessionRecord, config_dir: str, proven: Proven = nothing) -> Reach:
    """The session's own inbox socket."""
    if record.is_sdk:
        return Reach(NO, "Nothing is pushed into a session of -p or an SDK.", f"entrypoint {record.entrypoint}")
    if not record.socket:
        return Reach(NO, "The session record names no inbox socket: the client's messaging is off.")
    if not os.path.exists(record.socket):
        return Reach(NO, "The inbox socket that the session record names is not there.", record.socket)
    told = settings.inbound(settings.files(config_dir, record.cwd))
    if told.keeps_out:
        return Reach(NO, f"crossSessionInbound is {told.policy}: the client would not deliver it.", told.file)
    proof = proven()
    if proof is not None:
        return Reach(YES, "A message of this server was given to the model.", f"transcript, byte {proof.line}")
    return Reach(UNKNOWN, "The client bound an inbox socket; no message through it is proven yet.", record.socket)
