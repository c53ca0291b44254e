"""The verb `keepwarm`: what keepalive would do now by way of the sensor loop. It changes nothing."""

from __future__ import annotations

from agent_ways.attend import warmth
from agent_ways.base.errors import RefusedError
from agent_ways.keepalive.status import status_now
from agent_ways.keepalive.words import spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_ways.attend.verbs.caller import Caller


def keepwarm(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue. It asks the judge that acts."""
    del arguments
    if caller.is_person:
        raise RefusedError(
            "this is a plain terminal: there is no session here to keep warm", "See: ways keepalive status"
        )
    bus = caller.bus
    settings = warmth.settings_now(warmth.settings_file(bus))
    found = status_now(warmth.eyes(bus, in_loop=False), warmth.store(bus), settings)
    due = found["next"]["in_s"]
    return {
        "session": found["session"],
        "armed": found["armed"],
        "action": found["next"]["action"],
        "reason": found["next"]["reason"],
        "after": None if due is None else spell(int(due * 1000)),
        "note": "; ".join(found["notes"]) or None,
    }
