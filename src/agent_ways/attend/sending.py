"""From words to a signal: `send` and `reply`.

Owns putting a signal together (sender, addresses, thread) and posting it. Must not know who may send (the frontends'
rule, ATT-4), nor how results are printed.
"""

from __future__ import annotations

from agent_ways.attend import addresses, directory, ids, instances, layout, ledger, rooms, seen, signals, trays
from agent_ways.attend.addresses import Recipient, Route
from agent_ways.attend.signals import HUMAN, SESSION, Sender, Signal
from agent_ways.base.errors import UsageError
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from agent_ways.attend.addresses import Known
    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance

_CLAIMED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@.,:/#*-")
_LONGEST_CLAIMED = 128
_LISTED = 5


class Sent(Value):
    """What was sent: the signal, where it waits, and what the sender must be told, in sentences.

    Its state for every recipient is "queued": more is never known at this moment.
    """

    __slots__ = ("notes", "recipients", "signal")

    def __init__(self, signal: Signal, recipients: tuple[Recipient, ...], notes: tuple[str, ...]) -> None:
        self.signal: Final = signal
        self.recipients: Final = recipients
        self.notes: Final = notes


def session_sender(instance: Instance) -> Sender:
    """The sender that a registered session is."""
    return Sender(
        kind=SESSION, session=instance.session, name=instance.name, project=instance.project, host=instance.host
    )


def human_sender(bus: Bus, user: str, cwd: str) -> Sender:
    """The sender that a person at a terminal is."""
    return Sender(kind=HUMAN, user=user, name=user, project=instances.project_of(cwd), host=bus.owner.host)


def send(
    bus: Bus,
    sender: Sender,
    instance: Instance | None,
    body: str,
    *,
    to: Sequence[str] = (),
    re: str | None = None,
    on_behalf_of: str | None = None,
) -> Sent:
    """Send `body` to the addresses `to`, to everybody where there is none.

    `instance` is the sending session, None for a person. Raises `UsageError` for a body or address that can not be
    (nothing is written then), `StateError` where it could not be written (and nothing is left of it).
    """
    signals.check_body(body)
    parsed = [addresses.parse(text) for text in to]
    answered = signals.find(bus, re) if re else None
    everyone = directory.directory(bus)
    route = addresses.resolve(parsed, everyone, _me(everyone.known, instance), sender.project)
    return _post(bus, sender, route, body, re=answered, on_behalf_of=on_behalf_of)


def reply(
    bus: Bus,
    sender: Sender,
    instance: Instance | None,
    body: str,
    *,
    re: str | None = None,
    on_behalf_of: str | None = None,
) -> Sent:
    """Answer who sent the signal `re`, or the newest one of the last delivery to this session (ATT-5).

    Raises `UsageError` where that is nobody, or several.
    """
    signals.check_body(body)
    answered = _signal(bus, signals.find(bus, re)) if re else _newest_shown(bus, instance)
    if answered.sender.kind == HUMAN:
        if instance is None:
            raise UsageError(f"{answered.id} is from a person, as you are", "Write to a session: attend send --to NAME")
        recipient = Recipient(layout.OPERATOR, trays.DIRECT, name=addresses.OPERATOR, live=addresses.UNKNOWN)
        to = addresses.OPERATOR
    else:
        session = answered.sender.session or ""
        if instance is not None and session in instance.sessions:
            raise UsageError(f"{answered.id} is this session's own", "Write to somebody: attend send --to NAME")
        recipient = addresses.reply_to(session, directory.directory(bus))
        to = recipient.session or session
    notes: tuple[str, ...] = ()
    if recipient.live == addresses.DEAD:
        notes = (f"no live session: {recipient.name} has ended; kept until it is resumed",)
    route = Route((to,), to, (recipient,), (layout.room_of_tray(recipient.tray),), notes)
    return _post(bus, sender, route, body, re=answered.id, on_behalf_of=on_behalf_of)


def _post(bus: Bus, sender: Sender, route: Route, body: str, *, re: str | None, on_behalf_of: str | None) -> Sent:
    signal = Signal(
        id=ids.next_id(bus),
        at=bus.now_ms(),
        sender=sender,
        to=route.to,
        room=route.room,
        body=body,
        re=re,
        thread=signals.thread_of(bus, re),
        on_behalf_of=_claimed(on_behalf_of),
        recipients=route.sessions,
    )
    kept = [*route.rooms, layout.room_of_sender(sender.session or layout.OPERATOR)]
    if re:
        kept.append(layout.room_of_thread(signal.thread))
    signals.post(bus, signal, route.slips(signal.id), kept)
    return Sent(signal, route.recipients, route.notes)


def _me(known: Sequence[Known], instance: Instance | None) -> Known | None:
    return next((one for one in known if instance is not None and one.key == instance.key), None)


def _claimed(text: str | None) -> str | None:
    if text is None or (0 < len(text) <= _LONGEST_CLAIMED and _CLAIMED.issuperset(text)):
        return text
    raise UsageError(f"{text!r} is nobody's id to speak for", "Give a session's id, a name or an address.")


def _signal(bus: Bus, signal_id: str) -> Signal:
    found = signals.read(bus, signal_id)
    if isinstance(found, Signal):
        return found
    raise UsageError(f"{signal_id} can not be read", found.text if found else "")


def _newest_shown(bus: Bus, instance: Instance | None) -> Signal:
    """The newest signal of the last delivery; a person's is the newest one of a session that the person has read."""
    if instance is None:
        newest = list(rooms.newest_first(bus, layout.room_of_tray(layout.OPERATOR)))
        marked = seen.proofs(bus, layout.OPERATOR, newest)
        read = (signals.read(bus, signal_id) for signal_id in newest if signal_id in marked)
        last = next((one for one in read if isinstance(one, Signal) and one.sender.kind == SESSION), None)
        found = [last] if last else []
    else:
        shown = [one for one in ledger.read(bus, instance.key).last.get("ids", []) if ids.is_id(one)]
        found = [one for one in signals.read_all(bus, sorted(shown), []) if not _own(one, instance)]
    senders = {one.sender for one in found}
    if len(senders) == 1:
        return found[-1]
    if senders:
        raise UsageError(f"the last delivery came from {len(senders)} senders: {_listed(found)}", _NAME_ONE)
    waiting = [] if instance is None else [slip.id for slip in trays.waiting(bus.root, instance.session)]
    there = _listed(signals.read_all(bus, waiting[-_LISTED:], []))
    raise UsageError(
        f"no signal was shown yet; there is: {there}" if there else "there is nothing to answer", _NAME_ONE
    )


_NAME_ONE = "Name the one that you answer: attend reply --re ID"


def _own(signal: Signal, instance: Instance) -> bool:
    return signal.sender.session in instance.sessions


def _listed(found: Sequence[Signal]) -> str:
    return "; ".join(f"{one.id} from {one.sender.name}" for one in found)
