"""The verbs about sessions: `peers`, `status`, `whoami`. They change nothing."""

from __future__ import annotations

from agent_ways.attend import aliases, delivery, directory, inbox, instances, ledger, reach, rooms, targets
from agent_ways.attend.addresses import ALIVE, DEAD
from agent_ways.attend.perceiver import perceiver
from agent_ways.attend.signals import iso
from agent_ways.attend.verbs.caller import user, viewer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_ways.attend.addresses import Known
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.signals import Note
    from agent_ways.attend.verbs.caller import Caller


def peers(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue. The caller itself is not among them."""
    bus = caller.bus
    mine = caller.identity.session
    everyone = {one.key: one for one in instances.read_all(bus)}
    held = aliases.holders(bus)
    listed = []
    for known in directory.known_sessions(bus):
        if known.session == mine or (known.live == DEAD and not arguments.get("all")):
            continue
        instance = everyone.get(known.key or "")
        record = reach.record_of(bus, known, instance)
        listed.append(
            {
                "session": known.session,
                "name": known.name,
                "client_name": record.name if record else None,
                "alias": [name for name, key in held.items() if key is not None and key == known.key],
                "project": known.project,
                "host": known.host,
                "status": (record.status if record else None)
                or {ALIVE: "unknown", DEAD: "ended"}.get(known.live, "unknown"),
                "conduits": reach.conduits(bus, known, instance, record),
                "unseen": inbox.unseen(bus, known.session),
            }
        )
    return {"peers": sorted(listed, key=lambda one: (str(one["project"]), str(one["name"])))}


def status(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    del arguments
    if caller.is_person:
        return _of_person(caller)
    bus, identity = caller.bus, caller.identity
    notes: list[Note] = []
    instances.read_all(bus, notes)
    words = [f"passed over {note.path}: {note.text}" for note in notes]
    words += [one for one in (targets.read(bus.env).note, identity.disagreement, identity.reason) if one]
    instance = caller.instance()
    found: dict[str, Any] = {
        "session": identity.session if identity.resolved else None,
        "name": instance.name if instance else None,
        "alias": aliases.held_by(bus, instance.key) if instance else [],
        "project": _project(caller, instance),
        "channels": rooms.joined(bus, instance.key) if instance else [],
        "enrolled": list(instance.enrolled) if instance else [],
        "unseen": len(viewer(caller).unseen()) if identity.record is not None else 0,
        "under_way": _under_way(caller, instance, words),
        "role": _role(caller, instance),
        "conduits": _conduits(caller, instance),
        "bus": bus.root,
    }
    return {**found, "notes": words}


def whoami(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    del arguments
    found, instance = caller.identity, caller.instance()
    record, process = found.record, found.claude_process
    return {
        "session": found.session,
        "source": found.source,
        "claude_pid": process.pid if process else None,
        "config_dir": found.config_dir,
        "client_version": record.version if record else None,
        "entrypoint": record.entrypoint if record else None,
        "disagreement": found.disagreement,
        "reason": found.reason,
        "name": instance.name if instance else None,
        "user": user(caller) if caller.is_person else None,
    }


def _of_person(caller: Caller) -> dict[str, Any]:
    bus = caller.bus
    note = targets.read(bus.env).note
    return {
        "session": None,
        "name": "operator",
        "alias": [],
        "project": None,
        "channels": list(rooms.all_members(bus)),
        "enrolled": [],
        "unseen": len(viewer(caller).unseen()),
        "under_way": [],
        "role": None,
        "conduits": None,
        "bus": bus.root,
        "notes": [note] if note else [],
    }


def _project(caller: Caller, instance: Instance | None) -> str | None:
    record = caller.identity.record
    if instance is not None:
        return instance.project
    return instances.project_of(record.cwd) if record and record.cwd else None


def _under_way(caller: Caller, instance: Instance | None, words: list[str]) -> list[dict[str, Any]]:
    if instance is None:
        return []
    book = ledger.read(caller.bus, instance.key)
    client, session = instance.client, instance.session
    for conduit in book.down:
        why = book.why_down(conduit, client, session)
        words += [f"the conduit {conduit} is down: {why}"] if why else []
    found = []
    for signal_id, claim in sorted(book.claims.items()):
        silent = caller.bus.monotonic() - claim.since >= delivery.TRACELESS
        if claim.state == delivery.PUSHED and silent:
            words.append(f"{signal_id} was shown by the {claim.conduit}, unproven: no transcript says so yet")
        if claim.state != delivery.QUEUED:
            found.append({"id": signal_id, "state": claim.state, "conduit": claim.conduit, "at": iso(claim.at)})
        elif claim.left:
            words.append(f"{signal_id} was shown twice without a proof; it waits in the inbox")
    return found


def _role(caller: Caller, instance: Instance | None) -> str | None:
    if not caller.identity.resolved:
        return None
    held = perceiver(caller.bus, instance.key if instance else None, caller.identity.session or "")
    return str(held) if held else None


def _conduits(caller: Caller, instance: Instance | None) -> dict[str, Any] | None:
    record = caller.identity.record
    if record is None:
        return None
    known = _as_known(caller, instance)
    return dict(reach.conduits(caller.bus, known, instance, record, own=True))


def _as_known(caller: Caller, instance: Instance | None) -> Known:
    from agent_ways.attend.addresses import Known

    session = caller.identity.session or ""
    return Known(key=instance.key if instance else None, session=session, live=ALIVE)
