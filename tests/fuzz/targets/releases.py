"""What a release server sends (LIFE-2, LIFE-6): the list of releases, checksums, bundles, the manifest, versions."""

from __future__ import annotations

import base64
import json
import os
import tempfile

from hypothesis import strategies as st

from agent_ways.ways.update import bundles, payload, releases, sums
from agent_ways.ways.update.errors import BundleRefusedError, PayloadError, ServerDownError, SumsMalformedError
from agent_ways.ways.update.names import Version, parse_tag, parse_version
from tests.fuzz.shapes import joined, near, text_of
from tests.fuzz.target import Pump, Target

DIGEST = "ab" * 32
ASSET = "ways-mcp-1.2.3-linux-x86_64.tar.gz"
RELEASE = {
    "tag_name": "ways-mcp-v1.2.3",
    "draft": False,
    "prerelease": False,
    "assets": [{"name": ASSET, "browser_download_url": f"https://example.org/{ASSET}", "size": 1000, "state": "uploaded"}],
}  # fmt: skip
BUNDLE = {
    "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
    "messageSignature": {
        "messageDigest": {"algorithm": "SHA2_256", "digest": base64.b64encode(bytes.fromhex(DIGEST)).decode()}
    },
}
MANIFEST = {"v": 1, "version": "1.2.3", "platform": "linux-x86_64", "commit": "c" * 40, "repository": "o/n"}
FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-releases-")


def check(data: bytes) -> None:
    _sums(data)
    _list(data)
    _bundle(data)
    _manifest(data)
    text = data.decode("utf-8", "replace")
    version = parse_version(text)
    assert version is None or str(version) == text
    tagged = parse_tag(text)
    assert tagged is None or tagged.tag == text
    refusal = bundles.refusal(ASSET, text, bundles.Identity("o/n", Version(1, 2, 3)))
    assert len(refusal.message) <= 1_000


def _sums(data: bytes) -> None:
    try:
        found = sums.parse(data)
    except SumsMalformedError as error:
        assert error.hint
        return
    assert sums.parse(sums.render(found).encode()) == found
    lines = [line for line in data.split(b"\n") if line]
    assert len(found) == len(lines), "lines are read that sha256sum would not read so"
    for name, digest in found.items():
        assert os.path.basename(name) == name
        assert not name.startswith(".")
        assert len(bytes.fromhex(digest)) == 32


def _list(data: bytes) -> None:
    try:
        entries = releases.parse_page(data, "https://example.org")
    except ServerDownError as error:
        assert error.hint
        return
    for entry in entries:
        found = releases.release_of(entry)
        if found is not None:
            assert entry["draft"] is False
            assert parse_tag(found.version.tag) == found.version
            assert all(0 < asset.size <= releases.ASSET_BYTES for asset in found.assets)


def _bundle(data: bytes) -> None:
    try:
        bundles.check_subject(data, DIGEST, ASSET)
    except BundleRefusedError as error:
        assert error.hint
        return
    assert json.loads(data)["messageSignature"]["messageDigest"]["digest"], "a bundle without a digest is let through"


def _manifest(data: bytes) -> None:
    with open(os.path.join(FOLDER.name, payload.MANIFEST), "wb") as file:
        file.write(data)
    try:
        found = payload.about(FOLDER.name)
    except PayloadError as error:
        assert error.hint
        return
    assert all(isinstance(text, str) for text in (found.version, found.platform, found.commit, found.repository))


LINES = tuple(f"{DIGEST}  {name}\n".encode() for name in (ASSET, "SHA256SUMS", "a"))
TARGET = Target(
    "releases",
    check,
    st.one_of(text_of(near([RELEASE, RELEASE])), text_of(near(BUNDLE)), text_of(near(MANIFEST)), joined((*LINES, b"1.2.3", b"\r\n"), b"")),
    (
        *LINES,
        *(DIGEST.encode(), b"  ", b" *", b"../x", b"\x1c", b"\x0b", b"\r", b'"tag_name":"ways-mcp-v1.2.3"', b'"draft":false', b'"assets":['),
        *(b'"size":1', b'"digest":""', b'"mediaType":', b"ERROR ", b"For detailed error", b"ways-mcp-v", b"1.2.3", b"\n"),
    ),
    (
        Pump(LINES[2]),
        Pump(b"a"),
        Pump(b"["),
        Pump(b'{"draft":false},', b"[", b"{}]"),
        Pump(b" ERROR x"),
        Pump(b"Error: a x.py:1 "),
        Pump(b"A", b'{"mediaType":"application/vnd.dev.sigstore.bundle","messageSignature":{"messageDigest":{"digest":"', b'"}}}'),
    ),
)  # fmt: skip
