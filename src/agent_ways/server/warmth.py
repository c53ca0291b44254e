"""The keepalive source: keeps this session's prompt cache warm while the operator armed it (KA-1 to KA-9).

Owns when the keeper steps and which conduits it may push through. What it decides is the judge's
(`keepalive/judge.py`), what it remembers is its record. While keepalive is off this costs one watch and nothing else.
Must not word an event.
"""

from __future__ import annotations

import os
import time

from agent_ways.base import config, paths
from agent_ways.base.errors import WaysError
from agent_ways.base.process import this_process
from agent_ways.base.watch import file_watch
from agent_ways.claude import records
from agent_ways.server import sight
from agent_ways.server.conduits import Event
from agent_ways.server.protocol import SERVER_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from agent_ways.base.watch import FileWatch
    from agent_ways.claude.records import SessionRecord
    from agent_ways.keepalive import events
    from agent_ways.keepalive.keeper import Keeper
    from agent_ways.keepalive.look import SessionEyes
    from agent_ways.keepalive.situation import Conduits, Settings
    from agent_ways.keepalive.store import Store
    from agent_ways.server.module import Host, World

FASTER = "AGENT_WAYS_KEEPALIVE_FASTER"
"""For trials: a number that a cache's life and every wait are divided by."""
WITHOUT_WATCH = 5.0
"""Seconds between two looks at the config where the system can not tell of changes."""


def changed_file(state_root: str) -> str:
    """The file that `ways keepalive` touches, so that running servers read the config again."""
    return os.path.join(state_root, "config-changed")


class Warmth:
    """Steps the keeper: after a change of the config or the session's record, and when the judge's wait is over."""

    def __init__(self, host: Host) -> None:
        self._host: Final = host
        self._world: Final = host.world
        self._config_dir: Final = paths.config_dir(host.world.env)
        self._state_root: Final = paths.state_root(host.world.env)
        self._config: Final = config.ConfigFile(os.path.join(self._config_dir, config.FILE))
        self._files: FileWatch | None = None
        self._keeper: Keeper | None = None
        self._due: float | None = None

    def start(self) -> None:
        """Begin to watch, and step for the first time."""
        self._files = file_watch()
        if self._files is not None:
            self._host.watch(self._files.fd, self._changed)
        self._step()

    def _changed(self) -> None:
        if self._files is not None:
            self._files.drain()
        self._step()

    def _timer(self) -> None:
        if self._due is not None and self._world.monotonic() >= self._due:
            self._due = None
            self._step()

    def _step(self) -> None:
        try:
            after = self._stepped()
        except (WaysError, OSError):
            after = WITHOUT_WATCH  # a full disk or a held lock passes
        if after is not None:
            when = self._world.monotonic() + after
            if self._due is None or when < self._due:
                self._due = when
                self._host.at(when, self._timer)

    def _stepped(self) -> float | None:
        """Step if there is reason to; seconds until the next step is due, None where only a change can bring one."""
        told = self._config.now()
        watched = self._watch(armed=told.keepalive_armed)
        after = None if watched else WITHOUT_WATCH
        if told.keepalive_armed or self._keeper is not None:
            step = self._kept().step(settings(told, self._world))
            if step.after_ms is not None:
                after = step.after_ms / 1000 if after is None else min(after, step.after_ms / 1000)
        return after

    def _watch(self, *, armed: bool) -> bool:
        """Watch the config, and while armed the session's record; False where only looking now and then is left."""
        if self._files is None:
            return False
        changed = changed_file(self._state_root)
        told = self._files.add(changed) or self._files.add(os.path.dirname(changed))
        self._files.add(self._config_dir)
        if armed:
            record = sight.identity(self._world).record
            told = record is not None and self._files.add(records.path(record.config_dir, record.pid)) and told
        return told

    def _kept(self) -> Keeper:
        if self._keeper is None:
            from agent_ways.keepalive.keeper import Keeper

            eyes, store = parts(self._world)
            self._keeper = Keeper(eyes, store, self._push)
        return self._keeper

    def _push(self, name: str, event: events.Event) -> str:
        record = sight.identity(self._world).record
        conduit = next((one for one in self._world.conduits if one.name.replace(" ", "_") == name), None)
        if record is None or conduit is None:
            return "the session or the conduit is gone"
        session = sight.view(self._world, record, record.config_dir)
        return conduit.push(session, Event(event.text, event.meta, urgent=False)) or ""


def settings(told: config.Config, world: World) -> Settings:
    """What the operator set, as the judge takes it."""
    from agent_ways.keepalive import situation

    try:
        faster = max(1.0, float(world.env.get(FASTER, "1")))
    except ValueError:
        faster = 1.0
    return situation.settings(told, faster=faster)


def parts(world: World) -> tuple[SessionEyes, Store]:
    """What looks at this session, and where its record lies."""
    from agent_ways.keepalive.look import SessionEyes, read_clock
    from agent_ways.keepalive.store import Store

    owner = this_process(world.table, world.env)
    eyes = SessionEyes(
        identify=lambda: sight.identity(world),
        conduits=lambda record: _conduits(world, record),
        clock=lambda: read_clock(time.time, time.monotonic, boot=owner.boot),
        owner=owner,
        server=SERVER_NAME,
    )
    return eyes, Store(paths.state_root(world.env), owner)


def status(world: World) -> dict[str, Any]:
    """What keepalive says of this session now; nothing is written and nothing pushed."""
    from agent_ways.keepalive.status import status_now

    told = config.ConfigFile(os.path.join(paths.config_dir(world.env), config.FILE)).now()
    eyes, store = parts(world)
    return status_now(eyes, store, settings(told, world), told.notes)


def _conduits(world: World, record: SessionRecord) -> Conduits:
    """Those that our side uses and that may reach the session, best first."""
    from agent_ways.attend import instances, reach
    from agent_ways.attend.bus import open_bus
    from agent_ways.keepalive.situation import Conduits
    from agent_ways.server import choice

    bus = open_bus(world.env, world.table)
    instance = instances.find(bus, sight.identity(world))
    session = sight.view(world, record, record.config_dir)
    found, reasons = choice.usable(
        world.conduits, session, reach.allowed(bus), lambda name: reach.given_up(bus, instance, name)
    )
    return Conduits(tuple(one.name.replace(" ", "_") for one in found), "; ".join(reasons))
