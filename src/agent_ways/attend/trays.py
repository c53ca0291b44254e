"""Trays: what waits for whom.

Owns the slips: empty files in a tray's folder, `<signal id>.<why>`, each saying that this signal waits here. A tray
holds only what waits, so looking into one costs the same whatever the history. Taking a slip from one tray to
another is one rename, which one process wins. Must not know what the signals say.

`why` is "direct" (addressed to the session by id, name, alias or path), "channel", "open" (room talk) or "self" (a note
to the next session of the project: never pushed). Below a tray, `held/` keeps slips that are counted, not
shown; a file `after.<session>` says that the tray of that earlier id (before `/clear`) belongs to it too. Only the last
few are followed so: `gather` brings what waits under any earlier id into the present one's tray, so that a session
cleared a hundred times has as few files and watches as one cleared once.
"""

from __future__ import annotations

import os

from agent_ways.attend import disk, ids, layout
from agent_ways.base.errors import state_error
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

    from agent_ways.attend.bus import Bus

DIRECT, CHANNEL, OPEN, SELF = "direct", "channel", "open", "self"
WHY = (DIRECT, SELF, CHANNEL, OPEN)
"""Strongest first: a signal that reaches a tray in two ways waits there once, for the stronger reason."""
HELD = "held"
FOLLOWED = 4
"""Earlier ids of a session whose trays are looked into and watched: for a writer that looked before `/clear` and writes
after it. What comes still later is gathered when the session registers anew, or by housekeeping."""
_AFTER = "after."


class Slip(Value):
    """One signal waiting in one tray."""

    __slots__ = ("held", "id", "tray", "why")

    def __init__(self, tray: str, id: str, why: str, held: bool = False) -> None:  # noqa: A002  # as in a signal
        self.tray: Final = tray
        self.id: Final = id
        self.why: Final = why
        self.held: Final = held

    def path(self, root: str) -> str:
        """Its file."""
        return os.path.join(_folder(root, self.tray, self.held), f"{self.id}.{self.why}")

    @property
    def addressed(self) -> bool:
        """Whether it is mail to this very tray, not room talk."""
        return self.why in (DIRECT, SELF)


def waiting(root: str, tray: str, held: bool = False) -> list[Slip]:
    """What waits in a tray and in those of its earlier ids, oldest first, each signal once; `held` for what is held.

    The hot path: one listing for a tray that was never cleared, nothing opened. Raises `StateError` where a tray is
    there and can not be listed.
    """
    found: dict[str, Slip] = {}
    names = disk.names(_folder(root, tray, False))
    todo, done = _followed(names), {tray}
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        entries = disk.names(_folder(root, name, False))
        todo += _followed(entries)
        _add(found, name, disk.names(_folder(root, name, True)) if held else entries, held)
    if held:
        names = disk.names(_folder(root, tray, True))
    elif len(done) > 1:
        names = disk.names(_folder(root, tray, False))  # again: `gather` may have brought something here meanwhile
    _add(found, tray, names, held)
    return sorted(found.values(), key=lambda slip: slip.id)


def own(root: str, tray: str, held: bool = False) -> list[Slip]:
    """What lies in that very tray."""
    found: dict[str, Slip] = {}
    _add(found, tray, disk.names(_folder(root, tray, held)), held)
    return list(found.values())


def followed(root: str, tray: str) -> list[str]:
    """The trays of earlier ids that a tray leads to."""
    return _followed(disk.names(_folder(root, tray, False)))


def move(bus: Bus, slip: Slip, tray: str, held: bool = False) -> bool:
    """Take a slip to another tray, or into or out of what is held; False where another process was faster."""
    target = Slip(tray, slip.id, slip.why, held)
    try:
        for last in (False, True):
            disk.make_folders(_folder(bus.root, tray, held))
            try:
                os.rename(slip.path(bus.root), target.path(bus.root))
            except FileNotFoundError:
                if last:
                    return False
            else:
                break
    except OSError as error:
        raise state_error("move", slip.path(bus.root), error) from None
    disk.ring(target.path(bus.root))
    return True


def put(bus: Bus, slips: Iterable[Slip]) -> None:
    """Let signals that are there wait in a tray."""
    for slip in slips:
        try:
            disk.touch(slip.path(bus.root))
        except OSError as error:
            raise state_error("write", slip.path(bus.root), error) from None


def drop(bus: Bus, slip: Slip) -> None:
    """Take a slip away: its signal has been seen."""
    disk.forget(slip.path(bus.root))


def follow(bus: Bus, tray: str, earlier: str) -> None:
    """Let what waits in, or still comes to, the tray `earlier` wait for `tray` too."""
    if tray == earlier:
        return
    path = os.path.join(_folder(bus.root, tray, False), _AFTER + earlier)
    try:
        disk.touch(path)
    except OSError as error:
        raise state_error("write", path, error) from None


def unfollow(bus: Bus, tray: str, earlier: str) -> None:
    """Undo `follow`: the id `earlier` is a session of its own again."""
    disk.forget(os.path.join(_folder(bus.root, tray, False), _AFTER + earlier))


def gather(bus: Bus, sessions: Sequence[str], *, dry: bool = False) -> int:
    """Bring what waits under a session's earlier ids into the tray of its present one, the last of `sessions`.

    A slip whose signal is still on its way stays where its writer will ring, and its tray is followed. Answers how many
    files and folders that lead nowhere any more it took away; `dry` only counts them. Raises `StateError`, and what was
    not brought then is still followed.
    """
    *earlier, now = sessions
    kept = set(earlier[-FOLLOWED:])
    gone = 0
    for one in earlier:
        stays = _bring(bus, one, now, dry=dry)
        gone += _strip(bus, one, folder=one not in kept and not stays, dry=dry)
        if one not in kept and (stays or (not dry and os.path.isdir(_folder(bus.root, one, False)))):
            kept.add(one)  # a writer was at it
        if one in kept and not dry:
            follow(bus, now, one)
    return gone + _lead(bus, now, kept, dry=dry)


def stronger(one: str, other: str) -> bool:
    """Whether one reason to wait is stronger than another."""
    return WHY.index(one) < WHY.index(other)


def _folder(root: str, tray: str, held: bool) -> str:
    folder = layout.tray(root, tray)
    return os.path.join(folder, HELD) if held else folder


def _followed(entries: Iterable[str]) -> list[str]:
    named = (entry[len(_AFTER) :] for entry in entries if entry.startswith(_AFTER))
    return [name for name in named if name[:1] not in ("", ".")]


def _is_sent(root: str, signal_id: str) -> bool:
    """Whether the signal of a slip is in its place, or was archived from there."""
    day = ids.day(signal_id)
    places = layout.signal(root, day, signal_id), os.path.join(layout.archive(root), day, signal_id + ".json")
    return any(os.path.lexists(path) for path in places)


def _bring(bus: Bus, earlier: str, now: str, *, dry: bool) -> bool:
    """Move what can be from one tray to another; whether something must stay."""
    slips = [*own(bus.root, earlier), *own(bus.root, earlier, held=True)]
    there = [slip for slip in slips if _is_sent(bus.root, slip.id)]
    for slip in there if not dry else ():
        move(bus, slip, now, slip.held)
    return len(there) < len(slips)


def _strip(bus: Bus, tray: str, *, folder: bool, dry: bool) -> int:
    """Take away where an earlier id's tray led to, its empty folder of what is held, and with `folder` itself."""
    gone = _lead(bus, tray, set(), dry=dry)
    for path in (_folder(bus.root, tray, True), *((_folder(bus.root, tray, False),) if folder else ())):
        if os.path.isdir(path):
            gone += 1
            if not dry:
                disk.remove_folders([path])
    return gone


def _lead(bus: Bus, tray: str, kept: set[str], *, dry: bool) -> int:
    """Let a tray lead to no earlier ids but `kept`; how many others there were."""
    others = [name for name in followed(bus.root, tray) if name not in kept]
    for name in others if not dry else ():
        unfollow(bus, tray, name)
    return len(others)


def _add(found: dict[str, Slip], tray: str, entries: Iterable[str], held: bool) -> None:
    for entry in entries:
        signal_id, _, why = entry.partition(".")
        if why not in WHY or not ids.is_id(signal_id):
            continue
        known = found.get(signal_id)
        if known is None or stronger(why, known.why):
            found[signal_id] = Slip(tray, signal_id, why, held)
