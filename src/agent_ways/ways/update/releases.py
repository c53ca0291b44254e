"""The list of releases on a server, as values.

Owns reading it: only published releases of our component count, whatever else the repository releases. Must not choose
a platform nor judge a file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_ways.ways.update.errors import NoReleaseError, ServerDownError
from agent_ways.ways.update.names import Version, parse_tag
from agent_ways.ways.update.web import NotThereError

if TYPE_CHECKING:
    from agent_ways.ways.update.origin import Origin
    from agent_ways.ways.update.web import Web

PAGES = 20
"""Pages of a hundred that are read at most."""
PAGE_BYTES = 8 << 20
ASSET_BYTES = 256 << 20
"""Bytes that one asset may have at most."""


@dataclass(frozen=True)
class Asset:
    """One file of a release."""

    name: str
    url: str
    size: int


@dataclass(frozen=True)
class Release:
    """One published release."""

    version: Version
    assets: tuple[Asset, ...]

    def asset(self, name: str) -> Asset | None:
        """The asset of exactly that name."""
        return next((asset for asset in self.assets if asset.name == name), None)


def listed(web: Web, origin: Origin) -> list[Release]:
    """All published releases, newest first. Raises `NoReleaseError` where there is none."""
    found: dict[Version, Release] = {}
    for number in range(1, PAGES + 1):
        url = origin.page(number)
        try:
            data = web.get(url, PAGE_BYTES)
        except NotThereError:
            raise NoReleaseError(
                f"there is no list of releases at {origin.base}: the repository is not there, or not public",
                "Nothing was changed. AGENT_WAYS_REPOSITORY=owner/name names another one.",
            ) from None
        entries = parse_page(data, origin.base)
        for release in (release_of(entry) for entry in entries):
            if release is not None:
                # Assets of the first that is listed: a second release of one tag is none of ours.
                found.setdefault(release.version, release)
        if len(entries) < 100:
            break
    if not found:
        raise NoReleaseError(f"{origin.base} has no release yet", "Build from source: in a checkout, make install")
    return [found[version] for version in sorted(found, reverse=True)]


def parse_page(data: bytes, base: str) -> list[Any]:
    """The entries of one page, unjudged."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raw = None
    if not isinstance(raw, list):
        hint = "A network that asks for a login answers like this: log in, then run it again."
        raise ServerDownError(f"{base} did not answer with a list of releases", hint)
    return raw


def release_of(raw: object) -> Release | None:
    """The release that an entry of the list is; None for drafts, pre-releases and what is no release of ours."""
    if not isinstance(raw, dict) or raw.get("draft") is not False or raw.get("prerelease") is not False:
        return None
    tag, entries = raw.get("tag_name"), raw.get("assets")
    version = parse_tag(tag) if isinstance(tag, str) else None
    if version is None or not isinstance(entries, list):
        return None
    return Release(version, tuple(asset for asset in map(_asset, entries) if asset is not None))


def _asset(raw: object) -> Asset | None:
    if not isinstance(raw, dict) or raw.get("state", "uploaded") != "uploaded":
        return None
    name, url, size = raw.get("name"), raw.get("browser_download_url"), raw.get("size")
    if not isinstance(name, str) or not isinstance(url, str) or not isinstance(size, int) or isinstance(size, bool):
        return None
    return Asset(name, url, size) if 0 < size <= ASSET_BYTES else None


def choose(releases: list[Release], wanted: Version | None) -> Release:
    """The release that was asked for, or the newest."""
    if wanted is None:
        return releases[0]
    for release in releases:
        if release.version == wanted:
            return release
    there = ", ".join(str(release.version) for release in releases[:5])
    raise NoReleaseError(f"there is no release {wanted}", f"There are: {there}{', ...' if len(releases) > 5 else ''}")
