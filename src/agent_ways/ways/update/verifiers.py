"""The programs that can verify a signature: `sigstore`, else `cosign`.

Owns finding one and calling it. Both are called offline: with `sigstore`, under the trust root that it carries or has
fetched before, so that a verdict does not depend on the network. Must not decide what follows from a verdict.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ways.base import paths
from agent_ways.ways.update.bundles import ISSUER, Identity, refusal
from agent_ways.ways.update.errors import BundleRefusedError, NoVerifierError

if TYPE_CHECKING:
    from collections.abc import Mapping

TRUST = "AGENT_WAYS_TRUST_CONFIG"
"""Variable: a sigstore client trust config to go by instead of the public one; for tests and private releases."""
PATIENCE = 180.0
"""Seconds that a verifier may take."""


@dataclass(frozen=True)
class Verifier:
    """A program that verifies; `kind` is `sigstore` or `cosign`, `trust` a trust config or empty."""

    kind: str
    command: tuple[str, ...]
    trust: str = ""

    def words(self, asset: str, bundle: str, identity: Identity) -> list[str]:
        """The command line that verifies `asset` by `bundle`, with the whole identity pinned."""
        if self.kind == "cosign":
            return [
                *(*self.command, "verify-blob", "--offline", "--bundle", bundle),
                *(("--trusted-root", self.trust) if self.trust else ()),
                *("--certificate-identity", identity.subject),
                *("--certificate-oidc-issuer", ISSUER),
                *("--certificate-github-workflow-repository", identity.repository),
                *("--certificate-github-workflow-ref", identity.ref),
                asset,
            ]
        return [
            *self.command,
            *(("--trust-config", self.trust) if self.trust else ()),
            *("verify", "github", "--offline", "--bundle", bundle),
            *("--cert-identity", identity.subject),
            *("--repository", identity.repository),
            *("--ref", identity.ref),
            *("--trigger", identity.trigger),
            asset,
        ]

    def verify(self, asset: str, bundle: str, identity: Identity, env: Mapping[str, str]) -> None:
        """Raise `IdentityError` or `BundleRefusedError` unless the bundle proves that `identity` signed the asset."""
        clean = {name: value for name, value in env.items() if not name.startswith("PYTHON")}
        clean |= {"COLUMNS": "2000", "TERM": "dumb", "NO_COLOR": "1"}  # its words on one line
        try:
            ran = subprocess.run(
                self.words(asset, bundle, identity),
                env=clean,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise BundleRefusedError(f"{self.command[0]} could not verify: {error}", _HOW) from None
        if ran.returncode != 0:
            raise refusal(os.path.basename(asset), ran.stderr + ran.stdout, identity)


_HOW = (
    "Get one:  pipx install sigstore   (or: uv tool install sigstore; in a checkout: make verifier)\n"
    "Or accept the checksum alone, which shows that the download is whole and not who made it:  --sums-only"
)


def tools_dir(env: Mapping[str, str]) -> str:
    """Where private environments of tools are kept: in the cache, they can be made again."""
    named = env.get("XDG_CACHE_HOME", "")
    cache = named if os.path.isabs(named) else os.path.join(paths.home(env), ".cache")
    return os.path.join(cache, paths.APP, "tools")


def find(env: Mapping[str, str]) -> Verifier | None:
    """The first verifier that is here: our own package's extra, one on PATH, the checkout's private one."""
    trust = env.get(TRUST, "")
    frozen = getattr(sys, "frozen", False)
    if not frozen and importlib.util.find_spec("sigstore") is not None:
        return Verifier("sigstore", (sys.executable, "-I", "-m", "sigstore"), trust)
    for kind in ("sigstore", "cosign"):
        path = shutil.which(kind, path=env.get("PATH", os.defpath))
        if path:
            return Verifier(kind, (path,), trust)
    # `ready` is written last into one: without it, its making was cut short.
    private = sorted(glob.glob(os.path.join(glob.escape(tools_dir(env)), "sigstore-*", "ready")))
    return (
        Verifier("sigstore", (os.path.join(os.path.dirname(private[-1]), "bin", "sigstore"),), trust)
        if private
        else None
    )


def need(env: Mapping[str, str], asset: str) -> Verifier:
    """A verifier, or `NoVerifierError` naming how to get one."""
    found = find(env)
    if found is None:
        raise NoVerifierError(f"{asset} is signed, and there is nothing here that can verify it", _HOW)
    return found
