"""A bundle that the public service made, under the public trust root: the one thing a sigstore of our own can not show.

The wheel rfc8785 0.1.2 and its bundle, as sigstore-python keeps them among its test assets. AGENT_WAYS_PUBLIC_BUNDLE
names a folder that has both; else they are fetched.
"""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from agent_ways.ways.update.bundles import Identity
from agent_ways.ways.update.errors import BundleRefusedError, IdentityError
from agent_ways.ways.update.names import Version
from agent_ways.ways.update.verifiers import Verifier
from tests.release.conftest import tool

WHEEL = "bundle_v3_github.whl"
BUNDLE = f"{WHEEL}.sigstore"
WHERE = (
    "https://raw.githubusercontent.com/sigstore/sigstore-python/a966b3ef100331071c295764c3c9ce99055cc05f/test/assets/"
)
DIGESTS = {
    WHEEL: "c4e92e9ecc828bef2aa7dba1de8ac983511f7532a0df11c770d39099a25cf201",
    BUNDLE: "b49e7c6b452af421e5965321fc31e004d7554af3acd89f661f8c2f0f94c37e9d",
}


class Public(Identity):
    """Who really signed it."""

    @property
    def subject(self) -> str:
        return f"https://github.com/trailofbits/rfc8785.py/.github/workflows/release.yml@{self.ref}"

    @property
    def ref(self) -> str:
        return "refs/tags/v0.1.2"

    @property
    def trigger(self) -> str:
        return "release"


SIGNER = Public("trailofbits/rfc8785.py", Version(0, 1, 2))


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get("AGENT_WAYS_PUBLIC_BUNDLE")
    folder = Path(named) if named else tmp_path_factory.mktemp("public")
    for name, digest in DIGESTS.items():
        if not named:
            try:
                with urllib.request.urlopen(WHERE + name, timeout=30) as answer:  # noqa: S310 - a constant
                    (folder / name).write_bytes(answer.read())
            except (urllib.error.URLError, TimeoutError) as error:
                if os.environ.get("CI"):
                    raise
                pytest.skip(f"the public bundle can not be fetched here: {error}")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    return folder


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return Verifier("sigstore", (str(tool("sigstore") / "bin" / "sigstore"),))


@pytest.mark.demand("LIFE-2")
@pytest.mark.field_report(87)
def test_a_true_public_bundle_verifies_offline_from_an_empty_home(
    public: Path, verifier: Verifier, tmp_path: Path
) -> None:
    verifier.verify(
        str(public / WHEEL), str(public / BUNDLE), SIGNER, {"HOME": str(tmp_path), "https_proxy": "http://127.0.0.1:9"}
    )


@pytest.mark.demand("LIFE-2")
def test_its_tampered_twin_is_refused(public: Path, verifier: Verifier, tmp_path: Path) -> None:
    data = bytearray((public / WHEEL).read_bytes())
    data[len(data) // 2] ^= 1
    twin = tmp_path / WHEEL
    twin.write_bytes(data)
    with pytest.raises(BundleRefusedError):
        verifier.verify(str(twin), str(public / BUNDLE), SIGNER, {"HOME": str(tmp_path)})


@pytest.mark.demand("LIFE-2")
def test_it_is_no_release_of_ours(public: Path, verifier: Verifier, tmp_path: Path) -> None:
    ours = Identity("trailofbits/rfc8785.py", Version(0, 1, 2))
    with pytest.raises(IdentityError):
        verifier.verify(str(public / WHEEL), str(public / BUNDLE), ours, {"HOME": str(tmp_path)})
