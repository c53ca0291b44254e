"""The directory: all that an address can mean now.

Owns gathering it from disk and process table: instances, live sessions that never registered, aliases, channels. Must
not know what is written to whom; `addresses` resolves over the value that this makes.
"""

from __future__ import annotations

from agent_ways.attend import aliases, instances, rooms, targets
from agent_ways.attend.addresses import ALIVE, Directory, Known
from agent_ways.claude import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.signals import Note


def directory(bus: Bus, notes: list[Note] | None = None) -> Directory:
    """Everything known now, liveness proven now. Damaged records are passed over with a note. Changes nothing."""
    return Directory(known_sessions(bus, notes), aliases.holders(bus), rooms.all_members(bus))


def known(bus: Bus, one: Instance, called: str = "") -> Known:
    """An instance as an address may mean it; `called` is what its client calls it."""
    state, now = instances.now_of(bus, one)
    return Known(
        key=one.key,
        session=now,
        sessions=one.sessions if now in one.sessions else (*one.sessions, now),
        name=one.name,
        nickname=one.nickname,
        project=one.project,
        host=one.host,
        live=state,
        listens=bool(one.enrolled),
        called=called if state == ALIVE else "",
    )


def known_sessions(bus: Bus, notes: list[Note] | None = None) -> tuple[Known, ...]:
    """All sessions that the bus can name: registered ones, and live ones of its config dirs that never registered.

    Its config dirs are its own, those of enabled targets (ID-1), and those that a registered session lives in; none of
    a disabled target.
    """
    everyone = instances.read_all(bus, notes)
    clients = [
        (instances.client_of(bus, one.pid, one.start or ""), config_dir, one)
        for config_dir in _config_dirs(bus, everyone)
        for one in records.read_all(config_dir, bus.table)
    ]
    called = {client: one.name or "" for client, _, one in clients}
    found = [known(bus, one, called.get(one.client, "") if one.client else "") for one in everyone]
    covered = {one.client for one in everyone}
    had = {one.session for one in found if one.live == ALIVE}
    for client, config_dir, record in clients:
        if client in covered or record.session in had or record.is_sdk:
            continue
        had.add(record.session)
        found.append(
            Known(
                key=None,
                session=record.session,
                name=record.name or "",
                project=instances.project_of(record.cwd or ""),
                host=bus.owner.host,
                live=ALIVE,
                config_dir=config_dir,
                called=record.name or "",
            )
        )
    return tuple(found)


def _config_dirs(bus: Bus, everyone: Sequence[Instance]) -> tuple[str, ...]:
    known = (*bus.config_dirs, *(one.config_dir for one in everyone))
    return targets.looked_in(targets.read(bus.env), known[0], known[1:]) if known else ()
