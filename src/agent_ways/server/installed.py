"""Which version is installed now, as opposed to the one that runs.

Owns one question, answered from the file that the client would start next. Must not know how it got there.
"""

from __future__ import annotations

import os
import zipimport

from agent_ways.base.errors import StateError
from agent_ways.base.records import read_record

MARK = "__version__ = "
MANIFEST = "release.json"
SOURCE = os.path.join("agent_ways", "__init__.py")


def version(launched: str) -> str | None:
    """The version behind the path that this server was started by; None where it can not be told.

    The path is usually a link that an update flips. What it leads to is a launcher beside its archive, an archive
    itself, a file in the package, or a frozen program beside its manifest.
    """
    path = os.path.realpath(launched)
    text = _in_archive(f"{path}.pyz") or _in_archive(path) or _beside(path)
    if not text:
        return _released(os.path.dirname(path))
    for line in text.splitlines():
        if line.startswith(MARK):
            return line.removeprefix(MARK).strip(" \"'") or None
    return None


def _released(folder: str) -> str | None:
    """The frozen form holds no source: the manifest of its release says the version."""
    try:
        record = read_record(os.path.join(folder, MANIFEST), 1)
    except StateError:
        return None
    found = record.get("version") if record else None
    return found if isinstance(found, str) else None


def _in_archive(path: str) -> str:
    try:
        data = zipimport.zipimporter(path).get_data(os.path.join(path, SOURCE))
    except (ImportError, OSError):
        return ""
    return data.decode("utf-8", "replace")


def _beside(path: str) -> str:
    """The package that a start by `-m` or from a checkout runs: argv[0] is then a file in it."""
    folder = os.path.dirname(path)
    while os.path.basename(folder) not in ("agent_ways", ""):
        folder = os.path.dirname(folder)
    try:
        with open(os.path.join(os.path.dirname(folder), SOURCE), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
