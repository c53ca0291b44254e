"""The edge of a settings.json: read, backed up, replaced in one step, read again, put back if that was not it.

Owns what may be done to the file: a symbolic link stays one and what it leads to is written; what is read-only
(home-manager and its like) is somebody else's to change. Must not know what the text means.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from agent_ways.base.errors import RefusedError, StateError, state_error
from agent_ways.base.records import FILE_MODE, make_dirs, remove, sync_dir, write_bytes
from agent_ways.ways.settings.jsonedit import BOM

LONGEST = 16 << 20
"""Bytes above which a file is no settings.json."""


class ChangedError(StateError):
    """Somebody else wrote the file meanwhile; nothing of theirs was touched. Look at it again."""

    code = "changed-meanwhile"


@dataclass(frozen=True)
class Seen:
    """A settings.json as it was read: `text` is None where there is none.

    `trouble` says why it can not be read. `managed` says why it is not ours to write; empty where it is. `real` is the
    file itself, behind all links.
    """

    path: str
    real: str
    text: str | None = None
    stamp: tuple[int, int, int] | None = None
    mode: int = FILE_MODE
    trouble: str = ""
    managed: str = ""

    @property
    def linked(self) -> bool:
        """Whether the name is a link, or lies behind one, to a file elsewhere."""
        return os.path.islink(self.path)


def look(path: str) -> Seen:
    """Read it; never raises for what stands there."""
    real = os.path.realpath(path)
    try:
        # O_NONBLOCK: a FIFO with that name must not hold us.
        fd = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        trouble = f"is a link to {real}, which is not there" if os.path.islink(path) else ""
        return Seen(path, real, trouble=trouble)
    except OSError as error:
        return Seen(path, real, trouble=f"can not be read: {error.strerror}")
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST:
            return Seen(path, real, trouble="is no file, or a very large one")
        data = b""
        while part := os.read(fd, 1 << 20):
            data += part
        text = data.decode("utf-8")
    except OSError as error:
        return Seen(path, real, trouble=f"can not be read: {error.strerror}")
    except UnicodeDecodeError:
        return Seen(path, real, trouble="is not UTF-8")
    finally:
        os.close(fd)
    return Seen(path, real, text, _stamp(found), stat.S_IMODE(found.st_mode), managed=_managed(real, found.st_mode))


def write(seen: Seen, text: str | None, backup: str) -> None:
    """Put `text` in the place of what was seen; None takes the file away. What was there is kept at `backup`.

    Raises `ChangedError` where the file is not as it was seen, `StateError` where it could not be written (it is
    then as it was).
    """
    if seen.managed:
        raise RefusedError(f"{seen.path} {seen.managed}")
    if seen.text is not None:
        make_dirs(os.path.dirname(backup))
        write_bytes(backup, seen.text.encode("utf-8"))
    _unchanged(seen)
    if text is None:
        _unlink(seen.real)
    else:
        write_bytes(seen.real, text.encode("utf-8"), seen.mode)
    after = look(seen.path)
    if after.text == text and not after.trouble:
        return
    if after.text is not None and after.text != seen.text and _whole(after.text):
        raise ChangedError(f"{seen.path} was written by somebody else at the same time", "Run it again.")
    restore(seen)
    raise StateError(f"{seen.path} did not read back as it was written; it is as it was before", "Look at that disk.")


def restore(seen: Seen) -> None:
    """Make the file what it was when it was seen."""
    if seen.text is None:
        remove(seen.real)
    else:
        write_bytes(seen.real, seen.text.encode("utf-8"), seen.mode)


def _whole(text: str) -> bool:
    from agent_ways.base.jsontext import NotJSONError, loads

    try:
        loads(text.removeprefix(BOM))
    except NotJSONError:
        return False
    return True


def _unchanged(seen: Seen) -> None:
    try:
        stamp: tuple[int, int, int] | None = _stamp(os.stat(seen.real))
    except FileNotFoundError:
        stamp = None
    except OSError as error:
        raise state_error("read", seen.real, error) from None
    if stamp != seen.stamp:
        raise ChangedError(f"{seen.path} was written by somebody else at the same time", "Run it again.")


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        raise state_error("remove", path, error) from None
    sync_dir(os.path.dirname(path))


def _managed(real: str, mode: int) -> str:
    """Why a file is not ours to write. Root may write everything, so the mode is asked as well."""
    if mode & 0o222 and os.access(real, os.W_OK) and os.access(os.path.dirname(real), os.W_OK):
        return ""
    return "is read-only" + (f" ({real})" if real.startswith("/nix/") else "")


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return (found.st_mtime_ns, found.st_size, found.st_ino)
