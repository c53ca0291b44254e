"""The names of a release: versions, tags, assets.

Owns how each is written and read. The release workflow, `make cut-release` and `ways update` all go by this module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

COMPONENT = "ways-mcp"
"""What a release is called after; its assets carry all three commands."""
SUMS = "SHA256SUMS"
BUNDLE = ".sigstore.json"
SOURCE = "source"
"""Stands for the platform in the name of the archive of sources."""

_VERSION = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})", re.ASCII)


@dataclass(frozen=True, order=True)
class Version:
    """A released version, X.Y.Z; ordered as releases are."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def tag(self) -> str:
        """The git tag of its release."""
        return f"{COMPONENT}-v{self}"


def parse_version(text: str) -> Version | None:
    """The version that `text` is, exactly; None for anything else, a pre-release included."""
    match = _VERSION.fullmatch(text)
    return Version(*map(int, match.groups())) if match else None


def parse_tag(tag: str) -> Version | None:
    """The version whose tag `tag` is; None for a tag of something else."""
    prefix = f"{COMPONENT}-v"
    return parse_version(tag.removeprefix(prefix)) if tag.startswith(prefix) else None


def folder_name(version: Version, platform: str) -> str:
    """The one folder in an archive."""
    return f"{COMPONENT}-{version}-{platform}"


def archive_name(version: Version, platform: str) -> str:
    """The archive of all three commands for a platform, or of the sources."""
    return f"{folder_name(version, platform)}.tar.gz"


def zipapp_name(version: Version, command: str) -> str:
    """One command as a single file for any Python from 3.11 on."""
    return f"{command}-{version}.pyz"


def bundle_name(asset: str) -> str:
    """The signature bundle beside an asset."""
    return asset + BUNDLE
