"""How a session can be reached, as seen from outside: four conduits, each yes, no or unknown, with the reason.

Owns that judgement over what is on disk and in the process table. It never says more than is known: a launch flag is an
intent, a bound socket a possibility. Must not know how a conduit works; the server, which pushes, knows more.
"""

from __future__ import annotations

import os

from agent_ways.attend import ledger, perceiver
from agent_ways.attend.addresses import ALIVE, DEAD
from agent_ways.attend.delivery import CHANNEL, SOCKET
from agent_ways.attend.signals import iso
from agent_ways.base.errors import StateError
from agent_ways.claude import records, settings
from agent_ways.claude.launch import channel_intent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.attend.addresses import Known
    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.claude.records import SessionRecord

YES, NO, UNKNOWN = "yes", "no", "unknown"
NAMES = ("channel", "inbox_socket", "loop", "drain")

Conduits = dict[str, dict[str, "str | None"]]


def conduits(bus: Bus, known: Known, instance: Instance | None, record: SessionRecord | None) -> Conduits:
    """The four conduits into a session, by name. `record` is its client's, None where it does not live here."""
    if known.live == DEAD:
        return dict.fromkeys(NAMES, _told(NO, "The session has ended."))
    if known.live != ALIVE or record is None:
        return dict.fromkeys(NAMES, _told(UNKNOWN, "The session can not be seen from here."))
    if record.is_sdk:
        return dict.fromkeys(NAMES, _told(NO, "Nothing is brought into a session of -p or an SDK."))
    served = bool(perceiver.servers(bus, known.session))
    loop = perceiver.loop(bus, known.key, known.session) if known.key else None
    return {
        "channel": _down(bus, instance, CHANNEL) or _channel(bus, record, served),
        "inbox_socket": _down(bus, instance, SOCKET) or _inbox_socket(record, served),
        "loop": _told(YES, "A sensor loop runs.", str(loop))
        if loop
        else _told(NO, "No sensor loop runs: attend run under the Monitor tool starts one."),
        "drain": _drain(bus, instance),
    }


def record_of(bus: Bus, known: Known, instance: Instance | None) -> SessionRecord | None:
    """The client's record of a session that lives on this machine."""
    if known.live != ALIVE:
        return None
    if instance is not None and instance.client is not None:
        return records.read(instance.config_dir, instance.client.pid, bus.table)
    there = records.read_all(known.config_dir, bus.table) if known.config_dir else ()
    return next((record for record in there if record.session == known.session), None)


def wakes(found: Conduits) -> bool:
    """Whether something there may start a turn in an idle session."""
    return any(found[name]["state"] != NO for name in ("channel", "inbox_socket", "loop"))


def why_down(bus: Bus, instance: Instance | None, conduit: str) -> str:
    """Why the server has given a conduit up until restart or `/clear`; empty where it has not."""
    try:
        return ledger.read(bus, instance.key).why_down(conduit, instance.client, instance.session) if instance else ""
    except StateError:
        return ""


def _down(bus: Bus, instance: Instance | None, conduit: str) -> dict[str, str | None] | None:
    reason = why_down(bus, instance, conduit)
    return _told(NO, f"Given up until restart or /clear: {reason}.") if reason else None


def _channel(bus: Bus, record: SessionRecord, served: bool) -> dict[str, str | None]:
    intent = channel_intent(bus.table.argv(record.pid))
    if intent.state == NO:
        return _told(NO, intent.reason, intent.evidence)
    if not served:
        return _told(NO, "No server of this session runs.", intent.evidence)
    return _told(UNKNOWN, intent.reason, intent.evidence)


def _inbox_socket(record: SessionRecord, served: bool) -> dict[str, str | None]:
    if not record.socket:
        return _told(NO, "The session record names no inbox socket: the client's messaging is off.")
    if not os.path.exists(record.socket):
        return _told(NO, "The inbox socket that the session record names is not there.", record.socket)
    told = settings.inbound(settings.files(record.config_dir, record.cwd))
    if told.keeps_out:
        return _told(NO, f"crossSessionInbound is {told.policy}: the client would not deliver it.", told.file)
    if not served:
        return _told(NO, "No server of this session runs.", record.socket)
    return _told(
        UNKNOWN, "The client bound an inbox socket; whether it accepts is seen when it is used.", record.socket
    )


def _drain(bus: Bus, instance: Instance | None) -> dict[str, str | None]:
    try:
        last = ledger.read(bus, instance.key).last if instance else {}
    except StateError as error:
        return _told(UNKNOWN, error.message)
    at = last.get("at")
    if last.get("conduit") == "drain" and isinstance(at, int):
        return _told(YES, "The Stop hook has shown mail to it.", iso(at))
    return _told(UNKNOWN, "Whether its Stop hook is there is known once it has shown something.")


def _told(state: str, reason: str, evidence: str | None = None) -> dict[str, str | None]:
    return {"state": state, "reason": reason, "evidence": evidence}
