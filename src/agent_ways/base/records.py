"""Records of ours on disk: one JSON object with a version, replaced whole or not at all.

Owns reading and writing them. Must not know any record's fields beyond `v`. Who may write when is the
caller's lock (`base/locks.py`); unknown keys survive because a caller changes the object it read.
"""

from __future__ import annotations

import os

from agent_ways.base.errors import DamagedRecordError, NewerRecordError, state_error
from agent_ways.base.jsontext import NotJSONError, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DIR_MODE = 0o700
FILE_MODE = 0o600
LONGEST = 16 << 20
"""Bytes above which a file can not be a record of ours."""


def make_dirs(path: str) -> None:
    """Make `path` and what is missing above it, private to the user whatever the umask.

    Safe with any number of processes doing the same. Directories that are there keep their mode.
    """
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent != path:
        make_dirs(parent)
    try:
        os.mkdir(path, DIR_MODE)
        os.chmod(path, DIR_MODE)
    except FileExistsError:
        if not os.path.isdir(path):
            raise state_error("use as a directory", path, NotADirectoryError(20, "Not a directory")) from None
    except OSError as error:
        raise state_error("make", path, error) from None


def read_record(path: str, version: int) -> dict[str, Any] | None:
    """The record at `path`, or None where there is none.

    Raises `DamagedRecordError` for what is no record, `NewerRecordError` for one of a later version than
    `version`, `StateError` where it can not be read.
    """
    try:
        # O_NONBLOCK: a FIFO with a record's name must not hold us.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise state_error("read", path, error) from None
    try:
        data = os.read(fd, LONGEST)
        while len(data) < LONGEST and (more := os.read(fd, LONGEST - len(data))):
            data += more
    except OSError as error:
        raise state_error("read", path, error) from None
    finally:
        os.close(fd)
    return parse_record(data, path, version)


def parse_record(data: bytes, path: str, version: int) -> dict[str, Any]:
    """The record that `data` holds; `path` is for the error's words only."""
    try:
        value = loads(data.decode("utf-8"))
    except (NotJSONError, UnicodeDecodeError) as error:
        raise DamagedRecordError(f"{path} is damaged: {error}", "Move it aside; a new one is made.") from None
    found = value.get("v") if isinstance(value, dict) else None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise DamagedRecordError(f"{path} is no record of ours: it has no version", "Move it aside.")
    if found > version:
        raise NewerRecordError(
            f"{path} was written by a newer agent-ways (format {found}, this one knows {version})",
            "Update this agent-ways: ways update",
        )
    record: dict[str, Any] = value
    return record


def write_record(path: str, record: dict[str, Any], *, lasting: bool = True) -> None:
    """Replace the record at `path`: temporary name, flush, rename, flush of the directory.

    After an error or a kill at any moment, the old record or the new one is there, whole. What need not last over a
    power cut (not `lasting`) is not flushed.
    """
    write_bytes(path, dumps(record).encode("ascii") + b"\n", lasting=lasting)


def write_bytes(path: str, data: bytes, mode: int = FILE_MODE, *, lasting: bool = True) -> None:
    """`write_record` for any content."""
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            os.fchmod(fd, mode)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if lasting:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, path)
    except BaseException as error:  # also a ^C
        remove(temporary)
        if isinstance(error, OSError):
            raise state_error("write", path, error) from None
        raise
    if lasting:
        sync_dir(folder)


def sync_dir(folder: str) -> None:
    """Make the renames in `folder` last over a power cut, where the file system can."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        pass  # some network file systems refuse; the rename itself has happened
    finally:
        os.close(fd)


def remove(path: str) -> None:
    """Take a file away; that it is gone already is no error, and one that can not go is left."""
    try:
        os.unlink(path)
    except OSError:
        pass
