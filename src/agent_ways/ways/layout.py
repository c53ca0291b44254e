"""Where an installed agent-ways lies, and who owns what there.

Owns the names below the data dir: versions side by side, the link `current` to one of them, the ledger, the lock.
Must not know how a version is built, nor any config dir of Claude Code.

    <data>/versions/0.1.0-1a2b3c4d/{ways,attend,ways-mcp,ways-mcp.pyz,attend.pyz,venv/,projected,version.json}
    <data>/current -> versions/0.1.0-1a2b3c4d
    <bin>/ways -> <data>/current/ways              likewise attend and ways-mcp
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ways.base import paths
from agent_ways.base.errors import RefusedError, state_error

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS = ("ways", "attend", "ways-mcp")
"""What is linked onto PATH."""
PROJECTED = "projected"
"""In each version: what is linked into config dirs, the skills and hooks."""
COMPLETE = "version.json"
"""Written last into a version: without it, its making was cut short."""

_ID = re.compile(r"(?P<version>[0-9][0-9A-Za-z.+]*)-[0-9a-f]{8}")


@dataclass(frozen=True)
class Layout:
    """The places of one person's installation."""

    data: str
    bin: str

    @property
    def versions(self) -> str:
        """The folder of the versions."""
        return os.path.join(self.data, "versions")

    @property
    def current(self) -> str:
        """The link to the version that is in force."""
        return os.path.join(self.data, "current")

    @property
    def ledger(self) -> str:
        """The record of what was made outside the data dir."""
        return os.path.join(self.data, "ledger.json")

    @property
    def lock(self) -> str:
        """Held by whoever changes the installation."""
        return os.path.join(self.data, "lock")

    def command(self, name: str) -> str:
        """What a link to a command leads to; the same whichever version is in force."""
        return os.path.join(self.current, name)

    @property
    def projected(self) -> str:
        """The folder of what is linked into config dirs; the same whichever version is in force."""
        return os.path.join(self.current, PROJECTED)

    def version(self, identifier: str) -> str:
        """The folder of one version."""
        return os.path.join(self.versions, identifier)

    def installed(self) -> str | None:
        """The identifier of the version in force, or None where none is."""
        try:
            folder, _, identifier = os.readlink(self.current).rpartition("/")
        except OSError:
            return None
        return identifier if folder == "versions" and self.is_complete(identifier) else None

    def is_complete(self, identifier: str) -> bool:
        """Whether a version is there whole."""
        return version_of(identifier) is not None and os.path.isfile(os.path.join(self.version(identifier), COMPLETE))

    def on_disk(self) -> list[str]:
        """The identifiers of all versions that are there, whole or not."""
        try:
            names = os.listdir(self.versions)
        except OSError:
            return []
        return sorted(name for name in names if version_of(name) is not None)

    def put_in_force(self, identifier: str) -> bool:
        """Flip `current` to a version, in one step; False where it was there already."""
        target = f"versions/{identifier}"
        if os.path.islink(self.current) and os.readlink(self.current) == target:
            return False
        if os.path.lexists(self.current) and not os.path.islink(self.current):
            raise RefusedError(f"{self.current} is no link of ours", "Move it aside, then run it again.")
        flip_link(self.current, target)
        return True

    def remove(self) -> list[str]:
        """Take away all that is ours in the data dir; returns what stays there because it is not."""
        for path in (self.current, self.ledger, self.lock):
            if os.path.islink(path) or os.path.isfile(path):
                os.unlink(path)
        if not os.path.islink(self.versions):
            for name in self.on_disk():
                path = self.version(name)
                if os.path.islink(path):
                    os.unlink(path)
                else:
                    shutil.rmtree(path, ignore_errors=True)
        left = []
        for folder in (self.versions, self.data):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                left.append(folder)
        return left[-1:]


def layout_of(env: Mapping[str, str]) -> Layout:
    """The places that an environment names."""
    return Layout(data=paths.data_dir(env), bin=paths.bin_dir(env))


def version_of(identifier: str) -> str | None:
    """The version in a version's identifier; None for a name that is none."""
    match = _ID.fullmatch(identifier)
    return match["version"] if match else None


def flip_link(path: str, target: str) -> None:
    """Make the link `path` lead to `target` in one step: whoever looks sees the old one or the new one."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        os.symlink(target, temporary)
        os.replace(temporary, path)
    except OSError as error:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise state_error("link", path, error) from None
