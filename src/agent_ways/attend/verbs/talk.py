"""The verbs `send` and `reply`: what was sent, and what is true of each recipient now."""

from __future__ import annotations

from agent_ways.attend import delivery, directory, instances, reach, sending
from agent_ways.attend.addresses import ALIVE, UNKNOWN
from agent_ways.attend.quiet import is_quiet
from agent_ways.attend.trays import OPEN
from agent_ways.attend.verbs.caller import named, speaker
from agent_ways.attend.waking import told_sender
from agent_ways.keepalive.moves import QUIET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_ways.attend.addresses import Recipient
    from agent_ways.attend.sending import Sent
    from agent_ways.attend.verbs.caller import Caller

KEPT = "no live session; kept"
UNSEEN_HOST = "queued; whether it lives can not be seen from here"
_LISTED = 3


def send(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    sender, instance = speaker(caller)
    sent = sending.send(
        caller.bus,
        sender,
        instance,
        arguments["body"],
        to=arguments.get("to") or (),
        re=_answered(caller, arguments),
        on_behalf_of=arguments.get("on_behalf_of"),
    )
    return _result(caller, sent)


def reply(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    sender, instance = speaker(caller)
    sent = sending.reply(
        caller.bus,
        sender,
        instance,
        arguments["body"],
        re=_answered(caller, arguments),
        on_behalf_of=arguments.get("on_behalf_of"),
    )
    return _result(caller, sent)


def _answered(caller: Caller, arguments: dict[str, Any]) -> str | None:
    return named(caller, arguments["re"]) if arguments.get("re") else None


def _result(caller: Caller, sent: Sent) -> dict[str, Any]:
    notes, wrapped = _resting(caller, sent)
    recipients = [
        {"session": one.session, "name": one.name, "state": QUIET if one.session in wrapped else state(one)}
        for one in sent.recipients
    ]
    return {
        "id": sent.signal.id,
        "room": sent.signal.room,
        "recipients": recipients,
        "note": "; ".join([*sent.notes, *notes]) or None,
    }


def state(one: Recipient) -> str:
    """What is true of a recipient at this moment: it waits, and whether anybody lives that it waits for."""
    if one.session is None:
        return delivery.QUEUED if one.live == UNKNOWN else KEPT  # the operator reads when they like
    return {ALIVE: delivery.QUEUED, UNKNOWN: UNSEEN_HOST}.get(one.live, KEPT)


def _resting(caller: Caller, sent: Sent) -> tuple[list[str], set[str]]:
    """What is to be said of the live sessions that it is for, where it does not wake them; the ids of those wrapped."""
    asleep: list[str] = []
    guarded: list[str] = []
    wrapped: set[str] = set()
    known = None
    for one in sent.recipients:
        if one.live != ALIVE or one.session is None:
            continue
        known = known or directory.directory(caller.bus)
        found = known.by_session(one.session)
        if found is None:
            continue
        instance = instances.read(caller.bus, found.key) if found.key else None
        if instance is not None and is_quiet(caller.bus, instance):
            wrapped.add(one.session)
        elif one.why != OPEN:
            record = reach.record_of(caller.bus, found, instance)
            if not reach.wakes(reach.conduits(caller.bus, found, instance, record)):
                asleep.append(one.name)
            elif instance is not None and sent.signal.sender.session:
                guarded.append(told_sender(caller.bus, instance, record, sent.signal.sender.session))
    return [*_unwoken(asleep), *(note for note in guarded[:_LISTED] if note)], wrapped


def _unwoken(asleep: list[str]) -> list[str]:
    """What is said of live recipients that nothing wakes: they are shown it at the end of their next turn."""
    if not asleep:
        return []
    more = f" and {len(asleep) - _LISTED} more" if len(asleep) > _LISTED else ""
    who = ", ".join(asleep[:_LISTED]) + more
    return [f"nothing wakes {who}: shown at the end of the next turn, where the Stop hook is"]
