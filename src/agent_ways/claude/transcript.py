"""A session's transcript: where it lies, and its rows, from the tail or from a saved offset.

Owns finding the file, reading it within bounds (ID-6) and the form of one parsed row. Must not know what a row
proves, costs or says about anyone: `proof`, `cache`, `prompts` and `idle` judge rows. Reads, never writes.

The client appends JSON lines in batches; neither the order of lines nor the folder's name can be relied on (it
follows the working directory at the start, cut and hashed where long), and the file is not there before the
first turn (2.1.285, 2.1.332). A line is a line once its newline is there: what follows the last newline is
still being written, or was cut off by a crash, and is left for the next look.
"""

from __future__ import annotations

import os
import stat

from agent_ways.base.jsontext import NotJSONError, loads
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Final

    Pread = Callable[[int, int, int], bytes]

TAIL = 4 << 20
"""Bytes that are read at most, in one look, whatever the file's size (ID-6)."""

_BLOCK = 1 << 20
_PEEK = 1 << 14
"""Bytes that are read at once where only the next line's begin is wanted."""
_YEAR_0, _YEAR_10000 = -62_167_219_200, 253_402_300_800
"""Seconds since the epoch between which a year has four digits."""


class Row(Value):
    """One line of a transcript that held a JSON object.

    `at` is its time in ms since the epoch, None where it has none; `line` the byte offset where it begins.
    `origin` and `server` are the kind and the server of its origin (a queued command carries them one level
    down), empty where there are none: absence of an origin says nothing about who wrote it. `side` is true for
    a subagent's row, which never speaks for the session. `raw` is the object as the client wrote it: keys may
    be missing and of any type.
    """

    __slots__ = ("at", "line", "origin", "raw", "server", "side", "type")

    def __init__(self, raw: dict[str, Any], line: int = 0) -> None:
        attachment = raw.get("attachment")
        origin = raw.get("origin")
        if origin is None and isinstance(attachment, dict):
            origin = attachment.get("origin")
        self.raw: Final = raw
        self.line: Final = line
        self.type: Final = text_in(raw, "type")
        self.at: Final = iso_ms(raw.get("timestamp"))
        self.origin: Final = text_in(origin, "kind")
        self.server: Final = text_in(origin, "server")
        self.side: Final = bool(raw.get("isSidechain"))


class Rows(Value):
    """What one look at a transcript found: its rows in file order (newest last), and how far the look went.

    `start` and `end` are the byte offsets of the first line looked at and of what follows the last whole one:
    `end` is what `since` goes on from. `more` says that whole lines may follow `end` already. `rewritten` says
    that the file is not the one that the offset came from (shorter now, or other): rows are from its beginning
    again, and nothing concluded before holds. `damaged` counts lines that were no JSON object.
    `absent` is a file that is not there, `problem` the reason why one that is there could not be read.
    """

    __slots__ = ("absent", "damaged", "end", "more", "problem", "rewritten", "rows", "start")

    def __init__(
        self,
        rows: tuple[Row, ...] = (),
        *,
        start: int = 0,
        end: int = 0,
        more: bool = False,
        rewritten: bool = False,
        damaged: int = 0,
        absent: bool = False,
        problem: str = "",
    ) -> None:
        self.rows: Final = rows
        self.start: Final = start
        self.end: Final = end
        self.more: Final = more
        self.rewritten: Final = rewritten
        self.damaged: Final = damaged
        self.absent: Final = absent
        self.problem: Final = problem

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def find(config_dir: str, session: str) -> str | None:
    """The transcript of `session`, or None where there is none yet.

    Any folder below `projects/` may hold it; of several (a session resumed elsewhere) the one written last.
    An id that could lead out of a folder names no transcript.
    """
    if not session or "/" in session or "\0" in session or session.startswith("."):
        return None
    projects = os.path.join(config_dir, "projects")
    try:
        folders = os.listdir(projects)
    except (OSError, ValueError):
        return None
    newest: tuple[float, str] | None = None
    for folder in folders:
        path = os.path.join(projects, folder, session + ".jsonl")
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(found.st_mode) and (newest is None or (found.st_mtime, path) > newest):
            newest = (found.st_mtime, path)
    return newest[1] if newest else None


def tail(path: str, limit: int = TAIL, pread: Pread = os.pread) -> Rows:
    """The rows in the last `limit` bytes of the transcript at `path`. A line that begins before them is left out."""
    return _look(path, lambda fd, size: _tail(fd, size, limit, pread))


def since(path: str, offset: int, limit: int = TAIL, pread: Pread = os.pread) -> Rows:
    """The rows of the next `limit` bytes from `offset` on, which is 0 or the `end` of an earlier look.

    A line longer than `limit` is passed over as damaged. Where `more` is set, `end` has moved.
    """
    return _look(path, lambda fd, size: _since(fd, size, offset, limit, pread))


def tail_start(path: str, limit: int, pread: Pread = os.pread) -> int:
    """Where the rows of `tail` begin, without reading them; 0 where there is nothing to be read."""
    return _look(path, lambda fd, size: Rows(start=_line_in(fd, size - limit, size, pread))).start


def tail_lines(fd: int, size: int, limit: int, pread: Pread) -> tuple[int, bytes]:
    """The whole lines in the last `limit` bytes of an open file: the offset of the first, and all, as one text."""
    start = max(0, size - limit)
    data = _read(fd, start, size, pread)
    cut = data.find(b"\n") + 1 if start else 0
    if start and not cut:
        return size, b""
    return start + cut, data[cut : data.rfind(b"\n") + 1]


def objects(data: bytes) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Each line of `data` that is not blank: its offset in `data`, and its JSON object or None where it has none.

    Bytes that are no UTF-8 become U+FFFD, so one bad byte costs no row; a BOM is passed over.
    """
    at = 0
    for line in data.split(b"\n"):
        text = line.decode("utf-8", "replace").lstrip("\ufeff")
        if text.strip():
            try:
                value = loads(text)
            except NotJSONError:
                value = None
            yield at, value if isinstance(value, dict) else None
        at += len(line) + 1


def open_file(path: str) -> tuple[int, int]:
    """A descriptor and the size of the regular file at `path`; raises OSError. A FIFO of that name does not hold us."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise OSError("not a regular file")
    return fd, found.st_size


def text_in(holder: object, key: str) -> str:
    """The text at `key` of `holder`; empty where `holder` is no object or has no text there."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, str) else ""


def blocks(row: Row) -> tuple[dict[str, Any], ...]:
    """The content blocks of a row's message; a plain text counts as one text block."""
    message = row.raw.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    if not isinstance(content, list):
        return ()
    return tuple(block for block in content if isinstance(block, dict))


def iso_ms(text: object) -> int | None:
    """Milliseconds since the epoch of a time as the client writes it, `2026-11-30T21:21:34.661Z`.

    Offsets such as `+01:00` are understood too. None for anything else. Without `datetime`, which costs 2 ms.
    """
    if not isinstance(text, str) or len(text) < 20 or text[4] + text[7] + text[10] != "--T":
        return None
    clock, zone = _zone(text[11:])
    whole, _, fraction = clock.partition(".")
    fields = [text[:4], text[5:7], text[8:10], *whole.split(":")]
    if [len(field) for field in fields] != [4, 2, 2, 2, 2, 2] or zone is None:
        return None
    if not all(field.isascii() and field.isdigit() for field in (*fields, fraction or "0")):
        return None
    year, month, day, hour, minute, second = (int(field) for field in fields)
    if not (0 < month < 13 and 0 < day <= _days(year, month) and hour < 24 and minute < 60 and second < 60):
        return None
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719162
    days += sum(_days(year, earlier) for earlier in range(1, month)) + day - 1
    seconds = ((days * 24 + hour) * 60 + minute - zone) * 60 + second
    if not _YEAR_0 <= seconds < _YEAR_10000:  # by its zone alone; it could not be written back in this form
        return None
    return seconds * 1000 + int((fraction + "000")[:3])


def _days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _zone(clock: str) -> tuple[str, int | None]:
    """A time of day without its zone, and the zone in minutes east of Greenwich, None where it is not one."""
    if clock.endswith("Z"):
        return clock[:-1], 0
    sign, offset = clock[-6:-5], clock[-5:]
    hours, colon, minutes = offset[:2], offset[2:3], offset[3:]
    good = sign in ("+", "-") and colon == ":" and (hours + minutes).isascii() and (hours + minutes).isdigit()
    if not good or int(hours) > 23 or int(minutes) > 59:
        return clock, None
    east = int(hours) * 60 + int(minutes)
    return clock[:-6], -east if sign == "-" else east


def _look(path: str, read: Callable[[int, int], Rows]) -> Rows:
    try:
        fd, size = open_file(path)
    except FileNotFoundError:
        return Rows(absent=True)
    except (OSError, ValueError) as error:
        return Rows(problem=_worded(path, error))
    try:
        return read(fd, size)
    except OSError as error:
        return Rows(problem=_worded(path, error))
    finally:
        os.close(fd)


def _worded(path: str, error: Exception) -> str:
    return f"{path} can not be read: {getattr(error, 'strerror', None) or error}"


def _tail(fd: int, size: int, limit: int, pread: Pread) -> Rows:
    start, data = tail_lines(fd, size, limit, pread)
    return _rows(data, start, more=False, rewritten=False)


def _since(fd: int, size: int, offset: int, limit: int, pread: Pread) -> Rows:
    rewritten = offset > 0 and pread(fd, 1, offset - 1) != b"\n"  # beyond the end there is nothing
    if rewritten:
        offset = 0
    stop = min(size, offset + limit)
    data = _read(fd, offset, stop, pread)
    whole = data.rfind(b"\n") + 1
    if whole or stop == size:
        return _rows(data[:whole], offset, more=stop < size, rewritten=rewritten)
    end = _after_newline(fd, stop, size, pread)
    if end is None:
        return Rows(start=offset, end=offset, rewritten=rewritten)
    return Rows(start=offset, end=end, more=end < size, rewritten=rewritten, damaged=1)


def _line_in(fd: int, at: int, size: int, pread: Pread) -> int:
    """The offset of the first line that begins behind `at`; the end where none does."""
    if at <= 0:
        return 0
    found = _after_newline(fd, at, size, pread, _PEEK)
    return size if found is None else found


def _after_newline(fd: int, start: int, size: int, pread: Pread, step: int = _BLOCK) -> int | None:
    while start < size:
        block = pread(fd, min(step, size - start), start)
        if not block:
            return None
        at = block.find(b"\n")
        if at >= 0:
            return start + at + 1
        start += len(block)
    return None


def _rows(data: bytes, start: int, *, more: bool, rewritten: bool) -> Rows:
    rows = []
    damaged = 0
    for at, value in objects(data):
        if value is None:
            damaged += 1
        else:
            rows.append(Row(value, start + at))
    return Rows(tuple(rows), start=start, end=start + len(data), more=more, rewritten=rewritten, damaged=damaged)


def _read(fd: int, start: int, stop: int, pread: Pread) -> bytes:
    parts = []
    while start < stop and (part := pread(fd, min(_BLOCK, stop - start), start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)
