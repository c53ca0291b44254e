"""The judging modules, by values: platforms, versions, sums, origins, who manages, what an archive may hold."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base.errors import UsageError
from agent_ways.ways.layout import Layout
from agent_ways.ways.update import managed, payload, sums
from agent_ways.ways.update.errors import NoOriginError, PayloadError, SumsMalformedError, SumsMissingError
from agent_ways.ways.update.managed import Place
from agent_ways.ways.update.names import Version, archive_name, parse_tag, parse_version
from agent_ways.ways.update.origin import origin_of, repository_of
from agent_ways.ways.update.platforms import PLATFORMS, Machine, choose, this_machine
from agent_ways.ways.update.web import allowed

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = st.builds(Version, *[st.integers(0, 99999)] * 3)
LAYOUT = Layout(data="/home/p/.local/share/agent-ways", bin="/home/p/.local/bin")


@pytest.mark.demand("LIFE-2")
@pytest.mark.field_report(90)
@pytest.mark.parametrize(
    ("machine", "platform", "words"),
    [
        (Machine("Linux", "x86_64", "glibc", (2, 36)), "linux-x86_64", "glibc 2.36"),
        (Machine("Linux", "aarch64", "glibc", (2, 17)), "linux-arm64", "glibc 2.17"),
        (Machine("Linux", "amd64", "glibc", (2, 100)), "linux-x86_64", "glibc 2.100"),
        (Machine("Linux", "x86_64", "glibc", (2, 9)), None, "glibc 2.9 is older than the 2.17"),
        (Machine("Linux", "x86_64", "musl"), None, "musl is no glibc"),
        (Machine("Linux", "x86_64"), None, "not known"),
        (Machine("Linux", "riscv64", "glibc", (2, 39)), None, "no prebuilt for riscv64"),
        (Machine("Linux", "x86_64", "glibc", (2, 36), bits=32), None, "32-bit"),
        (Machine("Linux", "", "glibc", (2, 36)), None, "this processor"),
        (Machine("Darwin", "arm64", "macOS", (15, 1)), "macos-arm64", "macOS 15.1"),
        (Machine("Darwin", "x86_64", "macOS", (10, 15)), "macos-x86_64", "macOS 10.15"),
        (Machine("Darwin", "arm64", "macOS", ()), None, "of unknown version"),
        (Machine("Darwin", "x86_64", "macOS", (10, 14)), None, "older than the 10.15"),
        (Machine("FreeBSD", "amd64"), None, "no prebuilt for FreeBSD"),
        (Machine("Windows", "AMD64"), None, "no prebuilt for Windows"),
    ],
)
def test_each_machine_gets_the_prebuilt_that_fits_or_the_reason_why_none_does(
    machine: Machine, platform: str | None, words: str
) -> None:
    found = choose(machine)
    assert found.platform == platform
    assert words in found.reason
    assert platform is None or platform in PLATFORMS


def test_this_machine_knows_its_c_library() -> None:
    here = this_machine()
    assert here.system == os.uname().sysname
    assert choose(here).reason
    if here.system == "Linux" and here.libc == "glibc":
        assert here.version > (2, 0)


@given(VERSIONS)
def test_a_version_is_read_as_it_is_written(version: Version) -> None:
    assert parse_version(str(version)) == version
    assert parse_tag(version.tag) == version


@given(VERSIONS, VERSIONS)
def test_versions_are_ordered_by_their_numbers(one: Version, other: Version) -> None:
    numbers = [tuple(map(int, str(version).split("."))) for version in (one, other)]
    assert (one < other) == (numbers[0] < numbers[1])


@pytest.mark.parametrize(
    "text",
    ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3-rc.1", "v1.2.3", "1.2.x", " 1.2.3", "1.2.3\n", "٣.0.0", "-1.2.3"],
)
def test_what_is_no_release_version_is_none(text: str) -> None:
    assert parse_version(text) is None
    assert parse_tag(f"ways-mcp-v{text}") is None


DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)
NAMES = st.from_regex(r"\A[0-9A-Za-z][0-9A-Za-z._+-]{0,40}\Z")


@given(st.dictionaries(NAMES, DIGESTS))
def test_sums_are_read_as_they_are_written(found: dict[str, str]) -> None:
    assert sums.parse(sums.render(found).encode()) == found


@given(st.dictionaries(NAMES, DIGESTS, min_size=1), st.binary(min_size=1, max_size=8), st.data())
def test_no_byte_of_sums_can_be_changed_unseen(found: dict[str, str], noise: bytes, data: st.DataObject) -> None:
    """What is read after a change is refused, or differs: no line is passed over."""
    text = sums.render(found).encode()
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + noise + text[at + len(noise) :]
    try:
        read = sums.parse(changed)
    except SumsMalformedError:
        return
    assert read != found or changed.replace(b" *", b"  ").splitlines() == text.replace(b" *", b"  ").splitlines()


@pytest.mark.parametrize(
    "line", ["", "x", f"{'0' * 64} a", f"{'0' * 64}  a b", f"{'A' * 64}  a", f"{'0' * 64}  ../a", "#"]
)
def test_a_line_that_is_no_checksum_is_refused(line: str) -> None:
    with pytest.raises(SumsMalformedError, match="line 2"):
        sums.parse(f"{'0' * 64}  first\n{line}\n".encode())


def test_a_file_named_twice_is_refused() -> None:
    with pytest.raises(SumsMalformedError, match="twice"):
        sums.parse(f"{'0' * 64}  a\n{'1' * 64}  a\n".encode())


@pytest.mark.field_report(86)
def test_the_line_must_be_of_exactly_that_file() -> None:
    told = {
        "ways-mcp-1.0.0-linux-x86_64.tar.gz.sigstore.json": "0" * 64,
        "x-ways-mcp-1.0.0-linux-x86_64.tar.gz": "1" * 64,
    }
    with pytest.raises(SumsMissingError):
        sums.expected(told, archive_name(Version(1, 0, 0), "linux-x86_64"))


@pytest.mark.demand("LIFE-2")
@pytest.mark.parametrize(
    ("remote", "repository"),
    [
        ("https://github.com/someone/agent-ways.git", "someone/agent-ways"),
        ("https://github.com/someone/agent-ways", "someone/agent-ways"),
        ("https://token@github.com/someone/agent-ways/", "someone/agent-ways"),
        ("git@github.com:someone/agent-ways.git", "someone/agent-ways"),
        ("ssh://git@github.com/someone/agent-ways.git", "someone/agent-ways"),
        ("https://example.org/someone/agent-ways.git", None),
        ("https://github.com.evil.example/someone/agent-ways", None),
        ("https://github.com/someone", None),
        ("https://github.com/someone/..", None),
        ("/srv/git/agent-ways", None),
        ("", None),
    ],
)
def test_a_remote_names_its_repository(remote: str, repository: str | None) -> None:
    assert repository_of(remote) == repository


@pytest.mark.demand("LIFE-2")
def test_settings_come_before_the_record_and_the_record_before_the_checkouts_origin(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    remote = "git@github.com:cloned/agent-ways.git"
    subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", remote], check=True)
    checkout = str(tmp_path)
    assert origin_of({}, "", checkout).repository == "cloned/agent-ways"
    assert origin_of({}, "recorded/agent-ways", checkout).repository == "recorded/agent-ways"
    found = origin_of({"AGENT_WAYS_REPOSITORY": "named/agent-ways"}, "recorded/agent-ways", checkout)
    assert found.base == "https://api.github.com/repos/named/agent-ways"
    mirror = origin_of({"AGENT_WAYS_RELEASES": "https://mirror.example:8443/ways/"}, "", checkout)
    assert (mirror.base, mirror.repository) == ("https://mirror.example:8443/ways", "cloned/agent-ways")
    assert mirror.hosts == {"mirror.example:8443"}


def test_without_an_origin_no_organisation_is_made_up(tmp_path: Path) -> None:
    for checkout in ("", str(tmp_path), "/nowhere"):
        with pytest.raises(NoOriginError, match="not known where releases") as raised:
            origin_of({}, "", checkout)
        assert "From a checkout: git pull && make install" in raised.value.hint


@pytest.mark.parametrize(
    "base",
    ["http://mirror.example", "ftp://127.0.0.1", "mirror.example", "https://", "https://u:p@m.example", "https://m:x"],
)
def test_a_mirror_is_https_or_this_machine(base: str) -> None:
    with pytest.raises(UsageError):
        origin_of({"AGENT_WAYS_RELEASES": base})


@pytest.mark.parametrize("base", ["http://127.0.0.1:8000", "http://localhost:8000/x", "http://[::1]:8000"])
def test_loopback_may_be_http(base: str) -> None:
    assert origin_of({"AGENT_WAYS_RELEASES": base}).base == base


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("https://github.com/x", True),
        ("http://github.com/x", False),
        ("https://github.com:444/x", False),
        ("https://github.com@evil.example/x", False),
        ("https://evil.example/github.com", False),
        ("https://github.com.evil.example/", False),
        ("https://[broken/", False),
        ("file:///etc/passwd", False),
    ],
)
def test_only_the_hosts_of_releases_are_downloaded_from(url: str, fits: bool) -> None:
    assert allowed(url, frozenset({"github.com"})) is fits


@pytest.mark.demand("LIFE-6")
@pytest.mark.field_report(85)
@pytest.mark.parametrize(
    ("place", "words"),
    [
        (Place("/home/p/.local/share/agent-ways/versions/1.0.0-0123abcd/"), None),
        (Place("/home/p/Downloads/ways-mcp-1.0.0-linux-x86_64/", frozen=True), None),
        (
            Place("/v/lib/python3.11/site-packages/agent_ways/", receipts=frozenset({"pipx_metadata.json"})),
            "pipx upgrade",
        ),
        (
            Place("/v/lib/python3.11/site-packages/agent_ways/", receipts=frozenset({"uv-receipt.toml"})),
            "uv tool upgrade",
        ),
        (Place("/nix/store/abc-agent-ways/lib/python3.11/site-packages/agent_ways/"), "nix profile upgrade"),
        (Place("/opt/homebrew/Cellar/agent-ways/1.0.0/libexec/agent_ways/"), "brew upgrade"),
        (Place("/usr/lib/python3/dist-packages/agent_ways/"), "package manager"),
        (Place("/usr/lib/python3.13/site-packages/agent_ways/", installer="rpm"), "package manager (rpm)"),
        (Place("/v/site-packages/agent_ways/", prefix="/v", installer="pip"), "/v/bin/python -m pip install --upgrade"),
        (Place("/v/site-packages/agent_ways/", prefix="/v", installer="uv"), "uv pip install --upgrade"),
        (Place("/home/p/src/agent-ways/src/agent_ways/", checkout=True), "git -C /home/p/src/agent-ways pull"),
    ],
)
def test_what_another_program_manages_is_told_that_programs_command(place: Place, words: str | None) -> None:
    found = managed.command(place, LAYOUT)
    assert (found is None) if words is None else (found is not None and words in found)


def archive(folder: Path, *members: tarfile.TarInfo) -> str:
    path = folder / "a.tar.gz"
    with tarfile.open(path, "w:gz") as out:
        for member in members:
            out.addfile(member, io.BytesIO(b"x" * member.size) if member.isreg() else None)
    return str(path)


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, link, 3 if kind == tarfile.REGTYPE else 0, 0o755
    return info


TOP, INNER = member("top", tarfile.DIRTYPE), member("top/in", tarfile.DIRTYPE)
LINK = tarfile.SYMTYPE


@pytest.mark.parametrize(
    "members",
    [
        (TOP, member("top/../x")),
        (TOP, member("/etc/x")),
        (TOP, member("other/x")),
        (TOP, member("top/./x")),
        (TOP, member("top/a\nb")),
        (TOP, member("..", tarfile.DIRTYPE)),
        (TOP, member("top/in/x")),
        (TOP, member("top/l", LINK, "/etc")),
        (TOP, member("top/l", LINK, "..")),
        (TOP, member("top/l", LINK, "../x")),
        (TOP, INNER, member("top/in/l", LINK, "../../x")),
        (TOP, INNER, member("top/in/l", LINK, "x/../..")),
        (TOP, member("top/l", LINK, "in"), member("top/l/x")),
        (TOP, INNER, member("top/l", LINK, "in"), member("top/l/x")),
        (TOP, member("top/h", tarfile.LNKTYPE, "top/x")),
        (TOP, member("top/f", tarfile.FIFOTYPE)),
        (TOP, member("top/d", tarfile.CHRTYPE)),
        (member("top"),),
        (TOP, member("top/x"), member("top/x")),
    ],
)
def test_nothing_of_an_archive_lands_outside_its_folder(members: tuple[tarfile.TarInfo, ...], tmp_path: Path) -> None:
    into = tmp_path / "a" / "b"
    into.mkdir(parents=True)
    with pytest.raises(PayloadError):
        payload.unpack(archive(tmp_path, *members), str(into))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.tar.gz"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_files_folders_and_links_inside_are_unpacked_privately(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    members = (TOP, INNER, member("top/in/x"), member("top/l", LINK, "in/x"), member("top/in/up", LINK, "../l"))
    payload.unpack(archive(tmp_path, *members), str(into))
    assert (into / "in" / "up").read_bytes() == b"xxx"
    assert (into / "in" / "x").stat().st_mode & 0o777 == 0o700
    assert (into / "in").stat().st_mode & 0o777 == 0o700


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    into = tmp_path / "into"
    into.mkdir()
    path = archive(tmp_path, TOP, member("top/a"), member("top/b"))
    monkeypatch.setattr(payload, "MOST_BYTES", 5)
    with pytest.raises(PayloadError, match="too many bytes"):
        payload.unpack(path, str(into))
    monkeypatch.setattr(payload, "MOST_FILES", 1)
    with pytest.raises(PayloadError, match="too many files"):
        payload.unpack(path, str(into))


@pytest.mark.parametrize(
    "text", [None, "", "[]", "{}", '{"version": 1, "platform": "x", "commit": "", "repository": ""}']
)
def test_an_archive_without_a_manifest_is_refused(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "release.json").write_text(text)
    with pytest.raises(PayloadError, match=r"release\.json"):
        payload.about(str(tmp_path))
