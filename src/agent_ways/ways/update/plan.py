"""What is to be downloaded and how it is proven: decisions over values.

Owns the order of trust. A version whose checksums were reviewed into the checkout is proven by them; any other needs
a signature; `--sums-only` forgoes that, and is recorded. Must not download anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ways.ways.update import sums
from agent_ways.ways.update.errors import BundleMissingError, IdentityError, NoPrebuiltError, SumsMissingError
from agent_ways.ways.update.names import SOURCE, SUMS, archive_name, bundle_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_ways.ways.update.names import Version
    from agent_ways.ways.update.platforms import Choice
    from agent_ways.ways.update.releases import Asset, Release

CHECKSUMS = "checksums"
"""Proven by the checkout's reviewed checksums."""
SIGNATURE = "signature"
"""Proven by a signature bundle of the pinned workflow."""
SUMS_ONLY = "sums-only"
"""Whole, and of unknown origin: the operator said that this is enough."""
SUMS_ONLY_WORDS = "checksum alone (--sums-only): the download is whole; who made it was not verified"


@dataclass(frozen=True)
class Plan:
    """One asset to download. `digest` is what it must have, `bundle` its signature where that is to be verified."""

    version: Version
    platform: str
    asset: Asset
    digest: str
    proof: str
    bundle: Asset | None = None

    @property
    def is_source(self) -> bool:
        """Whether it is built from the released sources, for want of a prebuilt."""
        return self.platform == SOURCE

    @property
    def identifier(self) -> str:
        """The name of the version in the layout."""
        return f"{self.version}-{self.digest[:8]}"


def pick(release: Release, choice: Choice, *, source: bool = True) -> tuple[str, Asset]:
    """The platform and asset of a release for this machine: its prebuilt, else, where `source` may be, the sources."""
    asset = release.asset(archive_name(release.version, choice.platform)) if choice.platform else None
    if choice.platform and asset:
        return choice.platform, asset
    why = f"release {release.version} has no {choice.platform}" if choice.platform else choice.reason
    asset = release.asset(archive_name(release.version, SOURCE)) if source else None
    if asset is None:
        hint = "Build from source: git clone the repository, then make install"
        raise NoPrebuiltError(f"no prebuilt for this machine: {why}", hint)
    return SOURCE, asset


def sums_asset(release: Release) -> Asset:
    """The asset that holds the release's checksums; without it nothing is taken."""
    asset = release.asset(SUMS)
    if asset is None or asset.size > sums.LONGEST:
        hint = "Nothing was installed: without checksums no file is taken. Tell the maintainers."
        raise SumsMissingError(f"release {release.version} has no {SUMS}", hint)
    return asset


def prove(
    release: Release,
    picked: tuple[str, Asset],
    told: Mapping[str, str],
    known: Mapping[str, str],
    *,
    repository: str,
    sums_only: bool,
) -> Plan:
    """How the asset is to be proven. `told` are the release's checksums, `known` the checkout's of that version."""
    platform, asset = picked
    digest = sums.expected(told, asset.name)
    version = release.version
    if asset.name in known:
        sums.compare(f"{SUMS} of release {version}", known[asset.name], digest, against="the checkout's checksums/")
        return Plan(version, platform, asset, digest, CHECKSUMS)
    if sums_only:
        return Plan(version, platform, asset, digest, SUMS_ONLY)
    bundle = release.asset(bundle_name(asset.name))
    if bundle is None:
        hint = "Nothing was installed. Do not use this release; tell the maintainers."
        raise BundleMissingError(f"{asset.name} has no signature bundle", hint)
    if not repository:
        raise IdentityError(
            f"it is not known who must have signed {asset.name}",
            "Name the repository with AGENT_WAYS_REPOSITORY=owner/name.",
        )
    return Plan(version, platform, asset, digest, SIGNATURE, bundle)
