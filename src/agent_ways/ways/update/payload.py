"""The archive of a release: what it must hold, and how it is unpacked.

Owns the manifest inside it, which says what was packed: a whole and signed archive of another platform, under this
one's name, is told by it. Nothing is written outside the folder that it is unpacked into. Must not know where that is.
"""

from __future__ import annotations

import json
import os
import tarfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ways.base.errors import state_error
from agent_ways.ways.update.errors import PayloadError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from agent_ways.ways.update.names import Version

MANIFEST = "release.json"
MOST_FILES = 20_000
MOST_BYTES = 512 << 20
_HINT = "Nothing was installed. Do not use this release; tell the maintainers what you saw."
_CHUNK = 256 << 10


@dataclass(frozen=True)
class About:
    """What an archive says of itself."""

    version: str
    platform: str
    commit: str = ""
    repository: str = ""

    def to_json(self) -> dict[str, object]:
        """The form in the manifest."""
        return {
            "v": 1,
            "version": self.version,
            "platform": self.platform,
            "commit": self.commit,
            "repository": self.repository,
        }


def unpack(archive: str, into: str, write: Callable[[int, memoryview], int] = os.write) -> None:
    """Unpack the one folder in `archive` as the content of `into`, which is there.

    Raises `PayloadError` for what does not belong in a release, `StateError` where the disk does not take it.
    """
    written = 0
    try:
        with tarfile.open(archive, "r:gz") as members:
            top, folders, seen = "", {""}, set()
            for number, member in enumerate(members):
                if number >= MOST_FILES:
                    raise PayloadError(f"{os.path.basename(archive)} holds too many files", _HINT)
                first, _, rest = member.name.partition("/")
                top = top or first
                written += member.size
                if written > MOST_BYTES:
                    raise PayloadError(f"{os.path.basename(archive)} unpacks to too many bytes", _HINT)
                # A folder that we made and no link: what lies in it can not land elsewhere.
                if first != top or not _is_safe(first) or (rest and not _is_safe(rest)) or _above(rest) not in folders:
                    raise PayloadError(f"{os.path.basename(archive)} holds an unsafe path: {member.name!a}", _HINT)
                if rest in seen:
                    raise PayloadError(f"{os.path.basename(archive)} holds {member.name!a} twice", _HINT)
                seen.add(rest)
                _put(members, member, into, rest, write)
                if member.isdir():
                    folders.add(rest)
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise PayloadError(f"{os.path.basename(archive)} is no archive: {error}", _HINT) from None
    except OSError as error:
        if isinstance(error, tarfile.ReadError) or error.errno is None:  # gzip's own complaints carry no number
            raise PayloadError(f"{os.path.basename(archive)} is no archive: {error}", _HINT) from None
        raise state_error("unpack into", into, error) from None


def _is_safe(path: str) -> bool:
    parts = path.split("/")
    return all(part not in ("", ".", "..") and part.isprintable() for part in parts)


def _put(
    members: tarfile.TarFile, member: tarfile.TarInfo, into: str, rest: str, write: Callable[[int, memoryview], int]
) -> None:
    path = os.path.join(into, rest) if rest else into
    if member.isdir():
        if rest:
            os.mkdir(path, 0o700)
        return
    if rest and member.issym() and _stays_inside(rest, member.linkname):
        os.symlink(member.linkname, path)
        return
    source = members.extractfile(member) if rest and member.isreg() else None
    if source is None:
        raise PayloadError(f"{member.name!a} in the archive is neither a file nor a folder", _HINT)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _copy(source, fd, write)
        os.fchmod(fd, 0o700 if member.mode & 0o100 else 0o600)
    finally:
        os.close(fd)


def _above(rest: str) -> str:
    return rest.rpartition("/")[0]


def _stays_inside(rest: str, target: str) -> bool:
    """Whether a link at `rest` leads to something in the folder.

    `..` may only lead: after a name that is itself a link it would lead anywhere.
    """
    up, down = 0, target.split("/")
    while down and down[0] == "..":
        up, down = up + 1, down[1:]
    return up <= rest.count("/") and bool(down) and _is_safe("/".join(down))


def _copy(source: IO[bytes], fd: int, write: Callable[[int, memoryview], int]) -> None:
    while part := source.read(_CHUNK):
        rest = memoryview(part)
        while rest:
            rest = rest[write(fd, rest) :]


def about(folder: str) -> About:
    """What an unpacked archive says of itself."""
    try:
        with open(os.path.join(folder, MANIFEST), "rb") as file:
            raw = json.loads(file.read(64 << 10))
    except (OSError, ValueError):
        raw = None
    fields = (
        {key: raw.get(key) for key in ("version", "platform", "commit", "repository")} if isinstance(raw, dict) else {}
    )
    if not all(isinstance(value, str) for value in fields.values()) or not fields:
        raise PayloadError(f"the archive has no {MANIFEST} that says what it is", _HINT)
    return About(**{key: str(value) for key, value in fields.items()})


def check(found: About, version: Version, platform: str) -> None:
    """Raise `PayloadError` where an archive is another one than its name says."""
    if (found.version, found.platform) != (str(version), platform):
        raise PayloadError(
            f"the archive named {version} for {platform} holds {found.version} for {found.platform}", _HINT
        )
