"""The sensor loop, `attend run`: one line on standard output for each thing that is worth a turn (ATT-8).

Owns when the sensors look, which session they look for, and its end. The Monitor tool makes a turn of each line, so
nothing is printed that is not worth one; what a person may want to know goes to stderr. One loop per session: it holds
the perceiving role, so the server brings no mail meanwhile (ATT-4). Must not know what a sensor looks at.
"""

from __future__ import annotations

import os
import select
import signal
import sys

from agent_ways.attend import intake, layout, perceiver, trays
from agent_ways.attend.bus import open_bus
from agent_ways.attend.role import role
from agent_ways.attend.sensors import SENSORS
from agent_ways.attend.sensors.found import sooner
from agent_ways.base.errors import LockHeldError, RefusedError, WaysError
from agent_ways.base.process import alive, process_table
from agent_ways.base.watch import file_watch, process_end
from agent_ways.claude import records
from agent_ways.claude.identity import identify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.sensors import Sensor
    from agent_ways.base.locks import Lock
    from agent_ways.base.process import Process

LONGEST_LINE = 400
"""Characters of a line (ATT-8)."""
WITHOUT_WATCH = 2.0
"""Seconds between two looks where the system can not tell of changes, or of the Claude process's end."""
_TAKE = 1.5
"""Seconds that a server's act may keep the role from us."""
_ENDS = (signal.SIGTERM, signal.SIGHUP)


def run(names: tuple[str, ...], env: Mapping[str, str]) -> int:
    """Run until the session's Claude process ends, or until told to. A second loop of a session exits 0 and says so."""
    table = process_table()
    bus = open_bus(env, table)
    found = identify(env, table, os.getpid())
    if found.record is None or found.claude_process is None:
        raise RefusedError(
            f"attend run belongs to a session, and none is proven here: {found.reason}",
            "Start it inside a Claude Code session, with the Monitor tool.",
        )
    if found.record.is_sdk:
        raise RefusedError("a session of -p or an SDK has no sensor loop", "Read with: attend inbox")
    instance = intake.arrive(bus, found, "run")
    lock = role(bus, instance.key, _TAKE)
    try:
        lock.acquire()
    except LockHeldError as error:
        other = perceiver.loop(bus, instance.key, instance.session)
        if other is None:
            raise
        sys.stdout.write(f"attend run: already running for this session ({other}); nothing more is needed\n")
        del error
        return 0
    sensors = tuple(SENSORS[name](bus) for name in names or SENSORS)
    try:
        return Loop(bus, instance, lock, found.claude_process, sensors).run()
    except _EndedError:
        return 0
    finally:
        for number in _ENDS:
            signal.signal(number, signal.SIG_IGN)  # we are going already
        lock.release()


class _EndedError(Exception):
    """A signal told us to go."""


class Loop:
    """One session's loop. `claude` is its Claude process, with which it ends."""

    def __init__(self, bus: Bus, instance: Instance, lock: Lock, claude: Process, sensors: tuple[Sensor, ...]) -> None:
        self._bus: Final = bus
        self._instance = instance
        self._lock: Final = lock
        self._claude: Final = claude
        self._sensors: Final = sensors
        self._watch: Final = file_watch()
        self._end: Final = process_end(bus.table, claude)

    def run(self) -> int:
        """Look, print, wait; until the end."""
        for number in _ENDS:
            signal.signal(number, _leave)
        self._say(f"attend run: {self._instance.name} listens")
        while alive(self._bus.table, self._claude.pid, self._claude.start):
            if not self._follow():
                self._say("attend run: this session goes on under another loop")
                return 0
            told = self._look_at_changes()
            due = self._ask()
            self._wait(due if told and self._end is not None else min(due or WITHOUT_WATCH, WITHOUT_WATCH))
        return 0

    def _follow(self) -> bool:
        """Follow `/clear`: the process goes on under a new id. False where it became an instance of its own."""
        found = identify(self._bus.env, self._bus.table, os.getpid(), anchor=self._claude)
        if found.record is None or found.record.session == self._instance.session:
            return True  # a record that can not be read now is read at the next change
        try:
            now = intake.arrive(self._bus, found, "run")
        except WaysError as error:
            self._say(f"attend run: {error.message}")
            return True
        if now.key != self._instance.key:
            return False
        self._instance = now
        return True

    def _look_at_changes(self) -> bool:
        """Watch what changes when there is something to do; False where the system can not tell of it."""
        if self._watch is None:
            return False
        root, session = self._bus.root, self._instance.session
        own = layout.tray(root, session)
        tray = self._watch.add(own) and self._watch.tells_all(own)
        for earlier in trays.followed(root, session):
            self._watch.add(layout.tray(root, earlier))
        record = self._watch.add(records.path(self._instance.config_dir, self._claude.pid))
        return tray and record

    def _ask(self) -> float | None:
        """Print what the sensors have to say; seconds until the next look, None where only a change asks for one."""
        due: float | None = None
        for sensor in self._sensors:
            try:
                found = sensor.look(self._instance)
            except (WaysError, OSError) as error:
                self._say(f"attend run: sensor {sensor.name}: {error}")
                due = sooner(due, WITHOUT_WATCH)
                continue
            for line in found.lines:
                sys.stdout.write(cut(line) + "\n")
            sys.stdout.flush()
            due = sooner(due, found.after)
        return due

    def _wait(self, seconds: float | None) -> None:
        fds = [fd for fd in (self._watch.fd if self._watch else None, self._end) if fd is not None]
        select.select(fds, [], [], seconds)
        if self._watch is not None:
            self._watch.drain()

    def _say(self, text: str) -> None:
        """On stderr: the Monitor tool keeps it in a file and makes no turn of it."""
        try:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        except OSError:
            pass  # nobody keeps it


def cut(line: str) -> str:
    """One line of at most `LONGEST_LINE` characters."""
    flat = " ".join(line.split("\n"))
    return flat if len(flat) <= LONGEST_LINE else flat[: LONGEST_LINE - 1] + "…"


def _leave(number: int, frame: object) -> None:
    del number, frame
    raise _EndedError
