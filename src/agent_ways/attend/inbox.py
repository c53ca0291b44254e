"""The inbox: what a session, or the person, can see, with the state of each signal.

Owns listing, filtering, threads, search and receipts. Changes nothing on disk, except `read_by_operator`. Must not know
how anything is printed.
"""

from __future__ import annotations

import os

from agent_ways.attend import addresses, delivery, ids, instances, layout, ledger, rooms, seen, signals, trays
from agent_ways.attend.addresses import OPERATOR, Address, Directory, channel_name
from agent_ways.attend.signals import HUMAN, Note, Signal, iso
from agent_ways.base.errors import UsageError
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance

DIRECT = "direct"
"""As `room` of a filter: what was addressed to the viewer."""


class Item(Value):
    """One signal as its viewer has it.

    `state` is one of the five, None for room talk that never waited for this viewer (it came later, or is the sender).
    `proof` is how a seen one is known.
    """

    __slots__ = ("proof", "signal", "state")

    def __init__(self, signal: Signal, state: str | None, proof: dict[str, Any] | None) -> None:
        self.signal: Final = signal
        self.state: Final = state
        self.proof: Final = proof

    def to_json(self) -> dict[str, Any]:
        """As `inbox` lists it (ATT-3)."""
        return {**self.signal.to_json(), "state": self.state, "proof": self.proof}


class Page(Value):
    """Items newest first; how many fit in all; the id to go on `before`, None at the end; files passed over."""

    __slots__ = ("items", "next", "notes", "total")

    def __init__(
        self,
        items: tuple[Item, ...],
        total: int,
        next: str | None,  # noqa: A002  # the result's name
        notes: tuple[Note, ...],
    ) -> None:
        self.items: Final = items
        self.total: Final = total
        self.next: Final = next
        self.notes: Final = notes


class Filter(Value):
    """What to list: `room` ("open", "#name", "direct"), part of the sender's name or its id, ms since 1970, text.

    `unseen` leaves out what was seen, and talk that never waited for the viewer.
    """

    __slots__ = ("room", "sender", "since", "text", "unseen")

    def __init__(
        self, *, unseen: bool = False, room: str = "", sender: str = "", since: int | None = None, text: str = ""
    ) -> None:
        self.unseen: Final = unseen
        self.room: Final = room
        self.sender: Final = sender
        self.since: Final = since
        self.text: Final = text

    @property
    def reads(self) -> bool:
        """Whether a signal must be read to be judged."""
        return bool(self.sender or self.text or self.since is not None)

    def fits(self, signal: Signal) -> bool:
        """Whether a signal passes what can be judged by reading it."""
        sender = signal.sender
        if self.since is not None and signal.at < self.since:
            return False
        operator = OPERATOR if sender.kind == HUMAN else ""  # every person is one, whatever their login
        names = (sender.session or "", sender.user or "", sender.name, operator)
        if self.sender and not any(name.lower().startswith(self.sender.lower()) for name in names if name):
            return False
        return self.text.casefold() in signal.body.casefold()


class Viewer:
    """Whose inbox: a registered session's, or the person's where `instance` is None."""

    __slots__ = ("_bus", "instance", "key", "trays")

    def __init__(self, bus: Bus, instance: Instance | None) -> None:
        self._bus: Final = bus
        self.instance: Final = instance
        self.key: Final = instance.key if instance else layout.OPERATOR
        self.trays: Final = instances.history(instance, bus) if instance else (layout.OPERATOR,)

    def waiting(self) -> dict[str, trays.Slip]:
        """What waits, held back or not, by signal id."""
        root = self._bus.root
        both = trays.waiting(root, self.trays[-1], held=True) + trays.waiting(root, self.trays[-1])
        return {slip.id: slip for slip in both}

    def rooms(self, wanted: str = "") -> list[str]:
        """The histories that make up the inbox, or those of one room."""
        root_rooms = [layout.OPEN]
        if wanted in (layout.OPEN, "*", "#open"):
            return root_rooms
        if wanted and wanted != DIRECT:
            return [layout.room_of_channel(channel_name(wanted))]
        direct = [layout.room_of_tray(tray) for tray in self.trays]
        if wanted:
            return direct
        joined = rooms.joined(self._bus, self.key) if self.instance else list(rooms.all_members(self._bus))
        return [*root_rooms, *(layout.room_of_channel(name) for name in joined), *direct]

    def unseen(self) -> set[str]:
        """The ids of what waits, is there and was not seen: what `--unseen` lists and `status` counts."""
        waiting = [one for one in self.waiting() if _is_sent(self._bus, one)]
        return set(waiting) - set(seen.proofs(self._bus, self.key, waiting))

    def mail(self) -> set[str]:
        """The ids of what came to the viewer by address, whoever wrote it.

        A person's note to `operator` may be their own, as what a session kept for `self` or an alias and then took up.
        """
        return _history(self._bus, self.rooms(DIRECT)) | set(self.waiting())

    def own(self) -> set[str]:
        """The ids of what the viewer sent."""
        return {one for tray in self.trays for one in rooms.newest_first(self._bus, layout.room_of_sender(tray))}

    def states(self, wanted: Iterable[str]) -> dict[str, tuple[str | None, dict[str, Any] | None]]:
        """State and proof by id. A mark counts before a slip: a kill may have left both."""
        listed = list(wanted)
        proofs = seen.proofs(self._bus, self.key, listed)
        waiting = self.waiting()
        book = ledger.read(self._bus, self.key)
        return {
            one: (delivery.SEEN, proofs[one])
            if one in proofs
            else (book.state(one), None)
            if one in waiting
            else (None, None)
            for one in listed
        }


def room_named(bus: Bus, text: str) -> str:
    """The room that `text` means, as a filter has it: "open", "direct", "#name"; nothing for nothing.

    A channel may be named without its `#`; a dissolved one is a room for as long as its messages stay. Raises
    `UsageError` for any other text, as sending to that channel would.
    """
    if text in ("", DIRECT):
        return text
    if text in (layout.OPEN, "#open", "*"):
        return layout.OPEN
    marked = text.startswith("#")
    try:
        name = channel_name(text)
    except UsageError:
        if marked:
            raise
        name = ""
    known = rooms.all_members(bus)
    if name and (name in known or any(rooms.newest_first(bus, layout.room_of_channel(name)))):
        return f"#{name}"
    if marked:
        addresses.resolve([Address(addresses.CHANNEL, name)], Directory(channels=known), None, "")  # raises
    near = addresses.near_matches(name or text, known)
    hint = f"Did you mean #{', #'.join(near)}?" if near else "List the channels: attend channels"
    raise UsageError(f"{text!r} is no room: open, direct or #channel", hint)


def listing(bus: Bus, viewer: Viewer, chosen: Filter, limit: int = 25, before: str | None = None) -> Page:
    """The newest `limit` signals that fit, or those `before` an id. What the viewer said in a room is left out.

    What waits is in the inbox: `unseen` leaves things out and brings none in, also of a channel that was left.
    """
    if chosen.unseen:
        named = viewer.unseen()
        if chosen.room:
            named &= _history(bus, viewer.rooms(chosen.room))
    else:
        mail = viewer.mail()
        named = _history(bus, viewer.rooms(chosen.room)) - (viewer.own() - mail)
        if not chosen.room:
            named |= mail
    return _page(bus, viewer, sorted(named, reverse=True), chosen, limit=limit, before=before)


def search(bus: Bus, viewer: Viewer, chosen: Filter, limit: int = 25, before: str | None = None) -> Page:
    """As `listing`, own ones included; the person searches everything."""
    if viewer.instance is None and not chosen.room:
        named: Sequence[str] = signals.all_ids(bus)
    else:
        named = sorted(_history(bus, viewer.rooms(chosen.room)) | viewer.own(), reverse=True)
    return _page(bus, viewer, named, chosen, limit=limit, before=before)


def thread(bus: Bus, viewer: Viewer, signal_id: str) -> Page:
    """The whole talk that a signal belongs to, oldest first."""
    found = signals.read(bus, signal_id)
    root = found.thread if isinstance(found, Signal) else signal_id
    named = {root, signal_id, *rooms.newest_first(bus, layout.room_of_thread(root))}
    page = _page(bus, viewer, sorted(named, reverse=True), Filter(), limit=len(named))
    return Page(tuple(reversed(page.items)), page.total, None, page.notes)


def show(bus: Bus, viewer: Viewer, signal_id: str) -> Item | Note | None:
    """One signal with its state for the viewer."""
    found = signals.read(bus, signal_id)
    if not isinstance(found, Signal):
        return found
    state, proof = viewer.states([signal_id])[signal_id]
    return Item(found, state, proof)


def receipts(bus: Bus, signal: Signal) -> list[dict[str, Any]]:
    """What became of a signal for whom it is for: `{session, name, state, proof}`.

    That is each session that it was put before, each that took it up later (a project's mail, a note to `self`, an
    alias's), and whoever it is still kept for, whose `session` is None. `state` is None where nothing is known any
    more: its record went with its age.
    """
    everyone = instances.read_all(bus)
    found = [_receipt(bus, signal, session, everyone) for session in signal.recipients]
    later = [one for one in everyone if not set(one.sessions) & set(signal.recipients)]
    found += [_receipt(bus, signal, one.session, [one]) for one in later if _reached(bus, signal, one)]
    for tray, name in (pair for address in signal.to for pair in _kept(address)):
        waits = any(slip.id == signal.id for slip in trays.own(bus.root, tray))
        if waits or not found:
            found.append({"session": None, "name": name, "state": delivery.QUEUED if waits else None, "proof": None})
    return found


def _receipt(bus: Bus, signal: Signal, session: str, everyone: Sequence[Instance]) -> dict[str, Any]:
    one = next((instance for instance in everyone if session in instance.sessions), None)
    state: str | None
    proof: dict[str, Any] | None
    if session == OPERATOR or one is not None:
        state, proof = Viewer(bus, None if session == OPERATOR else one).states([signal.id])[signal.id]
    else:
        waits = any(slip.id == signal.id for slip in trays.waiting(bus.root, session))
        state, proof = (delivery.QUEUED if waits else None), None
    name = OPERATOR if session == OPERATOR else one.name if one else session[:8]
    return {"session": session, "name": name, "state": state, "proof": proof}


def _reached(bus: Bus, signal: Signal, one: Instance) -> bool:
    """Whether a signal was ever brought into that session's tray, under any of its ids."""
    return any(rooms.holds(bus, layout.room_of_tray(session), signal.id) for session in one.sessions)


def _kept(address: str) -> Iterator[tuple[str, str]]:
    """The tray that a signal to such an address waits in while no session has it, and for whom."""
    if address.startswith("@"):
        yield layout.tray_of_alias(address[1:]), address
    elif address.startswith("self:"):
        yield layout.tray_of_self(address[5:]), f"the next session of {address[5:]}"
    elif address.startswith("/"):
        yield layout.tray_of_project(address), f"the next session in {address}"


def unseen(bus: Bus, session: str) -> int:
    """How many signals wait for a session or tray, held back ones included. Two listings, nothing read.

    What a killed writer or reader left is counted too; `Viewer.unseen` looks.
    """
    return len(trays.waiting(bus.root, session)) + len(trays.waiting(bus.root, session, held=True))


def read_by_operator(bus: Bus, items: Iterable[Item]) -> None:
    """Mark what the person was just shown on a terminal: only mail to `operator` has a state to change."""
    waiting = Viewer(bus, None).waiting()
    shown = [item.signal.id for item in items if item.signal.id in waiting]
    if not shown:
        return
    proof = {"kind": "terminal", "session": None, "at": iso(bus.now_ms())}
    with bus.lock("ledger.operator"):
        known = seen.proofs(bus, layout.OPERATOR, shown)
        seen.mark(bus, layout.OPERATOR, {one: proof for one in shown if one not in known})
        for one in shown:
            trays.drop(bus, waiting[one])


def _is_sent(bus: Bus, signal_id: str) -> bool:
    """Whether the signal of a slip is in its place, or was archived from there."""
    day = ids.day(signal_id)
    archived = os.path.join(layout.archive(bus.root), day, signal_id + ".json")
    return any(os.path.lexists(path) for path in (layout.signal(bus.root, day, signal_id), archived))


def _history(bus: Bus, names: Iterable[str]) -> set[str]:
    return {signal_id for name in names for signal_id in rooms.newest_first(bus, name)}


def _page(
    bus: Bus, viewer: Viewer, named: Sequence[str], chosen: Filter, *, limit: int, before: str | None = None
) -> Page:
    """`named` newest first. Where no filter reads, only the page itself is read."""
    notes: list[Note] = []
    if chosen.reads:
        fitting = [one for one in signals.read_all(bus, named, notes) if chosen.fits(one)]
        total = len(fitting)
        left = [one for one in fitting if before is None or one.id < before]
        page, more = left[:limit], len(left) > limit
    else:
        total = len(named)
        page, more = [], False
        for signal_id in (one for one in named if before is None or one < before):
            if len(page) == limit:
                more = True
                break
            page += signals.read_all(bus, [signal_id], notes)
    states = viewer.states([one.id for one in page])
    items = tuple(Item(one, *states[one.id]) for one in page)
    return Page(items, total, page[-1].id if more and page else None, tuple(notes))
