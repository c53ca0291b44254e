"""The table of tampering: each is refused with its own words and exit code, and the old version is untouched."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import threading
from typing import TYPE_CHECKING

import pytest
from build.release import archive

from agent_ways.ways.commands import status
from agent_ways.ways.update import sums
from agent_ways.ways.update.errors import (
    BundleMissingError,
    BundleRefusedError,
    ClockError,
    CutShortError,
    IdentityError,
    NoPrebuiltError,
    NoReleaseError,
    NoVerifierError,
    PayloadError,
    RateLimitedError,
    RedirectedError,
    ReleaseError,
    ServerDownError,
    SmokeError,
    SumsMalformedError,
    SumsMismatchError,
    SumsMissingError,
    TooBigError,
    UnreachableError,
)
from agent_ways.ways.update.fetch import Edges
from agent_ways.ways.update.names import SUMS
from agent_ways.ways.update.payload import About
from agent_ways.ways.update.plan import SUMS_ONLY_WORDS
from agent_ways.ways.update.platforms import Machine
from agent_ways.ways.update.web import Web
from tests.release.computer import PLATFORM, Computer, Signer, asset_name, assets, commands, packed
from tests.release.server import Answer, ReleaseServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME, BUNDLE = asset_name("1.1.0"), f"{asset_name('1.1.0')}.sigstore.json"

pytestmark = pytest.mark.demand("LIFE-2", "LIFE-6")


class Table:
    """One row: a release 1.1.0 that is right in everything, to be tampered with."""

    def __init__(self, folder: Path, server: ReleaseServer, signer: Signer, signed: tuple[bytes, bytes]) -> None:
        self.folder, self.server, self.signer = folder, server, signer
        self.data, bundle = signed
        self.files = assets(self.data, "1.1.0", bundle)
        server.publish("1.1.0", self.files)

    def put(self, name: str, data: bytes | None) -> None:
        """Replace one file of the release, or take it away."""
        if data is None:
            del self.files[name]
        else:
            self.files[name] = data
        self.server.publish("1.1.0", self.files)

    def replace(self, data: bytes, bundle: bytes | None = None) -> None:
        """Another archive, with checksums that fit it, and a bundle."""
        self.server.publish("1.1.0", {**self.files, **assets(data, "1.1.0", bundle)})

    def answer(self, name: str, answer: Answer) -> None:
        self.server.special[self.server.path("1.1.0", name)] = answer


@pytest.fixture(scope="session")
def signed(tmp_path_factory: pytest.TempPathFactory, signer: Signer) -> tuple[bytes, bytes]:
    """The archive of a release 1.1.0, and its bundle."""
    data = packed(tmp_path_factory.mktemp("signed"), "1.1.0")
    return data, signer.sign(data, "1.1.0")


@pytest.fixture
def table(tmp_path: Path, server: ReleaseServer, signer: Signer, signed: tuple[bytes, bytes]) -> Table:
    return Table(tmp_path / "release", server, signer, signed)


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def altered_signature(table: Table) -> None:
    bundle = json.loads(table.files[BUNDLE])
    signature = bundle["messageSignature"]["signature"]
    bundle["messageSignature"]["signature"] = signature[:20] + ("A" if signature[20] != "A" else "B") + signature[21:]
    table.put(BUNDLE, json.dumps(bundle).encode())


def other_asset(table: Table) -> None:
    other = packed(table.folder, "1.1.0", platform="linux-arm64")
    table.put(BUNDLE, table.signer.sign(other, "1.1.0"))


def swapped_platform(table: Table) -> None:
    """A whole and rightly signed archive, of another platform, under this one's name."""
    other = packed(table.folder, "1.1.0", platform="linux-arm64")
    table.replace(other, table.signer.sign(other, "1.1.0"))


def older_renamed(table: Table) -> None:
    """A downgrade: the old release's archive and its own bundle, under the new one's name."""
    old = packed(table.folder, "0.9.0")
    table.replace(old, table.signer.sign(old, "0.9.0"))


def older_signed_anew(table: Table) -> None:
    old = packed(table.folder, "0.9.0")
    table.replace(old, table.signer.sign(old, "1.1.0"))


def branch(table: Table) -> None:
    other = {"identity": f"https://github.com/someone/agent-ways/.github/workflows/release.yml@{'refs/heads/main'}"}
    table.put(BUNDLE, table.signer.sign(table.data, "1.1.0", ref="refs/heads/main", **other))


def workflow(table: Table) -> None:
    other = "https://github.com/someone/agent-ways/.github/workflows/ci.yml@refs/tags/ways-mcp-v1.1.0"
    table.put(BUNDLE, table.signer.sign(table.data, "1.1.0", identity=other))


def without_projected(table: Table) -> None:
    files = commands(table.folder / "bare", "1.1.0")
    shutil.rmtree(files / "projected")
    archive.write(files, About("1.1.0", PLATFORM), table.folder / "bare.tar.gz")
    data = (table.folder / "bare.tar.gz").read_bytes()
    table.replace(data, table.signer.sign(data, "1.1.0"))


def own_root(table: Table) -> None:
    """Signed by a sigstore of the attacker's own."""
    attacker = Signer(table.folder / "attacker", table.signer.programs.parent)
    table.put(BUNDLE, attacker.sign(table.data, "1.1.0"))


ROWS: dict[str, tuple[Callable[[Table], object], type[ReleaseError], str]] = {
    "asset altered": (lambda t: t.put(NAME, flipped(t.data)), SumsMismatchError, "is not what SHA256SUMS says"),
    "sums altered": (
        lambda t: t.put(SUMS, sums.render({NAME: "0" * 64}).encode()),
        SumsMismatchError,
        "is not what SHA256SUMS says",
    ),
    "asset and sums altered": (lambda t: t.replace(flipped(t.data)), BundleRefusedError, "made for another file"),
    "signature altered": (altered_signature, BundleRefusedError, "does not verify"),
    "bundle of another asset": (other_asset, BundleRefusedError, "made for another file"),
    "bundle is a page": (lambda t: t.put(BUNDLE, b"<html>"), BundleRefusedError, "no JSON"),
    "bundle is other JSON": (lambda t: t.put(BUNDLE, b"[]"), BundleRefusedError, "no sigstore bundle"),
    "bundle from another root": (own_root, BundleRefusedError, "does not verify"),
    "other repository": (
        lambda t: t.put(BUNDLE, t.signer.sign(t.data, "1.1.0", repository="attacker/agent-ways")),
        IdentityError,
        "signed, but not by",
    ),
    "other workflow": (workflow, IdentityError, "signed, but not by"),
    "a branch's": (branch, IdentityError, "signed, but not by"),
    "older release renamed": (older_renamed, IdentityError, "signed, but not by"),
    "older release signed anew": (older_signed_anew, PayloadError, "holds 0.9.0 for linux-x86_64"),
    "swapped platform": (swapped_platform, PayloadError, "holds 1.1.0 for linux-arm64"),
    "asset missing": (lambda t: t.answer(NAME, Answer(b"", 404)), CutShortError, "is listed and not there"),
    "asset not listed": (lambda t: t.put(NAME, None), NoPrebuiltError, "has no linux-x86_64"),
    "sums missing": (lambda t: t.answer(SUMS, Answer(b"", 404)), SumsMissingError, "is listed and not there"),
    "sums not listed": (lambda t: t.put(SUMS, None), SumsMissingError, "has no SHA256SUMS"),
    "sums without the asset": (
        lambda t: t.put(SUMS, sums.render({NAME + ".old": "0" * 64}).encode()),
        SumsMissingError,
        f"has no line for {NAME}",
    ),
    "sums malformed": (lambda t: t.put(SUMS, b"0" * 63 + b"  x\n"), SumsMalformedError, "line 1 of SHA256SUMS"),
    "bundle missing": (lambda t: t.answer(BUNDLE, Answer(b"", 404)), BundleMissingError, "is listed and not there"),
    "bundle not listed": (lambda t: t.put(BUNDLE, None), BundleMissingError, "has no signature bundle"),
    "truncated": (
        lambda t: t.answer(NAME, Answer(t.data[:-100], length=len(t.data))),
        CutShortError,
        "ended before it was whole",
    ),
    "truncated without a length": (
        lambda t: t.answer(NAME, Answer(t.data[:-100], length=-1)),
        CutShortError,
        "ended before it was whole",
    ),
    "oversized": (lambda t: t.answer(NAME, Answer(t.data + b"x")), TooBigError, "bigger than"),
    "oversized in secret": (
        lambda t: t.answer(NAME, Answer(t.data + b"x" * 9999, length=-1)),
        TooBigError,
        "bigger than",
    ),
    "sums oversized": (lambda t: t.answer(SUMS, Answer(b"x" * 70_000)), TooBigError, "bigger than"),
    "redirect elsewhere": (
        lambda t: t.answer(NAME, Answer(b"", 302, {"Location": "http://127.0.0.2:9/x"})),
        RedirectedError,
        "sent us to 127.0.0.2:9",
    ),
    "redirect to a file": (
        lambda t: t.answer(NAME, Answer(b"", 302, {"Location": "file:///etc/passwd"})),
        RedirectedError,
        "sent us to",
    ),
    "a link elsewhere": (
        lambda t: t.server.links.update({NAME: "https://elsewhere.example/x"}),
        RedirectedError,
        "names a file on elsewhere.example",
    ),
    "the server's clock is 2 years behind": (
        lambda t: setattr(t.server, "clock", -2 * 365 * 86400.0),
        ClockError,
        "730 days ahead",
    ),
    "rate limited": (
        lambda t: t.server.special.update(
            {"/releases": Answer(b"{}", 403, {"X-RateLimit-Remaining": "0", "Retry-After": "1800"})}
        ),
        RateLimitedError,
        "for 30 minutes",
    ),
    "API down": (
        lambda t: t.server.special.update({"/releases": Answer(b"", 503)}),
        ServerDownError,
        "an error of its own: 503",
    ),
    "a login page": (
        lambda t: t.server.special.update({"/releases": Answer(b"<html>log in</html>")}),
        ServerDownError,
        "did not answer with a list",
    ),
    "no such repository": (
        lambda t: t.server.special.update({"/releases": Answer(b"{}", 404)}),
        NoReleaseError,
        "not there, or not public",
    ),
    "no release yet": (lambda t: t.server.releases.clear(), NoReleaseError, "no release yet"),
    "does not run here": (lambda t: broken(t, "exit 3"), SmokeError, "exit code 3"),
    "without skills and hooks": (without_projected, SmokeError, "does not bring its skills and hooks"),
    "tells another version": (lambda t: broken(t, "echo ways 1.0.9"), SmokeError, "ways 1.0.9"),
}


def broken(table: Table, says: str) -> None:
    data = packed(table.folder, "1.1.0", says=says)
    table.replace(data, table.signer.sign(data, "1.1.0"))


@pytest.mark.field_report(86)
@pytest.mark.field_report(87)
@pytest.mark.field_report(96)
@pytest.mark.parametrize("row", ROWS)
def test_each_way_of_tampering_is_refused_by_its_own_name_and_changes_nothing(
    row: str, computer: Computer, table: Table
) -> None:
    tamper, kind, words = ROWS[row]
    tamper(table)
    computer.install("1.0.0")
    before = computer.tree()
    with pytest.raises(ReleaseError) as refused:
        computer.update(edges=Edges(web=lambda hosts: Web(hosts, sleep=lambda _: None)))
    assert type(refused.value) is kind
    assert words in refused.value.message
    assert refused.value.hint
    assert "verbose" not in refused.value.message
    assert computer.tree() == before
    assert computer.says() == "ways-mcp 1.0.0"


def test_the_same_release_untampered_is_taken(computer: Computer, table: Table) -> None:
    computer.install("1.0.0")
    report = computer.update()
    assert computer.says() == "ways-mcp 1.1.0"
    proof = report.data["proof"]
    assert (proof["how"], proof["by"]) == ("signature", "sigstore")
    assert proof["identity"].endswith("/.github/workflows/release.yml@refs/tags/ways-mcp-v1.1.0")
    assert not any(name.endswith((".tar.gz", ".bundle")) for name in computer.tree())


@pytest.mark.field_report(96)
def test_every_error_of_releases_has_an_exit_code_and_a_code_of_its_own() -> None:
    kinds = [ReleaseError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert len({kind.exit_code for kind in kinds}) == len({kind.code for kind in kinds}) == len(kinds)
    assert all(10 <= kind.exit_code < 64 for kind in kinds)


def test_the_public_trust_root_refuses_a_private_signature(computer: Computer, table: Table) -> None:
    del computer.env["AGENT_WAYS_TRUST_CONFIG"]
    computer.install("1.0.0")
    with pytest.raises(BundleRefusedError):
        computer.update()
    assert computer.says() == "ways-mcp 1.0.0"


@pytest.mark.field_report(86)
def test_without_a_verifier_it_is_refused_before_the_download_naming_how_to_get_one(
    unsigned: Computer, table: Table
) -> None:
    unsigned.install("1.0.0")
    before = unsigned.tree()
    with pytest.raises(NoVerifierError) as refused:
        unsigned.update()
    assert "pipx install sigstore" in refused.value.hint
    assert "--sums-only" in refused.value.hint
    assert table.server.path("1.1.0", NAME) not in table.server.asked
    assert unsigned.tree() == before


def test_sums_only_is_taken_when_asked_for_and_recorded(unsigned: Computer, table: Table) -> None:
    unsigned.install("1.0.0")
    report = unsigned.update(sums_only=True)
    assert unsigned.says() == "ways-mcp 1.1.0"
    assert report.data["proof"] == {"how": "sums-only"}
    assert any("not verified" in line.text for line in report.lines)
    identifier = unsigned.layout.installed() or ""
    record = json.loads((unsigned.home / ".local/share/agent-ways/versions" / identifier / "version.json").read_text())
    assert record["proof"] == {"how": "sums-only"}


@pytest.mark.demand("LIFE-2", "LIFE-7")
def test_status_goes_on_saying_that_a_version_was_taken_for_its_checksum_alone(
    unsigned: Computer, table: Table, tmp_path: Path
) -> None:
    unsigned.install("1.0.0")
    assert "proof" not in [line.subject for line in status.run(unsigned.world).lines]
    unsigned.update(sums_only=True)
    report = status.run(unsigned.world)
    assert report.to_json()["installed"]["proof"] == {"how": "sums-only"}
    assert [line.text for line in report.lines if line.subject == "proof"] == [SUMS_ONLY_WORDS]
    unsigned.update(rollback=True)
    assert status.run(unsigned.world).to_json()["installed"]["proof"] is None
    unsigned.update(rollback=True)
    assert status.run(unsigned.world).to_json()["installed"]["proof"] == {"how": "sums-only"}


def test_reviewed_checksums_prove_a_version_without_a_signature(
    unsigned: Computer, table: Table, tmp_path: Path
) -> None:
    known = tmp_path / "checkout" / "checksums"
    known.mkdir(parents=True)
    (known / "ways-mcp-v1.1.0.txt").write_bytes(table.files[SUMS])
    unsigned.install("1.0.0", checkout=str(tmp_path / "checkout"))
    assert unsigned.update().data["proof"] == {"how": "checksums"}
    assert unsigned.says() == "ways-mcp 1.1.0"


def test_a_release_that_differs_from_the_reviewed_checksums_is_refused_also_when_rightly_signed(
    computer: Computer, table: Table, tmp_path: Path
) -> None:
    known = tmp_path / "checkout" / "checksums"
    known.mkdir(parents=True)
    (known / "ways-mcp-v1.1.0.txt").write_text(sums.render({NAME: "1" * 64}))
    computer.install("1.0.0", checkout=str(tmp_path / "checkout"))
    for sums_only in (False, True):
        with pytest.raises(SumsMismatchError, match="checkout's checksums"):
            computer.update(sums_only=sums_only)
    assert computer.says() == "ways-mcp 1.0.0"


@pytest.mark.field_report(87)
def test_no_server_at_all_is_named(computer: Computer) -> None:
    computer.env["AGENT_WAYS_RELEASES"] = "http://127.0.0.1:9"
    computer.install("1.0.0")
    with pytest.raises(UnreachableError, match="can not be reached"):
        computer.update()


def test_a_server_that_says_nothing_is_given_up(computer: Computer, table: Table) -> None:
    computer.install("1.0.0")
    table.answer(NAME, Answer(table.data, hold=threading.Event()))
    with pytest.raises(UnreachableError, match=r"did not answer within 0\.2 seconds"):
        computer.update(edges=Edges(web=lambda hosts: Web(hosts, silence=0.2)))
    assert computer.says() == "ways-mcp 1.0.0"


def test_a_dripping_server_ends_with_the_time_for_all_downloads(computer: Computer, table: Table) -> None:
    computer.install("1.0.0")
    times = iter(range(0, 10_000, 50))
    with pytest.raises(UnreachableError, match="too slow"):
        computer.update(edges=Edges(web=lambda hosts: Web(hosts, patience=120, monotonic=lambda: next(times))))


def test_drafts_prereleases_and_other_components_do_not_count(computer: Computer, table: Table) -> None:
    entry = {"tag_name": "ways-mcp-v9.0.0", "draft": False, "prerelease": False, "assets": []}
    table.server.more = [
        {**entry, "draft": True},
        {**entry, "prerelease": True},
        {**entry, "tag_name": "attend-v9.0.0"},
        {**entry, "tag_name": "ways-mcp-v9.0.0-rc.1"},
        {**entry, "tag_name": 9},
        {"tag_name": "ways-mcp-v9.0.0"},
        "entry",
        None,
    ]
    computer.install("1.0.0")
    assert computer.update(check=True).data["release"] == "1.1.0"


@pytest.mark.field_report(90)
def test_a_musl_machine_is_told_why_there_is_no_prebuilt(computer: Computer, table: Table) -> None:
    computer.install("1.0.0")
    with pytest.raises(NoPrebuiltError, match="musl"):
        computer.update(machine=Machine("Linux", "x86_64", "musl"))


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"no archive", gzip.compress(b"x" * 2000)])
def test_a_signed_file_that_is_no_archive_is_refused(
    data: bytes, computer: Computer, table: Table, signer: Signer
) -> None:
    data = data or b"\0"
    table.replace(data, signer.sign(data, "1.1.0"))
    computer.install("1.0.0")
    before = computer.tree()
    with pytest.raises(PayloadError, match=r"is no archive|says what it is"):
        computer.update()
    assert computer.tree() == before


def test_cosign_is_given_the_whole_identity(unsigned: Computer, table: Table, tmp_path: Path) -> None:
    """The program itself can not be had here: a stub records how it is called."""
    programs = tmp_path / "programs"
    programs.mkdir()
    stub = programs / "cosign"
    stub.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\n')
    stub.chmod(0o755)
    unsigned.env["PATH"] = str(programs)
    unsigned.install("1.0.0")
    assert unsigned.update().data["proof"]["by"] == "cosign"
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:2] == ["verify-blob", "--offline"]
    pinned = dict(zip(words[2:-1:2], words[3:-1:2], strict=True))
    assert pinned["--certificate-identity"].endswith("/.github/workflows/release.yml@refs/tags/ways-mcp-v1.1.0")
    assert pinned["--certificate-oidc-issuer"] == "https://token.actions.githubusercontent.com"
    assert pinned["--certificate-github-workflow-repository"] == "someone/agent-ways"
    assert pinned["--certificate-github-workflow-ref"] == "refs/tags/ways-mcp-v1.1.0"


def test_a_verifier_that_refuses_without_a_word_is_a_refusal(unsigned: Computer, table: Table, tmp_path: Path) -> None:
    stub = tmp_path / "cosign"
    stub.write_text("#!/bin/sh\nexit 1\n")
    stub.chmod(0o755)
    unsigned.env["PATH"] = str(tmp_path)
    unsigned.install("1.0.0")
    with pytest.raises(BundleRefusedError, match="gave no reason"):
        unsigned.update()
    assert hashlib.sha256(table.data).hexdigest() in table.files[SUMS].decode()
    assert PLATFORM in NAME
