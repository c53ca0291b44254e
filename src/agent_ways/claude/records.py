"""Session records: what the client itself says about a session, in `<config dir>/sessions/<pid>.json`.

Owns reading them and the proof that one belongs to a live process. Must not know whose ancestor that process is
(`identity.py`), nor write anything there. The format is the client's and not documented: every key but two may
be missing, and one of an unexpected type counts as missing.
"""

from __future__ import annotations

import os
import stat
import time

from agent_ways.base.jsontext import NotJSONError, loads
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from agent_ways.base.process import ProcessTable

PAUSES = (0.002, 0.004, 0.008)
"""Seconds between attempts at a record that reads torn: the client rewrites it in place."""
LONGEST = 1 << 20
"""Bytes above which a file can not be a session record (they have about 700)."""
_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


class SessionRecord(Value):
    """One session as its client recorded it; times are milliseconds since 1970.

    `start` is the client's `procStart`, white space collapsed. `status` is idle, busy, shell or waiting, and then
    `waiting_for` says what for; `socket` is the bound inbox socket. What the record does not say is None.
    """

    __slots__ = (
        "config_dir",
        "cwd",
        "entrypoint",
        "kind",
        "name",
        "pid",
        "session",
        "socket",
        "start",
        "started_at",
        "status",
        "status_updated_at",
        "updated_at",
        "version",
        "waiting_for",
    )

    def __init__(
        self,
        *,
        pid: int,
        session: str,
        config_dir: str,
        cwd: str | None = None,
        start: str | None = None,
        started_at: int | None = None,
        version: str | None = None,
        kind: str | None = None,
        entrypoint: str | None = None,
        status: str | None = None,
        waiting_for: str | None = None,
        socket: str | None = None,
        name: str | None = None,
        updated_at: int | None = None,
        status_updated_at: int | None = None,
    ) -> None:
        self.pid: Final = pid
        self.session: Final = session
        self.config_dir: Final = config_dir
        self.cwd: Final = cwd
        self.start: Final = start
        self.started_at: Final = started_at
        self.version: Final = version
        self.kind: Final = kind
        self.entrypoint: Final = entrypoint
        self.status: Final = status
        self.waiting_for: Final = waiting_for
        self.socket: Final = socket
        self.name: Final = name
        self.updated_at: Final = updated_at
        self.status_updated_at: Final = status_updated_at

    @property
    def is_sdk(self) -> bool:
        """Whether this is a session of `-p` or an SDK: tools only (ID-5). Its `kind` says interactive all the same."""
        return is_sdk(self.entrypoint)


def is_sdk(entrypoint: str | None) -> bool:
    """Whether an entrypoint is one of `-p` or an SDK (ID-5)."""
    return entrypoint is not None and entrypoint.startswith("sdk-")


def session_name(raw: object) -> str | None:
    """A session id that is safe as a file's name, or None; the client's are UUIDs."""
    if not isinstance(raw, str) or not 0 < len(raw) <= 128 or raw[0] == "." or not _NAME_CHARACTERS.issuperset(raw):
        return None
    return raw


def parse(data: bytes, config_dir: str) -> SessionRecord | None:
    """The record that `data` holds, however it is laid out, or None: not JSON, or without a pid or a session id."""
    try:
        raw = loads(data.decode("utf-8-sig", "replace"))
    except NotJSONError:
        return None
    if not isinstance(raw, dict):
        return None
    pid, session = _count(raw.get("pid")), session_name(raw.get("sessionId"))
    if not pid or session is None:
        return None
    start = raw.get("procStart")
    return SessionRecord(
        pid=pid,
        session=session,
        config_dir=config_dir,
        cwd=_text(raw.get("cwd")),
        start=" ".join((_text(str(start) if _is_int(start) else start) or "").split()) or None,
        version=_text(raw.get("version")),
        kind=_text(raw.get("kind")),
        entrypoint=_text(raw.get("entrypoint")),
        status=_text(raw.get("status")),
        waiting_for=_text(raw.get("waitingFor")),
        socket=_text(raw.get("messagingSocketPath")),
        name=_text(raw.get("name")),
        started_at=_count(raw.get("startedAt")),
        updated_at=_count(raw.get("updatedAt")),
        status_updated_at=_count(raw.get("statusUpdatedAt")),
    )


def path(config_dir: str, pid: int) -> str:
    """Where the client of process `pid` keeps its record."""
    return os.path.join(config_dir, "sessions", f"{pid}.json")


def read(
    config_dir: str, pid: int, table: ProcessTable, pause: Callable[[float], None] = time.sleep
) -> SessionRecord | None:
    """The record of the live process `pid`, or None.

    Only where the file's own pid is that of its name and its `procStart` is the start of the process that has the
    pid now, so a record left by a killed client never resolves, nor one without `procStart`. A torn read is tried
    again for about 15 ms.

    On Linux `procStart` is field 22 of `/proc/<pid>/stat`, as in the process table. On macOS it has not been seen: the
    Linux client's own code names `ps -o lstart=` in the C locale and UTC for systems without `/proc`, which is what
    the table asks there too; if the client writes another form, no record resolves.
    """
    record = _read(config_dir, pid, pause)
    if record is None or record.pid != pid or record.start is None:
        return None
    found = table.look(pid)
    return record if found is not None and found.start == record.start else None


def read_all(config_dir: str, table: ProcessTable) -> list[SessionRecord]:
    """The records of all live sessions of a config dir, by pid; empty where it has no `sessions` folder."""
    try:
        names = os.listdir(os.path.join(config_dir, "sessions"))
    except (OSError, ValueError):
        return []
    pids = sorted(int(stem) for stem, dot, end in (name.partition(".") for name in names) if _is_pid(stem, dot + end))
    found = (read(config_dir, pid, table) for pid in pids)
    return [record for record in found if record is not None]


def _is_pid(stem: str, end: str) -> bool:
    return end == ".json" and stem.isascii() and stem.isdecimal() and stem[0] != "0" and len(stem) < 12


def _read(config_dir: str, pid: int, pause: Callable[[float], None]) -> SessionRecord | None:
    file = path(config_dir, pid)
    for seconds in (*PAUSES, 0.0):
        data = _bytes(file)
        record = None if data is None else parse(data, config_dir)
        if data is None or record is not None:
            return record
        if seconds:
            pause(seconds)
    return None


def _bytes(path: str) -> bytes | None:
    """The content of a regular file, or None. Never waits: a FIFO may have a record's name."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST:
            return None
        data = b""
        while len(data) <= LONGEST and (more := os.read(fd, LONGEST)):
            data += more
    except OSError:
        return None
    finally:
        os.close(fd)
    return data


def _is_int(raw: object) -> bool:
    return isinstance(raw, int) and not isinstance(raw, bool)


def _count(raw: Any) -> int | None:
    """A whole number that is not negative, also as text or as a float; None for anything else."""
    if isinstance(raw, str):
        return int(raw) if raw.isascii() and raw.isdecimal() and len(raw) < 20 else None
    if isinstance(raw, float):
        return int(raw) if raw.is_integer() and raw >= 0 else None
    return raw if _is_int(raw) and raw >= 0 else None


def _text(raw: object) -> str | None:
    """Text that can be written as UTF-8 (a lone surrogate becomes U+FFFD), or None for anything else, and for ""."""
    if not isinstance(raw, str):
        return None
    try:
        raw.encode("utf-8")
    except UnicodeEncodeError:
        return raw.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") or None
    return raw or None
