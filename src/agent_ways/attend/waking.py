"""Which of the mail that waits may start a turn now: one rule for the server's conduits and for the sensor loop.

Owns that choice: addressed mail and that of joined channels wakes, talk in the open room rides along (CON-3), and the
loop guard paces two sessions that answer each other (CON-4), whichever way their mail takes. Counts over the histories
on disk, so who perceives may change at any moment. Must not know conduits, nor how anything is shown.
"""

from __future__ import annotations

from agent_ways.attend import guard, headers, layout, rooms, signals, trays
from agent_ways.attend.signals import SESSION, Signal
from agent_ways.base.values import Value
from agent_ways.claude import permission, prompts, transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.ledger import Ledger
    from agent_ways.attend.trays import Slip
    from agent_ways.claude.records import SessionRecord
    from agent_ways.claude.transcript import Row, Rows

REMEMBERED = 512
"""Newest signals that are read for the guard's count, at most: reading ends where its senders have sent their limit."""
NEAR, TAIL = 256 << 10, 1 << 20
"""Bytes of the transcript that the mode and the operator's last prompt are read from: at first, and where one is not in
those. A parsed MiB takes a server from 6 to 17 MB."""
_SENT = 128
"""Newest signals of a sender that are looked at to tell it of the guard."""
_WOKE = "woke"
"""Where a ledger keeps when each session's mail last woke this one, ms since 1970."""


class Waking(Value):
    """What may start a turn: its slips, oldest first; sentences for the woken session; seconds until more may."""

    __slots__ = ("later", "notes", "slips")

    def __init__(self, slips: tuple[Slip, ...], notes: tuple[str, ...] = (), later: float | None = None) -> None:
        self.slips: Final = slips
        self.notes: Final = notes
        self.later: Final = later


def last_rows(path: str, most: int = TAIL) -> Rows:
    """The transcript's last rows: as many as tell the permission mode and the operator's last prompt, if they can.

    In all, `most` bytes.
    """
    near = transcript.tail(path, NEAR)
    if near.start == 0 or (permission.mode(near) is not None and prompts.in_transcript(near) is not None):
        return near
    return transcript.tail(path, most)


def wakes(slips: Iterable[Slip]) -> bool:
    """Whether something there could start a turn at all."""
    return any(slip.why in (trays.DIRECT, trays.CHANNEL) for slip in slips)


def choose(bus: Bus, opened: Ledger, instance: Instance, waiting: Sequence[Slip], since: int | None) -> Waking:
    """What of `waiting` may start a turn, and what rides along. Notes in the open ledger whom it let through.

    `since` is when the operator last typed, ms since 1970 (`operator_ms`).
    """
    read = [(slip, signals.read(bus, slip.id)) for slip in waiting if opened.offers(slip)]
    there = [(slip, found) for slip, found in read if isinstance(found, Signal)]
    mail = [signal for slip, signal in there if wakes((slip,))]
    peers = {peer for signal in mail if (peer := _peer(signal))}
    counts = _counts(bus, instance, peers, but={slip.id for slip in waiting}, since=since or 0)
    now = bus.now_ms()
    last = _just_woken(opened.more.get(_WOKE), now)
    allowed: set[str] = set()
    notes: list[str] = []
    later: float | None = None
    for signal in mail:
        peer = _peer(signal)
        if peer:
            verdict = guard.verdict(counts[peer], last.get(peer), now)
            if verdict == guard.LATER:
                due = (guard.PACE - now + last[peer]) / 1000
                later = due if later is None else min(later, due)
            if verdict != guard.NOW:
                continue
            if said := guard.note(headers.one_line(signal.sender.name), counts[peer]):
                notes.append(said)
            last[peer] = now
            counts[peer] += 1
        allowed.add(signal.id)
    opened.more.pop(_WOKE, None)
    if last:
        opened.more[_WOKE] = last
    if not allowed:
        return Waking((), (), later)
    chosen = tuple(slip for slip, signal in there if signal.id in allowed or slip.why == trays.OPEN)
    return Waking(chosen, tuple(notes[-1:]), later)


def told_sender(bus: Bus, instance: Instance, record: SessionRecord | None, peer: str) -> str:
    """What the session `peer` is told of the loop guard where it has just written to `instance`; empty as a rule."""
    sent = []
    for signal_id in rooms.newest_first(bus, layout.room_of_sender(peer)):
        sent.append(signal_id)
        if len(sent) == _SENT:
            break
    times: list[int] = []
    for signal_id in sent if len(sent) > guard.PACED else ():
        one = signals.read(bus, signal_id)
        if isinstance(one, Signal) and set(one.recipients) & set(instance.sessions):
            times.append(one.at)
            if len(times) > guard.HELD:
                break
    if len(times) <= guard.PACED:
        return ""
    path = transcript.find(instance.config_dir, instance.session)
    since = operator_ms(instance, record, last_rows(path) if path else ()) or 0
    return guard.told(instance.name, sum(at > since for at in times))


def operator_ms(instance: Instance, record: SessionRecord | None, rows: Iterable[Row]) -> int | None:
    """When the operator last did something in the session; its client's start where that is not known."""
    typed = prompts.last_prompt_ms(prompts.history_ms(instance.config_dir, instance.session), rows)
    return typed or (record.started_at if record else None)


def _counts(bus: Bus, instance: Instance, peers: set[str], *, but: set[str], since: int) -> dict[str, int]:
    """How many messages each of `peers` has sent here since then, up to where they are held; `but` not counted."""
    found = dict.fromkeys(peers, 0)
    if not peers:
        return found
    for signal_id in _newest(bus, instance, but):
        signal = signals.read(bus, signal_id)
        if not isinstance(signal, Signal) or signal.at <= since:
            continue
        peer = _peer(signal)
        if peer in found:
            found[peer] += 1
            if all(count >= guard.HELD for count in found.values()):
                break
    return found


def _newest(bus: Bus, instance: Instance, but: set[str]) -> list[str]:
    """What came to this session by the ways that wake, the newest first."""
    names = [layout.room_of_tray(instance.session)]
    names += [layout.room_of_channel(name) for name in rooms.joined(bus, instance.key)]
    found: set[str] = set()
    for name in names:
        taken = 0
        for signal_id in rooms.newest_first(bus, name):
            if taken == REMEMBERED:
                break
            if signal_id not in but:
                found.add(signal_id)
                taken += 1
    return sorted(found, reverse=True)[:REMEMBERED]


def _peer(signal: Signal) -> str | None:
    return signal.sender.session if signal.sender.kind == SESSION else None


def _just_woken(raw: object, now: int) -> dict[str, int]:
    """Of the times in a ledger those that still pace somebody; of an older one the guard asks no more."""
    noted = raw if isinstance(raw, dict) else {}
    return {peer: at for peer, at in noted.items() if isinstance(at, int) and 0 <= now - at < guard.PACE}
