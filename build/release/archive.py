"""Archives of a release: one folder with a manifest, the same bytes from the same files.

Owns the writer. What it writes, `agent_ways.ways.update.payload` reads.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import TYPE_CHECKING

from agent_ways.ways.update.names import folder_name, parse_version
from agent_ways.ways.update.payload import MANIFEST, About

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EPOCH = 315532800
"""1980, as in the zipapps."""


class ArchiveError(Exception):
    """The files do not make an archive."""


def write(files: Path, about: About, output: Path) -> None:
    """Pack the folder `files`, and a manifest, as `output`: sorted, one date, one owner, two modes."""
    version = parse_version(about.version)
    if version is None:
        raise ArchiveError(f"{about.version} is no version of a release")
    top = folder_name(version, about.platform)
    output.parent.mkdir(parents=True, exist_ok=True)
    with (
        open(output, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=EPOCH) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as out,
    ):
        out.addfile(_member(top, tarfile.DIRTYPE, 0o755))
        manifest = json.dumps(about.to_json(), sort_keys=True, indent=1).encode() + b"\n"
        for name, path in _entries(files):
            if path is None:
                out.addfile(_member(f"{top}/{MANIFEST}", tarfile.REGTYPE, 0o644, len(manifest)), io.BytesIO(manifest))
            elif path.is_symlink():
                link = _member(f"{top}/{name}", tarfile.SYMTYPE, 0o777)
                link.linkname = str(path.readlink())
                out.addfile(link)
            elif path.is_dir():
                out.addfile(_member(f"{top}/{name}", tarfile.DIRTYPE, 0o755))
            else:
                data = path.read_bytes()
                mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                out.addfile(_member(f"{top}/{name}", tarfile.REGTYPE, mode, len(data)), io.BytesIO(data))


def _entries(files: Path) -> Iterator[tuple[str, Path | None]]:
    """What is to be packed, sorted; a folder comes before what is in it. None stands for the manifest."""
    found: dict[str, Path | None] = {path.relative_to(files).as_posix(): path for path in files.rglob("*")}
    if MANIFEST in found:
        raise ArchiveError(f"{files} holds a {MANIFEST} of its own")
    found[MANIFEST] = None
    return iter(sorted(found.items()))


def _member(name: str, kind: bytes, mode: int, size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.size, member.mtime = kind, mode, size, EPOCH
    return member
