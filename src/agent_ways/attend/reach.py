"""How a session can be reached, as seen from outside: four conduits, each yes, no or unknown, with the reason.

Owns that judgement over what is on disk and in the process table. It never says more than is known: a launch flag is an
intent, a bound socket a possibility. Must not know how a conduit works; the server, which pushes, knows more.
"""

from __future__ import annotations

import os

from agent_ways.attend import ledger, perceiver
from agent_ways.attend.addresses import ALIVE, DEAD
from agent_ways.attend.delivery import CHANNEL, SOCKET
from agent_ways.attend.evidence import SERVER
from agent_ways.attend.signals import iso
from agent_ways.base import config, paths
from agent_ways.base.errors import StateError
from agent_ways.claude import reach, records
from agent_ways.claude.reach import NO, UNKNOWN, YES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from agent_ways.attend.addresses import Known
    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.claude.reach import Reach
    from agent_ways.claude.records import SessionRecord

FORBIDDEN = "The user config forbids it."
NAMES = ("channel", "inbox_socket", "loop", "drain")

Conduits = dict[str, dict[str, "str | None"]]


def conduits(
    bus: Bus, known: Known, instance: Instance | None, record: SessionRecord | None, *, own: bool = False
) -> Conduits:
    """The four conduits into a session, by name. `record` is its client's, None where it does not live here.

    `own` says that this process runs in that session, so that our environment is what its client gave us.
    """
    if known.live == DEAD:
        return dict.fromkeys(NAMES, _told(NO, "The session has ended."))
    if known.live != ALIVE or record is None:
        return dict.fromkeys(NAMES, _told(UNKNOWN, "The session can not be seen from here."))
    if record.is_sdk:
        return dict.fromkeys(NAMES, _told(NO, "Nothing is brought into a session of -p or an SDK."))
    served = bool(perceiver.servers(bus, known.session))
    loop = perceiver.loop(bus, known.key, known.session) if known.key else None
    channel = reach.channel(record, bus.table.argv(record.pid), bus.env if own else {}, SERVER)
    socket = reach.inbox_socket(record, record.config_dir)
    used = allowed(bus)
    return {
        "channel": _pushing(channel, served, lambda: closed(bus, instance, CHANNEL, used)),
        "inbox_socket": _pushing(socket, served, lambda: closed(bus, instance, SOCKET, used)),
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


def allowed(bus: Bus) -> tuple[str, ...]:
    """The pushing conduits that the operator allows."""
    return config.ConfigFile(os.path.join(paths.config_dir(bus.env), config.FILE)).now().conduits


def closed(bus: Bus, instance: Instance | None, conduit: str, allowed: Container[str]) -> str:
    """Why our own side does not use a pushing conduit: the operator forbids it, or the server has given it up."""
    return given_up(bus, instance, conduit) if conduit.replace(" ", "_") in allowed else FORBIDDEN


def given_up(bus: Bus, instance: Instance | None, conduit: str) -> str:
    """Why the server uses a conduit no more until restart or `/clear`; empty where it does."""
    try:
        why = ledger.read(bus, instance.key).why_down(conduit, instance.client, instance.session) if instance else ""
    except StateError:
        return ""
    return f"Given up until restart or /clear: {why}." if why else ""


def _pushing(found: Reach, served: bool, why_not: Callable[[], str]) -> dict[str, str | None]:
    if found.state == NO:
        return _told(found.state, found.reason, found.evidence)
    why = why_not() or ("" if served else "No server of this session runs.")
    return _told(NO, why, found.evidence) if why else _told(found.state, found.reason, found.evidence)


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
