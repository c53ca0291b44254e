"""Instances: who each session is on the bus (ATT-6).

Owns one record per session (nickname, ordinal, session ids, Claude process), registering under one lock, following
`/clear` and resume, and the proof that a session lives, taken when asked. Must not know signals.

An identity belongs to a conversation that goes on: a resumed session is itself again under its new process; after
`/clear` the same process goes on under a new id and keeps its name. Nothing is written for an identity that is not
proven by the client's own record (ID-2).
"""

from __future__ import annotations

import os

from agent_ways.attend import disk, layout, names, trays
from agent_ways.attend.addresses import ALIVE, DEAD, UNKNOWN
from agent_ways.attend.signals import Note
from agent_ways.base.errors import DamagedRecordError, NewerRecordError, RefusedError, StateError, state_error
from agent_ways.base.process import Owner
from agent_ways.base.records import read_record, write_record
from agent_ways.base.values import Value
from agent_ways.claude import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Final

    from agent_ways.attend.bus import Bus
    from agent_ways.claude.identity import Identity
    from agent_ways.claude.records import SessionRecord

LOCK = "registry"
"""Held for every change to instances, personas and aliases."""
NAME_KEPT = 7 * 86_400_000
"""Milliseconds that a dead session's name is kept for its return before another may have it."""
FRESH = 86_400_000
"""Milliseconds after which a live session's record is written again, so that its name stays kept."""


class Instance(Value):
    """One session's identity. `client` proves its Claude process; `sessions` are its ids, the present one last.

    `enrolled` are the reasons why mail is shown to it at a turn's end: "joined", "sent", "run", "mail". `updated` is
    ms since 1970. Unknown keys of the record survive in `raw`.
    """

    __slots__ = (
        "client",
        "config_dir",
        "enrolled",
        "host",
        "key",
        "nickname",
        "ordinal",
        "project",
        "raw",
        "sessions",
        "updated",
    )

    def __init__(
        self,
        *,
        key: str,
        nickname: str,
        ordinal: int,
        project: str,
        host: str,
        sessions: tuple[str, ...],
        config_dir: str,
        client: Owner | None,
        enrolled: tuple[str, ...] = (),
        updated: int = 0,
        raw: dict[str, Any] | None = None,
    ) -> None:
        self.key: Final = key
        self.nickname: Final = nickname
        self.ordinal: Final = ordinal
        self.project: Final = project
        self.host: Final = host
        self.sessions: Final = sessions
        self.config_dir: Final = config_dir
        self.client: Final = client
        self.enrolled: Final = enrolled
        self.updated: Final = updated
        self.raw: Final = raw or {}

    @property
    def session(self) -> str:
        """The session id now."""
        return self.sessions[-1]

    @property
    def name(self) -> str:
        """What it is called: `Fern-alpha`."""
        return names.display(self.nickname, self.ordinal)

    def to_record(self) -> dict[str, Any]:
        """As it stands on disk."""
        return {
            **self.raw,
            "v": layout.FORMAT,
            "key": self.key,
            "nickname": self.nickname,
            "ordinal": self.ordinal,
            "project": self.project,
            "host": self.host,
            "sessions": list(self.sessions),
            "config_dir": self.config_dir,
            "client": self.client.to_json() if self.client else None,
            "enrolled": list(self.enrolled),
            "updated": self.updated,
        }


def project_of(cwd: str) -> str:
    """The project of a working directory: itself; a worktree that the client manages belongs to its repository's."""
    return cwd.partition("/.claude/worktrees/")[0] or cwd


def client_of(bus: Bus, pid: int, start: str) -> Owner:
    """The proof of the Claude process `pid` of this machine, as records keep it."""
    here = bus.owner
    return Owner(host=here.host, boot=here.boot, namespace=here.namespace, pid=pid, start=start)


def read_all(bus: Bus, notes: list[Note] | None = None) -> list[Instance]:
    """Every instance, by key; damaged records are passed over with a note.

    Raises `StateError` where too many files are open: a session must not look as if it had no identity.
    """
    found = []
    folder = layout.instances(bus.root)
    for name in disk.names(folder):
        key, dot, end = name.partition(".")
        if dot + end != ".json":
            continue
        try:
            one = read(bus, key)
        except StateError as error:
            if disk.about_us(error):
                raise
            if notes is not None:
                notes.append(Note(os.path.join(folder, name), error.message))
            continue
        if one is not None:
            found.append(one)
    return found


def read(bus: Bus, key: str) -> Instance | None:
    """The instance of that key, None where there is none; raises `StateError` where its record is damaged."""
    path = layout.instance(bus.root, key)
    record = read_record(path, layout.FORMAT)
    return None if record is None else parse(record, key, path)


def parse(record: dict[str, Any], key: str, path: str) -> Instance:
    """The instance in a record; raises `DamagedRecordError` where a field is not what it must be."""
    texts = [record.get(name) for name in ("nickname", "project", "host", "config_dir")]
    sessions, enrolled = record.get("sessions"), record.get("enrolled", [])
    number, updated = record.get("ordinal"), record.get("updated", 0)
    if not isinstance(sessions, list) or not sessions or not isinstance(enrolled, list):
        raise DamagedRecordError(f"{path} is damaged: it names no session", "Move it aside; a new one is made.")
    good = record.get("key") == key and isinstance(number, int) and isinstance(updated, int)
    if not good or not all(isinstance(text, str) for text in (*texts, *sessions, *enrolled)):
        raise DamagedRecordError(f"{path} is damaged: a field is missing", "Move it aside; a new one is made.")
    if any(records.session_name(session) is None for session in sessions):
        raise DamagedRecordError(f"{path} is damaged: it names no session", "Move it aside; a new one is made.")
    return Instance(
        key=key,
        nickname=str(texts[0]),
        ordinal=number or 0,
        project=str(texts[1]),
        host=str(texts[2]),
        config_dir=str(texts[3]),
        sessions=tuple(sessions),
        client=Owner.from_json(record.get("client")),
        enrolled=tuple(enrolled),
        updated=updated,
        raw=record,
    )


def find(bus: Bus, identity: Identity) -> Instance | None:
    """The instance of a proven identity, None where it never registered. Changes nothing."""
    record = identity.record
    if not identity.resolved or record is None:
        return None
    chosen, _ = _choose(bus, read_all(bus), record, client_of(bus, record.pid, record.start or ""))
    return chosen


def register(bus: Bus, identity: Identity, reason: str = "") -> Instance:
    """The instance of a proven identity, made or brought up to date where needed; with `reason` it is enrolled too.

    Writes nothing where all is as it should be. Raises `RefusedError` for an identity that is not proven, or one of an
    SDK session, `LockHeldError`, `StateError`.
    """
    record = identity.record
    if not identity.resolved or record is None:
        raise RefusedError(identity.reason or "this process belongs to no session", "Run it inside a session.")
    client = client_of(bus, record.pid, record.start or "")
    known, others = _choose(bus, read_all(bus), record, client)
    if known is not None and not others and _current(bus, known, record, client, reason):
        return known
    with bus.lock(LOCK):
        everyone = read_all(bus)
        known, others = _choose(bus, everyone, record, client)
        for other in others:
            _give_up(bus, other, record, client)
        everyone = read_all(bus) if others else everyone
        made = known or _new(bus, record, everyone)
        made = _brought_up(bus, made, everyone, record=record, client=client, reason=reason)
        tray = layout.tray(bus.root, made.session)
        try:
            new = disk.make_folders(tray)
        except OSError as error:
            raise state_error("make", tray, error) from None
        try:
            for earlier in made.sessions[:-1][-trays.FOLLOWED :]:
                trays.follow(bus, made.session, earlier)
            _write(bus, made)
        except StateError:
            disk.remove_folders(new)
            raise
        _gather(bus, made)
        _keep_persona(bus, made)
    return made


def gather_all(bus: Bus, *, dry: bool = False) -> int:
    """Bring every session's mail together under its present id; answers how many files and folders went, or would."""
    if dry:
        return sum(trays.gather(bus, one.sessions, dry=True) for one in read_all(bus))
    with bus.lock(LOCK):
        return sum(trays.gather(bus, one.sessions) for one in read_all(bus))


def _choose(
    bus: Bus, everyone: Sequence[Instance], record: SessionRecord, client: Owner
) -> tuple[Instance | None, list[Instance]]:
    """Which instance the session of `record`, run by `client`, is; and which others must give something up for it.

    The conversation counts first: who has this session id now is it, if its process has ended or is this one. Then
    the process: after `/clear` it goes on with a new id. A session whose id another live process left by `/clear` and
    that is resumed beside it is somebody new.
    """
    session = record.session
    having = [one for one in everyone if session in one.sessions]
    having.sort(key=lambda one: (one.session == session, one.updated), reverse=True)
    mine = [one for one in everyone if one.client == client]
    chosen = None
    for one in having:
        if one.client == client or now_of(bus, one) == (ALIVE, session) or liveness(bus, one) == DEAD:
            chosen = one
            break
    if chosen is None and mine:
        chosen = mine[0]
    others = [one for one in (*having, *mine) if chosen is None or one.key != chosen.key]
    others = [one for one in others if liveness(bus, one) != UNKNOWN]  # another machine's record is left alone
    return chosen, list({one.key: one for one in others}.values())


def _current(bus: Bus, known: Instance, record: SessionRecord, client: Owner, reason: str) -> bool:
    shared = known.client != client and liveness(bus, known) == ALIVE
    return (
        known.session == record.session
        and (known.client == client or shared)
        and (not reason or reason in known.enrolled)
        and bus.now_ms() - known.updated < FRESH
        and os.path.isdir(layout.tray(bus.root, known.session))
    )


def _give_up(bus: Bus, other: Instance, record: SessionRecord, client: Owner) -> None:
    """Take the session id and the process from an instance that is not theirs any more."""
    state, now = now_of(bus, other)
    left = tuple(session for session in other.sessions if session != record.session)
    if state == ALIVE and now not in left and now != record.session:
        left = (*left, now)
    if not left:
        # It had no other id: what it was is gone, and its mail waits under the id, which lives on.
        disk.forget(layout.instance(bus.root, other.key))
        return
    trays.unfollow(bus, other.session, record.session)
    kept = other.but(sessions=left, client=None if other.client == client else other.client)
    _write(bus, kept)
    _gather(bus, kept)


def _gather(bus: Bus, one: Instance) -> None:
    """Bring its mail together. The registry's lock is held, so nobody takes one of its ids meanwhile."""
    try:
        trays.gather(bus, one.sessions)
    except StateError:
        pass  # what was not brought is followed from the present tray, and gathered the next time


def _new(bus: Bus, record: SessionRecord, everyone: Sequence[Instance]) -> Instance:
    project = project_of(record.cwd or "")
    known = _personas(bus, everyone)
    nickname = known.get(project) or names.nickname(project, set(known.values()))
    return Instance(
        key=layout.spell(int.from_bytes(os.urandom(10), "big") >> 5, 15),
        nickname=nickname,
        ordinal=names.lowest_free(_held(bus, everyone, nickname, "")),
        project=project,
        host=bus.owner.host,
        sessions=(record.session,),
        config_dir=record.config_dir,
        client=None,
    )


def _brought_up(
    bus: Bus, made: Instance, everyone: Sequence[Instance], *, record: SessionRecord, client: Owner, reason: str
) -> Instance:
    held = _held(bus, everyone, made.nickname, made.key)
    enrolled = made.enrolled if not reason or reason in made.enrolled else (*made.enrolled, reason)
    shared = made.client is not None and made.client != client and now_of(bus, made) == (ALIVE, record.session)
    return made.but(
        sessions=(*(one for one in made.sessions if one != record.session), record.session),
        ordinal=names.lowest_free(held) if made.ordinal in held else made.ordinal,
        client=made.client if shared else client,
        config_dir=record.config_dir,
        host=bus.owner.host,
        enrolled=enrolled,
        updated=bus.now_ms(),
    )


def _held(bus: Bus, everyone: Sequence[Instance], nickname: str, but: str) -> set[int]:
    """The ordinals of a nickname that are not free: a live session's, or kept for one that may return."""
    return {
        one.ordinal
        for one in everyone
        if one.nickname == nickname
        and one.key != but
        and (bus.now_ms() - one.updated < NAME_KEPT or liveness(bus, one) == ALIVE)
    }


def _personas(bus: Bus, everyone: Sequence[Instance]) -> dict[str, str]:
    """The nicknames by project: what was kept of them, and what the instances themselves say."""
    try:
        record = read_record(layout.personas(bus.root), layout.FORMAT)
    except (DamagedRecordError, NewerRecordError):
        record = None
    projects = record.get("projects") if record else None
    kept = projects if isinstance(projects, dict) else {}
    found = {project: name for project, name in kept.items() if isinstance(name, str)}
    return {**{one.project: one.nickname for one in everyone}, **found}


def _keep_persona(bus: Bus, made: Instance) -> None:
    """Keep the project's nickname beyond its sessions. The registry's lock is held."""
    known = _personas(bus, ())
    if known.get(made.project) == made.nickname:
        return
    try:
        write_record(
            layout.personas(bus.root), {"v": layout.FORMAT, "projects": {**known, made.project: made.nickname}}
        )
    except StateError:
        pass  # the instance has it too, and the next one to register keeps it


def _write(bus: Bus, one: Instance) -> None:
    disk.put_record(layout.instance(bus.root, one.key), one.to_record())


def liveness(bus: Bus, one: Instance) -> str:
    """alive, dead or unknown: of the process that the record proves, taken now, never guessed from a time."""
    return DEAD if one.client is None else one.client.verdict(bus.owner, bus.table)


def now_of(bus: Bus, one: Instance) -> tuple[str, str]:
    """Whether it lives, and the session id that its process has now by the client's own record.

    A process that lives and has no record any more is unknown: nobody can say what it is.
    """
    state = liveness(bus, one)
    if state != ALIVE or one.client is None:
        return state, one.session
    record = records.read(one.config_dir, one.client.pid, bus.table)
    if record is None or record.start != one.client.start:
        return UNKNOWN, one.session
    return ALIVE, record.session


def history(one: Instance, bus: Bus) -> tuple[str, ...]:
    """The trays that were ever this instance's: its session ids, the one of its process now included."""
    now = now_of(bus, one)[1]
    return one.sessions if now in one.sessions else (*one.sessions, now)
