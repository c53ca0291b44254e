"""The perceiving role of a session: who registers it, shows it mail and marks what was seen (ATT-4).

Owns one lock per instance, `role.<key>`. A sensor loop holds it for as long as it runs. A server takes it for each
act and lets go, so that a loop finds it free when it starts and a server goes on when the loop ends: no hand-over can
leave a gap. Two servers of one session take turns; the ledger keeps them from showing anything twice. Must not know
what its holder does.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.attend.bus import Bus
    from agent_ways.base.locks import Lock

ACT = 0.5
"""Seconds that a server waits for another server's act to end."""


def role(bus: Bus, key: str, patience: float = ACT) -> Lock:
    """The lock; its holder's proof says who perceives (`Lock.holder`)."""
    return bus.lock(f"role.{key}", patience)
