"""One asset, downloaded into a private folder and proven.

Owns the order: size, checksum, signature, and only then is anything unpacked; what does not hold is removed. Used by
`ways update` and by `make ways-mcp`. Must not know a layout.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ways.base.errors import state_error
from agent_ways.base.records import remove
from agent_ways.ways.update import bundles, payload, plan, releases, sums, verifiers
from agent_ways.ways.update.errors import BundleMissingError, CutShortError, SumsMissingError
from agent_ways.ways.update.names import SUMS
from agent_ways.ways.update.web import NotThereError, Web

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_ways.ways.update.names import Version
    from agent_ways.ways.update.origin import Origin
    from agent_ways.ways.update.plan import Plan
    from agent_ways.ways.update.platforms import Choice
    from agent_ways.ways.update.releases import Asset


def _nothing(*_: object) -> None:
    """The step and progress of whoever does not ask."""


@dataclass(frozen=True)
class Edges:
    """What a download acts through. `step` is told the name of each step before it begins."""

    web: Callable[[frozenset[str]], Web] = Web
    step: Callable[[str], None] = _nothing
    progress: Callable[[int, int], None] = _nothing
    write: Callable[[int, memoryview], int] = os.write


@dataclass(frozen=True)
class Source:
    """Where from, and what is known beforehand: `checksums` is the checkout's folder of them, or empty."""

    origin: Origin
    choice: Choice
    checksums: str = ""
    sums_only: bool = False


class Fetcher:
    """Decides on and brings one asset, within one allowance of time."""

    def __init__(self, source: Source, edges: Edges, env: Mapping[str, str]) -> None:
        self._source, self._edges, self._env = source, edges, env
        self._web = edges.web(source.origin.hosts)
        self._page = source.origin.page(1)

    def decide(self, wanted: Version | None, enough: Callable[[Version], bool] | None = None) -> Plan | Version:
        """The plan for the version wanted, or the newest; that version alone where `enough` says it will do."""
        source = self._source
        self._edges.step("list")
        release = releases.choose(releases.listed(self._web, source.origin), wanted)
        if enough and enough(release.version):
            return release.version
        picked = plan.pick(release, source.choice)
        self._edges.step("sums")
        asset = plan.sums_asset(release)
        try:
            data = self._web.get(self._web.join(self._page, asset.url), sums.LONGEST)
        except NotThereError:
            raise SumsMissingError(f"{SUMS} of release {release.version} is listed and not there", _GONE) from None
        known = sums.known(source.checksums, release.version) if source.checksums else {}
        repository, only = source.origin.repository, source.sums_only
        return plan.prove(release, picked, sums.parse(data), known, repository=repository, sums_only=only)

    def bring(self, todo: Plan, folder: str) -> dict[str, object]:
        """Download, prove and unpack into `folder`, which is there and empty. Returns what proved it."""
        # Asked for before megabytes are downloaded in vain.
        verifier = verifiers.need(self._env, todo.asset.name) if todo.bundle else None
        archive = os.path.join(folder, f".{todo.asset.name}")
        bundle = archive + ".bundle"
        try:
            self._edges.step("download")
            digest = self._download(todo.asset, archive)
            self._edges.step("verify")
            sums.compare(todo.asset.name, todo.digest, digest, against=SUMS)
            proof: dict[str, object] = {"how": todo.proof}
            if todo.bundle and verifier:
                data = self._bundle(todo.bundle, todo.asset.name)
                bundles.check_subject(data, digest, todo.asset.name)
                self._put(bundle, data)
                identity = bundles.Identity(self._source.origin.repository, todo.version)
                verifier.verify(archive, bundle, identity, self._env)
                proof |= {"by": verifier.kind, "identity": identity.subject, "trust": verifier.trust or None}
            self._edges.step("unpack")
            payload.unpack(archive, folder, self._edges.write)
            payload.check(payload.about(folder), todo.version, todo.platform)
        finally:
            remove(archive)
            remove(bundle)
        return proof

    def _bundle(self, bundle: Asset, asset: str) -> bytes:
        try:
            return self._web.get(self._web.join(self._page, bundle.url), bundles.LONGEST)
        except NotThereError:
            raise BundleMissingError(f"the signature bundle of {asset} is listed and not there", _GONE) from None

    def _download(self, asset: Asset, path: str) -> str:
        url = self._web.join(self._page, asset.url)
        digest = hashlib.sha256()
        fd = _create(path)

        def take(part: bytes) -> None:
            digest.update(part)
            self._write(fd, part, path)

        try:
            self._web.save(url, take, asset.size, self._edges.progress)
        except NotThereError:
            raise CutShortError(f"{asset.name} is listed and not there", _GONE) from None
        finally:
            os.close(fd)
        return digest.hexdigest()

    def _put(self, path: str, data: bytes) -> None:
        fd = _create(path)
        try:
            self._write(fd, data, path)
        finally:
            os.close(fd)

    def _write(self, fd: int, data: bytes, path: str) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._edges.write(fd, rest) :]
        except OSError as error:
            raise state_error("write", path, error) from None


_GONE = "Nothing was installed. Run it again; if it stays so, tell the maintainers."


def _create(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise state_error("write", path, error) from None
