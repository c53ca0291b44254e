"""Signals: one message, one file.

Owns a signal's form on disk, writing one (all or nothing), reading one by its id, and passing over damaged ones with a
note. Must not know who may see it, nor what became of it: the caller says in which trays and rooms it goes.

Writing: the text is written aside, then the slips and the room entries that will lead to it, and only then is it
renamed into place. Until that rename nothing was sent: an entry whose signal is not there counts for nobody. After
it, everything is there. So a writer may be killed anywhere, and readers need no lock (ATT-1).
"""

from __future__ import annotations

import errno
import os
import stat
import time

from agent_ways.attend import disk, ids, layout
from agent_ways.base.errors import DamagedRecordError, NewerRecordError, UsageError, state_error
from agent_ways.base.jsontext import dumps
from agent_ways.base.records import parse_record, sync_dir
from agent_ways.base.values import Value
from agent_ways.claude.transcript import iso_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.trays import Slip

LONGEST_BODY = 65536
"""Bytes of UTF-8 that a body may have (ATT-1)."""
_LONGEST_FILE = 1 << 20
"""A body of 64 KiB takes at most six times that when every byte is escaped, and there is an envelope around it."""

SESSION, HUMAN = "session", "human"


class Sender(Value):
    """Who wrote a signal. `kind` is "session" or "human"; `session` or `user` is its id, `name` what to call it.

    Set by the writer from its own proven identity, never from a parameter. `host` is part of it, so that a later
    bridge between machines needs no other format.
    """

    __slots__ = ("host", "kind", "name", "project", "session", "user")

    def __init__(
        self, *, kind: str, name: str, host: str, session: str | None = None, user: str | None = None, project: str = ""
    ) -> None:
        self.kind: Final = kind
        self.session: Final = session
        self.user: Final = user
        self.name: Final = name
        self.project: Final = project
        self.host: Final = host

    def to_json(self) -> dict[str, str]:
        """As it stands in a signal."""
        key, value = ("session", self.session) if self.kind == SESSION else ("user", self.user)
        return {"kind": self.kind, key: value or "", "name": self.name, "project": self.project, "host": self.host}


class Signal(Value):
    """One message. `at` is the writer's wall clock in ms since 1970; order is by `id`.

    `to` holds the addresses in their exact form (`addresses.Route.to`), `room` the room of the first, `recipients`
    the sessions that it was put before when it was sent. `re` is the signal that it answers, `thread` the one that
    began that talk (its own id where it began one).
    """

    __slots__ = ("at", "body", "id", "on_behalf_of", "re", "recipients", "room", "sender", "thread", "to")

    def __init__(
        self,
        *,
        id: str,  # noqa: A002  # the field's name in every format of ours
        at: int,
        sender: Sender,
        to: tuple[str, ...],
        room: str,
        body: str,
        thread: str = "",
        re: str | None = None,
        on_behalf_of: str | None = None,
        recipients: tuple[str, ...] = (),
    ) -> None:
        self.id: Final = id
        self.at: Final = at
        self.sender: Final = sender
        self.to: Final = to
        self.room: Final = room
        self.body: Final = body
        self.re: Final = re
        self.thread: Final = thread or id
        self.on_behalf_of: Final = on_behalf_of
        self.recipients: Final = recipients

    def to_json(self) -> dict[str, Any]:
        """The signal as verbs show it: all but its recipients."""
        return {
            "id": self.id,
            "at": iso(self.at),
            "from": self.sender.to_json(),
            "on_behalf_of": self.on_behalf_of,
            "to": list(self.to),
            "room": self.room,
            "re": self.re,
            "thread": self.thread,
            "body": self.body,
        }


class Note(Value):
    """A file that was passed over, and why, in a sentence for a person."""

    __slots__ = ("path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path: Final = path
        self.text: Final = text


def check_body(body: str) -> str:
    """The body, exactly as it came; raises `UsageError` for one that is empty, too long or no text."""
    if not body.strip():
        raise UsageError("the message is empty", "Give its text as words, or - to read it from standard input.")
    try:
        size = len(body.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the message is not valid Unicode text at character {error.start + 1}",
            "Send it as UTF-8; put bytes into a file and name that in the message.",
        ) from None
    if size > LONGEST_BODY:
        raise UsageError(
            f"the message has {size} bytes, and {LONGEST_BODY} is the most",
            "Put the text into a file and name that in the message.",
        )
    return body


def post(bus: Bus, signal: Signal, slips: Sequence[Slip], rooms: Iterable[str]) -> None:
    """Send `signal`: durable once this returns, and nothing of it is left where it raises `StateError`.

    `slips` put it before their trays; `rooms` keep it in their histories (names as in `layout`).
    """
    day = ids.day(signal.id)
    path = layout.signal(bus.root, day, signal.id)
    record = {"v": layout.FORMAT, **signal.to_json(), "recipients": list(signal.recipients)}
    data = dumps(record).encode("ascii") + b"\n"
    entries = [os.path.join(layout.room(bus.root, room, day), signal.id) for room in rooms]
    for last in (False, True):
        undo = disk.Undo()
        try:
            _post(bus, undo, path, data, (*entries, *(slip.path(bus.root) for slip in slips)))
        except OSError as error:
            undo.run()
            if error.errno == errno.ENOENT and not last:
                continue  # another writer's failure took back a folder that both had needed
            raise state_error("write", path, error) from None
        break
    sync_dir(os.path.dirname(path))
    for slip in slips:
        disk.ring(slip.path(bus.root))


def _post(bus: Bus, undo: disk.Undo, path: str, data: bytes, entries: Sequence[str]) -> None:
    folder, name = os.path.split(path)
    undo.folders(folder)
    aside = os.path.join(folder, f".{name}.tmp")
    fd = disk.open_private(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    undo.file(aside)
    try:
        disk.write_all(fd, data)
    finally:
        os.close(fd)
    for entry in entries:
        undo.folders(os.path.dirname(entry))
        undo.file(entry)
        disk.touch(entry)
    for entry_folder in {os.path.dirname(entry) for entry in entries[-8:]}:
        sync_dir(entry_folder)
    ids.raise_high_water(bus, name.removesuffix(".json"))
    os.rename(aside, path)


def read(bus: Bus, signal_id: str) -> Signal | Note | None:
    """The signal of that id, a note where its file is damaged, None where there is none (also once archived away)."""
    if not ids.is_id(signal_id):
        return None
    day = ids.day(signal_id)
    for path in (
        layout.signal(bus.root, day, signal_id),
        os.path.join(layout.archive(bus.root), day, signal_id + ".json"),
    ):
        found = _read(path, signal_id)
        if found is not None:
            return found
    return None


def read_all(bus: Bus, signal_ids: Iterable[str], notes: list[Note]) -> list[Signal]:
    """The signals of those ids in their order; what is damaged goes to `notes`, what is not there is left out."""
    found = []
    for signal_id in signal_ids:
        one = read(bus, signal_id)
        if isinstance(one, Signal):
            found.append(one)
        elif one is not None:
            notes.append(one)
    return found


def find(bus: Bus, text: str) -> str:
    """The whole id that `text` means: an id, or the unambiguous end of one; raises `UsageError` otherwise."""
    wanted = text.strip().lower()
    if ids.is_id(wanted):
        if read(bus, wanted) is not None:
            return wanted
        raise UsageError(f"there is no signal {wanted}", "List those that there are: attend inbox")
    if len(wanted) < 4 or not ids.is_id(("0" * ids.LENGTH)[: ids.LENGTH - 9] + "-" + wanted.rjust(8, "0")):
        raise UsageError(f"{text!r} is no signal's id", "List those that there are: attend inbox")
    found = [signal_id for signal_id in all_ids(bus) if ids.short(signal_id).startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"there is no signal {wanted}", "List those that there are: attend inbox")
    raise UsageError(f"{wanted} fits {len(found)} signals: " + ", ".join(found[:5]), "Give one of them whole.")


def all_ids(bus: Bus) -> list[str]:
    """Every signal's id, newest first. Its cost grows with history: for what a person asks, never for a hot path."""
    found: list[str] = []
    for day in reversed(disk.names(layout.signals(bus.root))):
        found += reversed([name[:-5] for name in disk.names(layout.signals(bus.root, day)) if name.endswith(".json")])
    return [signal_id for signal_id in found if ids.is_id(signal_id)]


def _read(path: str, signal_id: str) -> Signal | Note | None:
    try:
        data = _bytes(path)
    except FileNotFoundError:
        # A dangling link is there and leads nowhere; a plain absence is none.
        return Note(path, "it is a link that leads nowhere") if os.path.islink(path) else None
    except OSError as error:
        return Note(path, error.strerror or str(error))
    try:
        return parse(parse_record(data, path, layout.FORMAT), signal_id)
    except (DamagedRecordError, NewerRecordError) as error:
        return Note(path, error.message)


def _bytes(path: str) -> bytes:
    # O_NONBLOCK: a FIFO with a signal's name must not hold us.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if found.st_size > _LONGEST_FILE:
            raise OSError(errno.EFBIG, "it is too large for a signal")
        data = b""
        while more := os.read(fd, _LONGEST_FILE):
            data += more
        return data
    finally:
        os.close(fd)


def parse(record: dict[str, Any], signal_id: str) -> Signal:
    """The signal in a record; raises `DamagedRecordError` where a field is not what it must be."""
    raw = record.get("from")
    at = iso_ms(record.get("at"))
    to, body, room = record.get("to"), record.get("body"), record.get("room")
    good = record.get("id") == signal_id and at is not None and isinstance(body, str) and isinstance(room, str)
    if not good or not isinstance(raw, dict) or raw.get("kind") not in (SESSION, HUMAN) or not _texts(to):
        raise DamagedRecordError(f"signal {signal_id} is damaged: a field is missing", "It is left as it is.")
    sender = Sender(
        kind=raw["kind"],
        session=_text(raw.get("session")),
        user=_text(raw.get("user")),
        name=_text(raw.get("name")) or "?",
        project=_text(raw.get("project")) or "",
        host=_text(raw.get("host")) or "",
    )
    recipients = record.get("recipients")
    thread, re = record.get("thread"), record.get("re")
    return Signal(
        id=signal_id,
        at=at or 0,
        sender=sender,
        to=tuple(to or ()),
        room=str(room),
        body=str(body),
        re=re if ids.is_id(re) else None,
        thread=thread if isinstance(thread, str) and ids.is_id(thread) else "",
        on_behalf_of=_text(record.get("on_behalf_of")),
        recipients=tuple(recipients) if isinstance(recipients, list) and _texts(recipients) else (),
    )


def iso(at: int) -> str:
    """Milliseconds since 1970 as `2026-11-30T21:31:12.123Z`."""
    moment = time.gmtime(at // 1000)
    # The year by hand: what %Y makes of one before 1000 differs from system to system.
    return f"{moment.tm_year:04d}" + time.strftime("-%m-%dT%H:%M:%S", moment) + f".{at % 1000:03d}Z"


def thread_of(bus: Bus, re: str | None) -> str:
    """The thread that an answer to `re` belongs to: that signal's, or `re` itself where it can not be read."""
    found = read(bus, re) if re else None
    return found.thread if isinstance(found, Signal) else re or ""


def _text(raw: object) -> str | None:
    return raw if isinstance(raw, str) and raw else None


def _texts(raw: object) -> bool:
    return isinstance(raw, list) and all(isinstance(part, str) for part in raw)
