"""Trays: what waits for whom.

Owns the slips: empty files in a tray's folder, `<signal id>.<why>`, each saying that this signal waits here. A tray
holds only what waits, so looking into one costs the same whatever the history. Taking a slip from one tray to
another is one rename, which one process wins. Must not know what the signals say.

`why` is "direct" (addressed to the session by id, name, alias or path), "channel", "open" (room talk) or "self" (a note
to the next session of the project: never pushed). Below a tray, `held/` keeps slips that are counted, not
shown; a file `after.<session>` says that the tray of that earlier id (before `/clear`) belongs to it too.
"""

from __future__ import annotations

import os

from agent_ways.attend import disk, ids, layout
from agent_ways.base.errors import state_error
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from agent_ways.attend.bus import Bus

DIRECT, CHANNEL, OPEN, SELF = "direct", "channel", "open", "self"
WHY = (DIRECT, SELF, CHANNEL, OPEN)
"""Strongest first: a signal that reaches a tray in two ways waits there once, for the stronger reason."""
HELD = "held"
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
    todo, done = [tray], set()
    while todo:
        name = todo.pop()
        done.add(name)
        for entry in disk.names(_folder(root, name, False)):
            earlier = entry.removeprefix(_AFTER)
            if entry.startswith(_AFTER) and earlier not in done and earlier[:1] not in ("", "."):
                todo.append(earlier)
            elif not held:
                _add(found, name, entry, held)
        if held:
            for entry in disk.names(_folder(root, name, True)):
                _add(found, name, entry, held)
    return sorted(found.values(), key=lambda slip: slip.id)


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


def stronger(one: str, other: str) -> bool:
    """Whether one reason to wait is stronger than another."""
    return WHY.index(one) < WHY.index(other)


def _folder(root: str, tray: str, held: bool) -> str:
    folder = layout.tray(root, tray)
    return os.path.join(folder, HELD) if held else folder


def _add(found: dict[str, Slip], tray: str, entry: str, held: bool) -> None:
    signal_id, _, why = entry.partition(".")
    if why not in WHY or not ids.is_id(signal_id):
        return
    known = found.get(signal_id)
    if known is None or stronger(why, known.why):
        found[signal_id] = Slip(tray, signal_id, why, held)
