"""Changes on disk that leave nothing behind when they fail.

Owns making private folders and empty files whatever the umask, listing, and `Undo`, which takes back what one change
has made so far. Must not know what the files mean. Raises OSError, which callers word, where it does not say otherwise.
"""

from __future__ import annotations

import errno
import os

from agent_ways.base.errors import StateError, state_error
from agent_ways.base.records import DIR_MODE, FILE_MODE, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EINTR)
"""What says something about this process or machine, and nothing about a file."""


class Undo:
    """What a change has made, newest last, so that a failure can take it away again."""

    __slots__ = ("_files", "_folders")

    def __init__(self) -> None:
        self._files: Final[list[str]] = []
        self._folders: Final[list[str]] = []

    def file(self, path: str) -> None:
        """Remember a file that was made."""
        self._files.append(path)

    def folders(self, path: str) -> None:
        """Make `path` and what is missing above it, and remember what was missing."""
        self._folders.extend(make_folders(path))

    def run(self) -> None:
        """Take it all away. A folder that others have put something in stays."""
        for path in reversed(self._files):
            forget(path)
        remove_folders(self._folders)


def make_folders(path: str) -> list[str]:
    """Make `path` and what is missing above it, private whatever the umask; answers what was made, outermost first.

    Safe with any number of processes: the mode is right from the first moment, so nobody meets a closed folder.
    """
    made: list[str] = []
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    before = os.umask(0o077)
    try:
        for folder in reversed(missing):
            try:
                os.mkdir(folder, DIR_MODE)
                made.append(folder)
            except FileExistsError:
                if not os.path.isdir(folder):
                    raise
    except OSError:
        remove_folders(made)
        raise
    finally:
        os.umask(before)
    return made


def put_record(path: str, record: dict[str, Any]) -> None:
    """`write_record`, making the folder where it is missing; a failure takes that away again. Raises `StateError`."""
    above = os.path.dirname(path)
    try:
        made = make_folders(above)
    except OSError as error:
        raise state_error("make", above, error) from None
    try:
        write_record(path, record)
    except StateError:
        remove_folders(made)
        raise


def remove_folders(paths: list[str]) -> None:
    """Remove folders, innermost first as they were made. One that others have put something in stays."""
    for path in reversed(paths):
        try:
            os.rmdir(path)
        except OSError:
            pass


def open_private(path: str, flags: int) -> int:
    """A descriptor on the file at `path`, which is ours alone where this makes it; its folder is made where missing."""
    before = os.umask(0o077)
    try:
        return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
        make_folders(os.path.dirname(path))
        return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
    finally:
        os.umask(before)


def touch(path: str) -> bool:
    """Make an empty file; False where one is there."""
    try:
        os.close(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def ring(path: str) -> None:
    """Let those who watch the folder of `path` know, by closing that file after writing; it may have gone."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError:
        pass


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data` and flush it."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.fsync(fd)


def forget(path: str) -> None:
    """Take a file away if it can be."""
    try:
        os.unlink(path)
    except OSError:
        pass


def names(path: str) -> list[str]:
    """The names in a folder, sorted; none where there is no such folder.

    Raises `StateError` where it can not be listed: nobody may take that for an empty one.
    """
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise state_error("list", path, error) from None


def about_us(error: OSError | StateError) -> bool:
    """Whether an error says something about this process (too many open files), and nothing about the file."""
    cause = error.__context__ if isinstance(error, StateError) else error
    return isinstance(cause, OSError) and cause.errno in _OURS
