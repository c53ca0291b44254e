"""Housekeeping: what is old is archived, what is archived and old is deleted, what nobody owns is pruned (ATT-12).

Owns the policy and one run of it. Must not know what signals say. Every step can be done again, so a kill anywhere is
mended by the next run; two runs at once are one. Nothing that waits for anybody is deleted before its archive's age.
"""

from __future__ import annotations

import fcntl
import os

from agent_ways.attend import disk, ids, instances, layout, ledger, perceiver, rooms, targets, trays, warmth
from agent_ways.attend.addresses import ALIVE, DEAD
from agent_ways.base.errors import WaysError, state_error
from agent_ways.base.values import Value
from agent_ways.claude import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from agent_ways.attend.bus import Bus

DAY = 86_400
_LEFTOVER = DAY
"""Seconds after which what a killed writer left belongs to nobody."""


class Policy(Value):
    """Days that signals are kept before they are archived, days in the archive, and signals per room."""

    __slots__ = ("archive_days", "keep_days", "per_room")

    def __init__(self, keep_days: int = 30, archive_days: int = 90, per_room: int = 10_000) -> None:
        self.keep_days: Final = keep_days
        self.archive_days: Final = archive_days
        self.per_room: Final = per_room


class Tidied:
    """What a run did, or would do: how many of each."""

    __slots__ = ("archived", "deleted", "instances", "leftovers", "records")

    def __init__(self) -> None:
        self.archived = 0
        self.deleted = 0
        self.instances = 0
        self.leftovers = 0
        self.records = 0

    def to_json(self) -> dict[str, int]:
        """As `cleanup` shows it."""
        return {name: getattr(self, name) for name in self.__slots__}


def tidy(bus: Bus, policy: Policy | None = None, *, dry: bool = False) -> Tidied | None:
    """One run; None where another process is at it. `dry` changes nothing and counts the same. Raises `StateError`."""
    chosen = policy or Policy()
    if not os.path.isdir(bus.root):
        return Tidied()
    if dry:
        return _Run(bus, chosen, dry=True).all()
    # Without a written proof, which a full disk would not take: two runs at once are only twice the work.
    try:
        fd = disk.open_private(layout.lock(bus.root, "housekeeping"), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
    except OSError as error:
        raise state_error("tidy", bus.root, error) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _Run(bus, chosen, dry=False).all()
    except BlockingIOError:
        return None
    except OSError as error:
        raise state_error("tidy", bus.root, error) from None
    finally:
        os.close(fd)


class _Run:
    def __init__(self, bus: Bus, policy: Policy, *, dry: bool) -> None:
        self.bus = bus
        self.root = bus.root
        self.policy = policy
        self.dry = dry
        self.done = Tidied()
        self.now = bus.clock()
        self.oldest = ids.day_of(max(0.0, self.now - policy.keep_days * DAY))

    def all(self) -> Tidied:
        self.archive_days()
        self.shorten_rooms()
        self.delete_archive()
        self.prune_keepalive()
        self.forget_instances()
        self.gather_trays()
        self.prune_slips()
        self.prune_claims()
        self.sweep_leftovers()
        return self.done

    def rooms(self) -> list[str]:
        return [kind + name for folder, kind in layout.histories(self.root) for name in disk.names(folder)]

    def archive_days(self) -> None:
        folder = layout.signals(self.root)
        for day in _before(disk.names(folder), self.oldest):
            for name in disk.names(os.path.join(folder, day)):
                if ids.is_id(name.removesuffix(".json")) and name.endswith(".json"):
                    self.archive(name.removesuffix(".json"))
            self.rmdir(os.path.join(folder, day))
        for room in self.rooms():
            for day in _before(disk.names(layout.room(self.root, room)), self.oldest):
                self.clear(layout.room(self.root, room, day))
            self.rmdir(layout.room(self.root, room))

    def archive(self, signal_id: str) -> None:
        self.done.archived += 1
        if self.dry:
            return
        day = ids.day(signal_id)
        folder = os.path.join(layout.archive(self.root), day)
        disk.make_folders(folder)
        try:
            os.rename(layout.signal(self.root, day, signal_id), os.path.join(folder, signal_id + ".json"))
            os.utime(folder, (self.now, self.now))  # by this clock, not by a file server's
        except FileNotFoundError:
            pass

    def shorten_rooms(self) -> None:
        """Over the count, the oldest leave the room; what no other room keeps and nobody waits for is archived."""
        waiting = self.waiting()
        for room in self.rooms():
            for signal_id in list(rooms.newest_first(self.bus, room))[self.policy.per_room :]:
                if signal_id in waiting:
                    continue
                self.forget(os.path.join(layout.room(self.root, room, ids.day(signal_id)), signal_id))
                if _keeps(room) and not self.kept_elsewhere(signal_id, room):
                    self.archive(signal_id)

    def kept_elsewhere(self, signal_id: str, but: str) -> bool:
        day = ids.day(signal_id)
        return any(
            os.path.lexists(os.path.join(layout.room(self.root, room, day), signal_id))
            for room in disk.names(layout.histories(self.root)[0][0])
            if room != but
        )

    def waiting(self) -> set[str]:
        return {
            slip.id
            for tray in disk.names(layout.trays(self.root))
            for held in (False, True)
            for slip in trays.own(self.root, tray, held)
        }

    def delete_archive(self) -> None:
        """By the time that they were put there, not their own: a clock that ran ahead for a moment deletes nothing."""
        for day in disk.names(layout.archive(self.root)):
            folder = os.path.join(layout.archive(self.root), day)
            if self.age(folder) >= self.policy.archive_days * DAY:
                self.done.deleted += self.clear(folder)

    def forget_instances(self) -> None:
        """Records of sessions that ended long ago, with their marks, claims and memberships. Their trays stay."""
        everyone = instances.read_all(self.bus)
        for one in everyone:
            age = self.now * 1000 - one.updated
            if age < self.policy.keep_days * DAY * 1000 or instances.liveness(self.bus, one) == ALIVE:
                continue
            self.done.instances += 1
            for channel in rooms.joined(self.bus, one.key):
                self.forget(os.path.join(layout.members(self.root, channel), one.key))
            self.forget(layout.ledger(self.root, one.key))
            self.clear(layout.marks(self.root, one.key))
            self.forget(layout.instance(self.root, one.key))
            for lock in ("ledger", "role"):
                self.forget(layout.lock(self.root, f"{lock}.{one.key}"))
        for key in disk.names(os.path.join(self.root, "seen")):
            for name in _before(disk.names(layout.marks(self.root, key)), self.oldest):
                self.forget(os.path.join(layout.marks(self.root, key), name))
                self.done.records += 1

    def gather_trays(self) -> None:
        """Mail that came late to an id from before `/clear`, and what led there."""
        try:
            self.done.leftovers += instances.gather_all(self.bus, dry=self.dry)
        except WaysError:
            pass  # a full disk, or a session that registers just now: the next run, or that session itself, does it

    def prune_slips(self) -> None:
        """Slips and room entries whose signal never came (a killed writer's) or is deleted; empty trays of nobody."""
        known = {session for one in instances.read_all(self.bus) for session in one.sessions}
        for tray in disk.names(layout.trays(self.root)):
            for held in (False, True):
                for slip in trays.own(self.root, tray, held):
                    self.prune(slip.path(self.root), slip.id)
            folder = layout.tray(self.root, tray)
            if tray in known or self.young(folder):
                continue
            if all(name.startswith("after.") for name in disk.names(folder)):
                self.clear(folder)
            self.rmdir(os.path.join(folder, trays.HELD))
        for room in self.rooms():
            for day in disk.names(layout.room(self.root, room)):
                for name in disk.names(layout.room(self.root, room, day)):
                    if ids.is_id(name):
                        self.prune(os.path.join(layout.room(self.root, room, day), name), name)

    def prune(self, path: str, signal_id: str) -> None:
        day = ids.day(signal_id)
        there = (
            layout.signal(self.root, day, signal_id),
            os.path.join(layout.archive(self.root), day, signal_id + ".json"),
        )
        if not any(os.path.lexists(one) for one in there) and not self.young(path):
            self.done.leftovers += 1
            self.forget(path)

    def prune_claims(self) -> None:
        """Claims of signals that do not wait any more; a busy ledger is left for the next run."""
        for one in instances.read_all(self.bus):
            book = ledger.read(self.bus, one.key)
            both = trays.waiting(self.root, one.session) + trays.waiting(self.root, one.session, held=True)
            gone = set(book.claims) - {slip.id for slip in both}
            if not gone:
                continue
            self.done.records += len(gone)
            if self.dry:
                continue
            with ledger.open_ledger(self.bus, one.key) as opened:
                for signal_id in gone:
                    opened.claims.pop(signal_id, None)

    def prune_keepalive(self) -> None:
        """Keepalive's records of sessions that ended long ago. Where it can not be seen who lives, none goes."""
        told = targets.read(self.bus.env)
        if told.note:
            return
        everyone = instances.read_all(self.bus)
        dirs = dict.fromkeys(
            (*self.bus.config_dirs, *told.enabled, *told.disabled, *(one.config_dir for one in everyone))
        )
        there = {record.session for path in dirs for record in records.read_all(path, self.bus.table)}
        for one in everyone:
            if instances.liveness(self.bus, one) != DEAD:
                there.update(one.sessions)
        self.done.records += warmth.store(self.bus).prune(
            lambda session: session in there or bool(perceiver.servers(self.bus, session)),
            self.now - self.policy.keep_days * DAY,
            dry=self.dry,
        )

    def sweep_leftovers(self) -> None:
        for folder in (
            *(layout.signals(self.root, day) for day in disk.names(layout.signals(self.root))),
            layout.instances(self.root),
            layout.aliases(self.root),
            os.path.join(self.root, "deliveries"),
            self.root,
        ):
            for name in disk.names(folder):
                path = os.path.join(folder, name)
                if name.startswith(".") and name.endswith(".tmp") and not self.young(path):
                    self.done.leftovers += 1
                    self.forget(path)
        for name in disk.names(layout.channels(self.root)):
            path = os.path.join(layout.channels(self.root), name)
            if name.startswith(".") and not self.young(path):
                self.done.leftovers += 1
                if not self.dry:
                    rooms.sweep_aside(path)

    def young(self, path: str) -> bool:
        return self.age(path) < _LEFTOVER

    def age(self, path: str) -> float:
        """Seconds since its last change; none for what is gone or from the future."""
        try:
            return self.now - os.lstat(path).st_mtime
        except OSError:
            return 0.0

    def clear(self, folder: str) -> int:
        """Empty a folder and remove it; answers how many files there were."""
        names = disk.names(folder)
        for name in names:
            self.forget(os.path.join(folder, name))
        self.rmdir(folder)
        return len(names)

    def forget(self, path: str) -> None:
        if not self.dry:
            disk.forget(path)

    def rmdir(self, folder: str) -> None:
        if not self.dry:
            try:
                os.rmdir(folder)
            except OSError:
                pass


def _before(names: Iterable[str], day: str) -> list[str]:
    """The names of days, and of files named by one, that come before `day`."""
    return [name for name in names if name[:4].isdigit() and name[:10] < day]


def _keeps(room: str) -> bool:
    """Whether a history keeps its signals: those of senders and threads only point to them."""
    return not room.startswith(("sent.", "thread."))
