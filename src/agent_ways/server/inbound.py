"""The inbound source: mail that waits for this session reaches its turn (CON-1 to CON-6).

Owns when the server looks, and what it does then: settle what is under way by the transcript's proof, and push what may
start a turn. Between two looks it keeps only what it watches: claims, proofs and conduits that are down are in the
session's ledger, so another server, the loop or the drain goes on where this one stops. Must not know how a conduit
works, nor word a signal (`doorbell.py`, `attend/headers.py`), nor which mail may wake (`attend/waking.py`).
"""

from __future__ import annotations

import os

from agent_ways.attend import bus as buses
from agent_ways.attend import disk, evidence, intake, layout, ledger, perceiver, quiet, role, signals, trays, waking
from agent_ways.attend.delivery import QUEUED
from agent_ways.attend.signals import Signal
from agent_ways.attend.standing import may_show
from agent_ways.base import config, paths
from agent_ways.base.errors import LockHeldError, WaysError
from agent_ways.base.watch import file_watch, process_end
from agent_ways.claude import idle, records, transcript
from agent_ways.server import choice, doorbell, sight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.ledger import Ledger, OpenLedger
    from agent_ways.attend.trays import Slip
    from agent_ways.base.process import Owner
    from agent_ways.base.watch import FileWatch
    from agent_ways.claude.records import SessionRecord
    from agent_ways.claude.transcript import Row
    from agent_ways.server.conduits import Conduit, View
    from agent_ways.server.module import Host

SOON, LATER = 1.0, 10.0
"""Seconds between two looks while something is under way: as long as it is young, and after that."""
YOUNG = 30.0
BURST = 0.25
"""Seconds after a push in which further mail waits, so that a burst becomes few events: the client's record turns busy
30 to 75 ms after a push (2.1.285, 2.1.332)."""
WITHOUT_WATCH = 1.0
"""Seconds between two looks where the system can not tell of changes."""
AFTER_TROUBLE = 5.0
"""Seconds until the next look after our own files could not be read or written."""


class Inbound:
    """Watches one session's tray, record and what is under way. `start` it once events may leave."""

    def __init__(self, host: Host) -> None:
        self._host: Final = host
        self._world: Final = host.world
        self._bus: Final[Bus] = buses.open_bus(host.world.env, host.world.table)
        self._config: Final = config.ConfigFile(os.path.join(paths.config_dir(host.world.env), config.FILE))
        self._files: FileWatch | None = None
        self._told = False
        self._loop_end: int | None = None
        self._due: float | None = None
        self._pushed_at = float("-inf")

    def start(self) -> None:
        """Begin to watch, and look for the first time."""
        self._files = file_watch()
        if self._files is not None:
            self._host.watch(self._files.fd, self._changed)
        self._look()

    # ---- when to look

    def _changed(self) -> None:
        if self._files is not None:
            self._files.drain()
        self._look()

    def _timer(self) -> None:
        if self._due is not None and self._world.monotonic() >= self._due:
            self._due = None
            self._look()

    def _loop_ended(self) -> None:
        """The sensor loop that perceived in our place has ended."""
        if self._loop_end is not None:
            self._host.unwatch(self._loop_end)
            os.close(self._loop_end)
            self._loop_end = None
        self._look()

    def _look(self) -> None:
        """Act on what there is, and plan the next look: by itself only while something is under way."""
        try:
            after = self._act()
        except (WaysError, OSError):
            after = AFTER_TROUBLE  # a full disk or a held lock passes; what waits, waits
        if not self._told:
            after = WITHOUT_WATCH if after is None else min(after, WITHOUT_WATCH)
        if after is None:
            return
        when = self._world.monotonic() + after
        if self._due is None or when < self._due:
            self._due = when
            self._host.at(when, self._timer)

    def _follow(self, instance: Instance) -> None:
        """Watch the session's tray and record; both may be others after `/clear`."""
        self._told = False
        if self._files is not None and instance.client is not None:
            tray = layout.tray(self._bus.root, instance.session)
            disk.make_folders(tray)
            for earlier in trays.followed(self._bus.root, instance.session):
                self._files.add(layout.tray(self._bus.root, earlier))
            record = records.path(instance.config_dir, instance.client.pid)
            self._told = self._files.add(tray) and self._files.add(record) and self._files.tells_all(tray)

    # ---- one look

    def _act(self) -> float | None:
        """Settle and push; seconds until the next look is due, None where only a change can bring something."""
        identity = sight.identity(self._world)
        record = identity.record
        if record is None or not sight.is_own(self._world.env, record):
            self._told = False
            return None
        instance = intake.arrive(self._bus, identity)
        self._follow(instance)
        loop = perceiver.loop(self._bus, instance.key, instance.session)
        if loop is not None:
            return self._wait_for(loop)
        if not self._anything(instance):
            return None
        try:
            with role.role(self._bus, instance.key):
                return self._perceive(instance, sight.view(self._world, record, identity.config_dir))
        except LockHeldError:
            return SOON  # another server of this session acts, or a loop has just begun

    def _wait_for(self, loop: Owner) -> float | None:
        """A sensor loop perceives: go on when it ends."""
        if self._loop_end is None:
            process = self._world.table.look(loop.pid)
            self._loop_end = process_end(self._world.table, process) if process else None
            if self._loop_end is not None:
                self._host.watch(self._loop_end, self._loop_ended)
        return None if self._loop_end is not None else SOON

    def _anything(self, instance: Instance) -> bool:
        """Whether there is something to settle or to push: a look at rest takes no lock."""
        if trays.waiting(self._bus.root, instance.session):
            return True
        return ledger.under_way(ledger.read(self._bus, instance.key))

    def _perceive(self, instance: Instance, session: View) -> float | None:
        path = transcript.find(session.config_dir, instance.session)
        rows = waking.last_rows(path) if path else None
        session = sight.over_rows(session, rows or ())
        verdict = idle.idle(session.record, rows)
        idle_for = _since_status(session.record, self._world.wall()) if verdict else None
        manager = ledger.open_ledger(self._bus, instance.key)
        with manager as opened:
            waiting = ledger.settled(self._bus, opened, trays.waiting(self._bus.root, instance.session))
            settled = evidence.settle(self._bus, opened, instance, waiting, idle_for)
            waiting = [slip for slip in waiting if slip.id not in settled.seen]
            look = _Look(manager, opened, instance, session, waiting, rows or ())
            self._push_again(look, [slip for slip in waiting if slip.id in settled.retry])
            later = self._push_new(look) if verdict else self._behind(look)
            return later if later is not None else self._next(opened)

    def _behind(self, look: _Look) -> float | None:
        """When to look again at a session that its record calls idle and its transcript does not, if mail waits.

        The client writes the transcript in batches, so the end of an interrupted turn stands in the record first, and
        nothing tells of the transcript's change. Each wait is half as long as the status has stood.
        """
        record = look.session.record
        if record.status not in idle.AT_REST or not any(look.opened.offers(slip) for slip in look.waiting):
            return None
        stood = _since_status(record, self._world.wall())
        return min(LATER, max(BURST, (stood or 0) / 2))

    def _next(self, opened: Ledger) -> float | None:
        if not ledger.under_way(opened):
            return None
        youngest = max(claim.since for claim in opened.claims.values())
        return SOON if self._bus.monotonic() - youngest < YOUNG else LATER

    # ---- pushing

    def _push_again(self, look: _Look, slips: list[Slip]) -> None:
        """The one retry: the same conduit, which drops a text that it has after all (2.1.332)."""
        for conduit in self._world.conduits:
            mine = [slip for slip in slips if look.opened.claims[slip.id].conduit == conduit.name]
            if mine:
                look.manager.save()
                self._give(look, conduit, mine, ())

    def _push_new(self, look: _Look) -> float | None:
        """Push what may start a turn; seconds until mail that waits for its moment may, None where none does."""
        told = self._config.now()
        offered = [slip for slip in look.waiting if look.opened.offers(slip)]
        if not waking.wakes(offered) or told.attend_wake == "never" or quiet.is_quiet(self._bus, look.instance):
            return None
        if self._world.monotonic() - self._pushed_at < BURST:
            return BURST
        conduit = self._choose(look, told.conduits)
        if conduit is None:
            return None
        since = waking.operator_ms(look.instance, look.session.record, look.rows)
        chosen = waking.choose(self._bus, look.opened, look.instance, look.waiting, since)
        if not chosen.slips:
            return chosen.later
        now = chosen.slips[: doorbell.MOST]
        offset = evidence.transcript_end(look.instance)
        taken = ledger.claim(self._bus, look.opened, look.instance, now, conduit=conduit.name, offset=offset)
        look.manager.save()
        self._pushed_at = self._world.monotonic()
        self._give(look, conduit, taken, chosen.notes)
        return BURST if len(chosen.slips) > len(taken) else chosen.later

    def _choose(self, look: _Look, allowed: Iterable[str]) -> Conduit | None:
        """The conduit to push through, None where there is none."""
        client, session = look.instance.client, look.instance.session
        found, _ = choice.usable(
            self._world.conduits, look.session, allowed, lambda name: look.opened.why_down(name, client, session)
        )
        return found[0] if found else None

    def _give(self, look: _Look, conduit: Conduit, slips: Sequence[Slip], notes: Sequence[str]) -> None:
        """Push claimed signals; what could not even be given is queued again, and the conduit is down."""
        found = [signal for slip in slips if isinstance(signal := signals.read(self._bus, slip.id), Signal)]
        if not found:
            return
        whole = may_show(look.instance, look.session.record, look.rows, look.session.argv)
        reason = conduit.push(look.session, doorbell.event(found, whole=whole, notes=notes))
        if reason is None:
            return
        client = look.instance.client
        look.opened.down[conduit.name] = {
            "reason": reason,
            "client": client.to_json() if client else None,
            "session": look.instance.session,
        }
        for slip in slips:
            look.opened.claims[slip.id] = look.opened.claims[slip.id].but(state=QUEUED)


class _Look:
    """What one look has gathered, for the steps that act on it."""

    __slots__ = ("instance", "manager", "opened", "rows", "session", "waiting")

    def __init__(
        self,
        manager: OpenLedger,
        opened: Ledger,
        instance: Instance,
        session: View,
        waiting: list[Slip],
        rows: Iterable[Row],
    ) -> None:
        self.manager: Final = manager
        self.opened: Final = opened
        self.instance: Final = instance
        self.session: Final = session
        self.waiting: Final = waiting
        self.rows: Final = rows


def _since_status(record: SessionRecord, now: float) -> float | None:
    since = record.status_updated_at or record.updated_at
    return None if since is None else max(0.0, now - since / 1000)
