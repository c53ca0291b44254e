"""The reckoning: where every signal is, what is left behind, what the servers' memory did.

Owns the judgement over a run that has ended. Must not change anything.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_ways.attend import instances, seen, signals, trays
from agent_ways.attend.signals import Signal
from tests.soak.session import MARK

if TYPE_CHECKING:
    from tests.soak.session import Session
    from tests.soak.storm import Storm


@dataclass
class Account:
    """What became of the deliveries, one for each signal and recipient, and the faults in plain sentences."""

    signals: int = 0
    deliveries: int = 0
    once: int = 0
    repeated: int = 0
    read: int = 0
    queued: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def account(storm: Storm) -> Account:
    """Every signal on the bus against what each model was given."""
    found = Account()
    on_bus = set(signals.all_ids(storm.bus))
    for lost in sorted(storm.accepted - on_bus):
        found.faults.append(f"{lost} was accepted and is not on the bus")
    by_id = {one: session for session in storm.sessions for one in session.ids}
    for signal_id in sorted(on_bus):
        signal = signals.read(storm.bus, signal_id)
        if not isinstance(signal, Signal):
            found.faults.append(f"{signal_id} can not be read")
            continue
        found.signals += 1
        for session in {id(by_id[one]): by_id[one] for one in signal.recipients if one in by_id}.values():
            _delivery(storm, session, signal_id, found)
    _marks(storm, found)
    return found


def _delivery(storm: Storm, session: Session, signal_id: str, found: Account) -> None:
    found.deliveries += 1
    shows = session.shows.get(signal_id, [])
    for show in shows[:1]:
        found.by_kind[show.kind] = found.by_kind.get(show.kind, 0) + 1
    if len(shows) > 1 + session.unproven.get(signal_id, 0):
        ways = ", ".join(f"{show.kind} in life {show.life}" for show in shows)
        found.faults.append(
            f"{signal_id} was shown {len(shows)} times to session {session.number} ({session.kind}): {ways}"
        )
    elif len(shows) > 1:
        found.repeated += 1
    elif shows:
        found.once += 1
    elif signal_id in session.reads:
        found.read += 1
    elif _is_queued(storm, session, signal_id):
        found.queued += 1
    else:
        found.faults.append(
            f"{signal_id} was never shown to session {session.number} ({session.kind}) and waits nowhere"
        )


def _is_queued(storm: Storm, session: Session, signal_id: str) -> bool:
    return any(
        slip.id == signal_id
        for one in session.ids
        for held in (False, True)
        for slip in trays.waiting(storm.bus.root, one, held)
    )


def _marks(storm: Storm, found: Account) -> None:
    """Whatever is marked as seen was shown: nothing is claimed that is not so."""
    ids = signals.all_ids(storm.bus)
    for instance in instances.read_all(storm.bus):
        sessions = [one for one in storm.sessions if set(one.ids) & set(instance.sessions)]
        given = {signal_id for one in sessions for signal_id in (*one.shows, *one.reads)}
        for signal_id in seen.proofs(storm.bus, instance.key, ids):
            if signal_id not in given:
                found.faults.append(f"{signal_id} is marked as seen by {instance.name} and was never shown")


def left_behind(storm: Storm, run: str) -> list[str]:
    """Processes, markers, held locks and temporary files that are there after everyone has gone."""
    found = [f"process left behind: {one}" for session in storm.sessions for one in session.left]
    found += [f"process {pid} runs: {words}" for pid, words in processes(run)]
    state = os.path.dirname(storm.bus.root)
    for folder, _, names in os.walk(state):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".tmp") or (name.startswith(".") and ".tmp" in name):
                found.append(f"temporary file {os.path.relpath(path, state)}")
            if name.endswith(".lock") and _is_held(path):
                found.append(f"lock {os.path.relpath(path, state)} is held")
    markers = os.path.join(state, "servers")
    found += [f"marker {name}" for name in (os.listdir(markers) if os.path.isdir(markers) else ())]
    return found


def processes(run: str) -> list[tuple[int, str]]:
    """The processes of a run, by the variable that all of them have in their environment."""
    wanted, found = f"{MARK}={run}".encode(), []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                ours = wanted in file.read().split(b"\0")
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().replace(b"\0", b" ").decode("utf-8", "replace")[:80]
        except OSError:
            continue
        if ours:
            found.append((int(name), words))
    return found


def _is_held(path: str) -> bool:
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
