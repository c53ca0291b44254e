"""Mail that a session finds when it comes.

Owns what happens when a session starts, resumes, is cleared, enrols or joins: mail kept for its project and its aliases
moves into its tray, notes to `self` go to the first that asks, and history is counted instead of replayed (ATT-10).
Must not know how anything is shown.
"""

from __future__ import annotations

from agent_ways.attend import aliases, instances, layout, ledger, rooms, seen, signals, trays
from agent_ways.attend.addresses import DEAD, channel_name
from agent_ways.attend.signals import Signal
from agent_ways.base.errors import WaysError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.trays import Slip
    from agent_ways.claude.identity import Identity

NEWEST_MAIL = 50
"""Pieces of addressed mail that a cold start shows; older ones are counted (ATT-10)."""
FRESH_TALK = 120_000
"""Milliseconds within which room talk is still shown to who comes (ATT-10)."""
_NEWEST_TALK = 50


def arrive(bus: Bus, identity: Identity, reason: str = "") -> Instance:
    """Register, take in what was kept, and make the cold start once per process; enrols where there is a `reason`.

    What the perceiving role, the drain that has something to show, `send` and `join` begin with. Writes nothing where
    there is nothing to do.
    """
    before = instances.find(bus, identity)
    instance = instances.register(bus, identity, reason)
    take_in(bus, instance)
    back = ledger.read(bus, instance.key).cold not in (None, instance.client)
    cold_start(bus, instance)
    new = not (before and before.enrolled)
    if instance.enrolled and (new or back):
        # Who comes back was told of history before; talk of the open room did not wait for it while it was away.
        catch_up(bus, instance, layout.OPEN, trays.OPEN, count=new)
    return instance


def take_in(bus: Bus, instance: Instance) -> int:
    """Move the mail that waits for its project and its aliases into the session's tray; answers how many pieces."""
    kept = [layout.tray_of_project(instance.project)]
    kept += [layout.tray_of_alias(name) for name in aliases.held_by(bus, instance.key)]
    return sum(_take(bus, instance, tray) for tray in kept)


def take_self(bus: Bus, instance: Instance) -> list[Slip]:
    """Claim the notes to `self` of its project, for a session that starts, resumes or was cleared; answers them.

    Each is one rename, so of several sessions one has it.
    """
    _take(bus, instance, layout.tray_of_self(instance.project))
    return [slip for slip in trays.waiting(bus.root, instance.session) if slip.why == trays.SELF]


def take_alias(bus: Bus, instance: Instance, name: str) -> int:
    """Let `instance` hold an alias, and give it the alias's mail, also what a dead holder never was shown."""
    before = aliases.take(bus, instance, name)
    tray = layout.tray_of_alias(name.removeprefix("@").lower())
    moved = _take(bus, instance, tray)
    holder = next((one for one in instances.read_all(bus) if one.key == before), None)
    if holder is None or instances.liveness(bus, holder) != DEAD:
        return moved
    with ledger.open_ledger(bus, holder.key) as opened:
        for slip in trays.waiting(bus.root, holder.session) + trays.waiting(bus.root, holder.session, held=True):
            signal = signals.read(bus, slip.id)
            mine = isinstance(signal, Signal) and f"@{name.removeprefix('@').lower()}" in signal.to
            if mine and opened.offers(slip) and _into(bus, instance, slip):
                moved += 1
    return moved


def cold_start(bus: Bus, instance: Instance) -> int:
    """Hold back history once for each process of the session; answers how many signals were only counted.

    Of addressed mail the newest stay, whatever their age; of room talk what is fresh. The rest is not shown by itself:
    it is in the inbox, and the next delivery says how many there are (`Ledger.counted`).
    """
    if ledger.read(bus, instance.key).cold == instance.client:
        return 0
    with ledger.open_ledger(bus, instance.key) as opened:
        if opened.cold == instance.client:
            return 0
        ledger.retried(opened, instance.client)
        waiting = [slip for slip in trays.waiting(bus.root, instance.session) if opened.offers(slip)]
        mail = [slip for slip in waiting if slip.addressed]
        talk = [slip for slip in waiting if not slip.addressed]
        fresh = {slip.id for slip in talk[-_NEWEST_TALK:] if _is_fresh(bus, slip.id)}
        old = [*mail[:-NEWEST_MAIL], *(slip for slip in talk if slip.id not in fresh)]
        held = sum(trays.move(bus, slip, slip.tray, held=True) for slip in old)
        opened.counted += held
        opened.cold = instance.client
    return held


def catch_up(bus: Bus, instance: Instance, room: str, why: str, *, count: bool = True) -> int:
    """For who has just enrolled, joined or come back: fresh talk of the room waits for it, the rest is counted.

    After the enrolment or the membership is on disk, so that nothing falls between: what came meanwhile has its slip
    already, and one that is there twice is there once.
    """
    mine = _sent(bus, instance)
    fresh: list[str] = []
    older = 0
    for signal_id in rooms.newest_first(bus, room):
        if signal_id in mine:
            continue
        if not older and len(fresh) < _NEWEST_TALK and _is_fresh(bus, signal_id):
            fresh.append(signal_id)
            continue
        older += 1
        if not count:
            break
    with ledger.open_ledger(bus, instance.key) as opened:
        known = seen.proofs(bus, instance.key, fresh)
        waiting = {slip.id for slip in trays.waiting(bus.root, instance.session)}
        new = [one for one in fresh if one not in known and one not in waiting]
        trays.put(bus, (trays.Slip(instance.session, signal_id, why) for signal_id in reversed(new)))
        opened.counted += older if count else 0
    return len(new)


def join(bus: Bus, instance: Instance, name: str) -> bool:
    """Join a channel and catch up with it; False where it was a member already."""
    new = rooms.join(bus, instance.key, name)
    if new:
        try:
            catch_up(bus, instance, layout.room_of_channel(channel_name(name)), trays.CHANNEL)
        except WaysError:
            rooms.leave(bus, instance.key, name)  # or joining again would not catch up
            raise
    return new


def _is_fresh(bus: Bus, signal_id: str) -> bool:
    signal = signals.read(bus, signal_id)
    if signal is None:
        return True  # on its way: its writer has not renamed it into place yet
    return isinstance(signal, Signal) and bus.now_ms() - signal.at <= FRESH_TALK


def _sent(bus: Bus, instance: Instance) -> set[str]:
    return {one for session in instance.sessions for one in rooms.newest_first(bus, layout.room_of_sender(session))}


def _take(bus: Bus, instance: Instance, tray: str) -> int:
    return sum(_into(bus, instance, slip) for slip in _there(bus, tray))


def _there(bus: Bus, tray: str) -> Iterable[Slip]:
    return (slip for slip in trays.waiting(bus.root, tray) if signals.read(bus, slip.id) is not None)


def _into(bus: Bus, instance: Instance, slip: Slip) -> bool:
    """Move one slip here, and keep its signal in this session's history, which comes first: a kill then loses none."""
    rooms.record_in(bus, layout.room_of_tray(instance.session), slip.id)
    return trays.move(bus, slip, instance.session)
