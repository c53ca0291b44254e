"""The maintainers' recipes, each run in a clone with an origin of its own."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from build.release import archive, assets, cut, prebuilt, verify

from agent_ways import __version__
from agent_ways.ways.update import sums
from agent_ways.ways.update.bundles import Identity
from agent_ways.ways.update.errors import (
    BundleRefusedError,
    IdentityError,
    NoPrebuiltError,
    PayloadError,
    SumsMismatchError,
    SumsMissingError,
)
from agent_ways.ways.update.names import BUNDLE, SUMS, Version, archive_name
from agent_ways.ways.update.payload import About
from agent_ways.ways.update.platforms import PLATFORMS, Machine
from tests.release.computer import LINUX, REPOSITORY, Signer, commands, packed
from tests.release.computer import assets as release_of

if TYPE_CHECKING:
    from tests.release.server import ReleaseServer

CHECKOUT = Path(__file__).resolve().parents[2]
AUTHOR = {
    "GIT_AUTHOR_NAME": "A Maintainer",
    "GIT_AUTHOR_EMAIL": "maintainer@example.org",
    "GIT_COMMITTER_NAME": "A Maintainer",
    "GIT_COMMITTER_EMAIL": "maintainer@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


CHANGELOG = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0\n\nOld.\n"


class Clone:
    """A checkout with the recipes and a package of version 0.1.0, and its origin; `copy_of` is one made before."""

    def __init__(self, folder: Path, copy_of: Clone | None = None) -> None:
        self.folder, self.origin = folder / "a clone", folder / "origin.git"
        if copy_of:
            shutil.copytree(copy_of.folder, self.folder, symlinks=True)
            shutil.copytree(copy_of.origin, self.origin, symlinks=True)
            self.git("remote", "set-url", "origin", str(self.origin))
            return
        package = self.folder / "src" / "agent_ways"
        package.mkdir(parents=True)
        shutil.copytree(CHECKOUT / "src/agent_ways", package, dirs_exist_ok=True, ignore=_CACHES)
        shutil.copytree(CHECKOUT / "build", self.folder / "build", ignore=_CACHES)
        (package / "__init__.py").write_text('"""The package."""\n\n__version__ = "0.1.0"\n')
        (self.folder / "CHANGELOG.md").write_text(
            "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0\n\nOld.\n"
        )
        (self.folder / ".gitignore").write_text("__pycache__/\n/dist/\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "Begin")
        subprocess.run(["git", "clone", "-q", "--bare", self.folder, self.origin], check=True)
        self.git("remote", "add", "origin", str(self.origin))
        self.git("fetch", "-q", "origin")

    def git(self, *words: str) -> str:
        env = {**os.environ, **AUTHOR}
        ran = subprocess.run(["git", *words], cwd=self.folder, env=env, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    def run(self, module: str, *words: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **AUTHOR, "GITHUB_REPOSITORY": "", "GITHUB_SHA": ""}
        command = [sys.executable, "-m", f"build.release.{module}", *words]
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)

    def state(self) -> tuple[str, ...]:
        return (self.git("rev-parse", "HEAD"), self.git("status", "--porcelain"), self.git("tag"))


_CACHES = shutil.ignore_patterns("__pycache__")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return Clone(tmp_path_factory.mktemp("template"))


@pytest.fixture
def clone(tmp_path: Path, template: Clone) -> Clone:
    return Clone(tmp_path, template)


@pytest.mark.demand("LIFE-8")
@pytest.mark.parametrize(("level", "version"), [("patch", "0.1.1"), ("minor", "0.2.0"), ("major", "1.0.0")])
def test_a_cut_bumps_one_place_dates_the_changelog_and_tags_without_pushing(
    level: str, version: str, clone: Clone
) -> None:
    pushed = subprocess.check_output(["git", "-C", clone.origin, "show-ref"])
    ran = clone.run("cut", "--level", level, "--no-tests")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"git push --atomic origin main ways-mcp-v{version}" in ran.stdout
    assert clone.git("tag") == f"ways-mcp-v{version}"
    assert clone.run("assets", "tag").stdout == f"ways-mcp-v{version}\n"
    assert clone.git("cat-file", "-t", f"ways-mcp-v{version}") == "tag"
    assert clone.git("show", "--name-only", "--format=%s", "HEAD").splitlines() == [
        f"Release {version}",
        "",
        "CHANGELOG.md",
        "src/agent_ways/__init__.py",
    ]
    day = dt.datetime.now(dt.UTC).date().isoformat()
    text = (clone.folder / "CHANGELOG.md").read_text()
    assert (
        text == f"# Changelog\n\n## Unreleased\n\n## {version} - {day}\n\n### Added\n\n- A thing.\n\n## 0.1.0\n\nOld.\n"
    )
    assert clone.git("status", "--porcelain") == ""
    assert subprocess.check_output(["git", "-C", clone.origin, "show-ref"]) == pushed


@pytest.mark.demand("LIFE-8")
def test_with_push_branch_and_tag_arrive_together(clone: Clone) -> None:
    assert clone.run("cut", "--level", "patch", "--no-tests", "--push").returncode == 0
    there = subprocess.check_output(["git", "-C", clone.origin, "show-ref"], text=True)
    assert clone.git("rev-parse", "HEAD") in there
    assert "refs/tags/ways-mcp-v0.1.1" in there


def dirty(clone: Clone) -> None:
    (clone.folder / "new").write_text("?")


def behind(clone: Clone) -> None:
    clone.git("commit", "-q", "--allow-empty", "-m", "Not pushed")


def tagged(clone: Clone) -> None:
    clone.git("tag", "ways-mcp-v0.1.1")


def tagged_there(clone: Clone) -> None:
    subprocess.run(["git", "-C", clone.origin, "tag", "ways-mcp-v0.1.1", "main"], check=True)


def branched(clone: Clone) -> None:
    clone.git("checkout", "-q", "-b", "feature")


def silent(clone: Clone) -> None:
    (clone.folder / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.1.0\n\nOld.\n")
    clone.git("commit", "-q", "-am", "Say nothing")
    clone.git("push", "-q", "origin", "main")


def unreachable(clone: Clone) -> None:
    clone.git("remote", "set-url", "origin", "/nowhere")


def hooked(clone: Clone) -> None:
    hook = clone.folder / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)


NOT_NOW = {
    dirty: "has changes",
    behind: "not what origin has",
    tagged: "is there already",
    tagged_there: "already",
    branched: "cut on main",
    silent: "says nothing",
    unreachable: "git fetch failed",
    hooked: "all is as it was",
}


@pytest.mark.demand("LIFE-8")
@pytest.mark.parametrize("trouble", NOT_NOW, ids=lambda trouble: trouble.__name__)
def test_a_checkout_that_is_not_fit_is_not_cut_and_stays_as_it_was(trouble: object, clone: Clone) -> None:
    assert callable(trouble)
    trouble(clone)
    before = clone.state()
    ran = clone.run("cut", "--level", "patch", "--no-tests")
    assert ran.returncode == 1
    assert NOT_NOW[trouble] in ran.stderr
    assert clone.state()[:2] == before[:2]


def test_a_dry_run_of_a_cut_changes_nothing(clone: Clone) -> None:
    before = clone.state()
    ran = clone.run("cut", "--level", "minor", "--no-tests", "--dry-run")
    assert "would cut 0.2.0" in ran.stdout
    assert clone.state() == before


@pytest.mark.parametrize(
    "words", [(), ("--level", "huge"), ("--level", "patch", "--component", "attend"), ("--record", "1.0.0")]
)
def test_words_that_make_no_cut_are_a_usage_error(words: tuple[str, ...], clone: Clone) -> None:
    assert clone.run("cut", *words).returncode == 2


def test_a_version_file_without_a_version_is_named() -> None:
    with pytest.raises(cut.NotNowError):
        cut.current('__version__ = "0.1.0.dev0"\n')


@pytest.mark.demand("LIFE-8")
def test_the_common_assets_are_the_same_bytes_from_two_clones(tmp_path: Path) -> None:
    made = []
    one = Clone(tmp_path / "one")
    (tmp_path / "two").mkdir()
    subprocess.run(["git", "clone", "-q", one.folder, tmp_path / "two" / "other"], check=True)
    for folder in (one.folder, tmp_path / "two" / "other"):
        (folder / "lies about").write_text("?")
        env = {**os.environ, "GITHUB_REPOSITORY": REPOSITORY}
        command = [sys.executable, "-m", "build.release.assets"]
        for what in ("common", "sums"):
            subprocess.run([*command, what, tmp_path / "out"], cwd=folder, env=env, check=True, capture_output=True)
        made.append({path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()})
        shutil.rmtree(tmp_path / "out")
    assert made[0] == made[1]
    assert set(made[0]) == {"ways-mcp-0.1.0-source.tar.gz", "ways-mcp-0.1.0.pyz", "attend-0.1.0.pyz", SUMS}
    told = sums.parse(made[0][SUMS])
    assert told == {name: hashlib.sha256(data).hexdigest() for name, data in made[0].items() if name != SUMS}


@pytest.mark.demand("LIFE-8")
def test_an_archive_is_the_same_bytes_from_the_same_files_in_any_order_and_mode(tmp_path: Path) -> None:
    outputs = []
    for name, mode in (("one", 0o755), ("two", 0o700)):
        files = commands(tmp_path / name, "1.0.0")
        (files / "_internal" / "library").write_bytes(b"same")
        (files / "_internal" / "link").symlink_to("library")
        os.utime(files / "ways", (mode, mode))
        (files / "ways").chmod(mode)
        output = tmp_path / f"{name}.tar.gz"
        archive.write(files, About("1.0.0", "linux-x86_64"), output)
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1]


def test_what_makes_no_archive_is_named(tmp_path: Path) -> None:
    files = commands(tmp_path / "files", "1.0.0")
    with pytest.raises(archive.ArchiveError, match="no version"):
        archive.write(files, About("1.0", "linux-x86_64"), tmp_path / "x")
    (files / "release.json").write_text("{}")
    with pytest.raises(archive.ArchiveError, match=r"release\.json"):
        archive.write(files, About("1.0.0", "linux-x86_64"), tmp_path / "x")


def test_a_whole_release_has_every_platform_and_a_bundle_for_each_file(tmp_path: Path) -> None:
    version = Version(1, 0, 0)
    wanted = assets.names(version)
    assert {archive_name(version, platform) for platform in PLATFORMS} < set(wanted)
    for name in wanted:
        (tmp_path / name).touch()
        (tmp_path / f"{name}{BUNDLE}").touch()
    assert assets.missing(version, tmp_path, signed=True) == []
    (tmp_path / wanted[0]).unlink()
    (tmp_path / "stray").touch()
    assert assets.missing(version, tmp_path, signed=True) == sorted([wanted[0], "stray"])


@pytest.fixture
def released(tmp_path: Path, signer: Signer) -> Path:
    """A signed release of one platform, in a folder."""
    folder = tmp_path / "release"
    data = packed(tmp_path / "made", "1.1.0")
    files = release_of(data, "1.1.0", signer.sign(data, "1.1.0"))
    files[SUMS + BUNDLE] = signer.sign(files[SUMS], "1.1.0")
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def outsider(signer: Signer, monkeypatch: pytest.MonkeyPatch) -> Identity:
    monkeypatch.setenv("PATH", f"{signer.programs}:{os.environ['PATH']}")
    monkeypatch.setenv("AGENT_WAYS_TRUST_CONFIG", signer.trust)
    return Identity(REPOSITORY, Version(1, 1, 0))


@pytest.mark.demand("LIFE-8")
def test_an_outsider_verifies_every_asset(
    released: Path, outsider: Identity, capsys: pytest.CaptureFixture[str]
) -> None:
    held = verify.verify(released, outsider)
    assert held == [SUMS, "ways-mcp-1.1.0-linux-x86_64.tar.gz"]
    words = [str(released), "--repository", REPOSITORY, "--version", "1.1.0"]
    assert verify.main(words) == 0
    assert "2 assets are what the release workflow of someone/agent-ways signed" in capsys.readouterr().out


@pytest.mark.demand("LIFE-8")
def test_an_outsider_refuses_what_does_not_hold(
    released: Path, outsider: Identity, signer: Signer, capsys: pytest.CaptureFixture[str]
) -> None:
    name = archive_name(Version(1, 1, 0), "linux-x86_64")
    with pytest.raises(IdentityError):
        verify.verify(released, Identity("another/agent-ways", Version(1, 1, 0)))
    (released / "stray").touch()
    with pytest.raises(SumsMissingError):
        verify.verify(released, outsider)
    (released / "stray").unlink()
    told = {name: hashlib.sha256((released / name).read_bytes()).hexdigest(), "absent": "0" * 64}
    (released / SUMS).write_text(sums.render(told))
    (released / (SUMS + BUNDLE)).write_bytes(signer.sign((released / SUMS).read_bytes(), "1.1.0"))
    with pytest.raises(SumsMismatchError, match="absent"):
        verify.verify(released, outsider)
    (released / (SUMS + BUNDLE)).write_bytes((released / (name + BUNDLE)).read_bytes())
    with pytest.raises(BundleRefusedError):
        verify.verify(released, outsider)
    words = [str(released), "--repository", REPOSITORY, "--version", "1.1.0"]
    assert verify.main(words) == BundleRefusedError.exit_code
    assert "made for another file" in capsys.readouterr().err


@pytest.mark.demand("LIFE-8")
def test_an_outsider_looks_into_the_archives(
    released: Path, outsider: Identity, signer: Signer, tmp_path: Path
) -> None:
    data = packed(tmp_path / "other", "1.1.0", platform="linux-arm64")
    for name, content in release_of(data, "1.1.0", signer.sign(data, "1.1.0")).items():
        (released / name).write_bytes(content)
    (released / (SUMS + BUNDLE)).write_bytes(signer.sign((released / SUMS).read_bytes(), "1.1.0"))
    with pytest.raises(PayloadError, match=r"holds 1\.1\.0 for linux-arm64"):
        verify.verify(released, outsider)


@pytest.mark.demand("LIFE-2")
def test_a_prebuilt_stands_for_a_checkout_only_where_its_sources_are_the_releases() -> None:
    def asked(**answers: str) -> object:
        return lambda *words, **_: answers.get(words[0].replace("-", "_"), "")

    assert str(prebuilt.released_version(asked(rev_parse="abc"))) == __version__  # type: ignore[arg-type]
    for answers, words in (
        ({}, "does not know the tag"),
        ({"rev_parse": "abc", "status": " M src/x"}, "are not those of release"),
        ({"rev_parse": "abc", "diff": "src/x"}, "are not those of release"),
    ):
        with pytest.raises(NoPrebuiltError, match=words):
            prebuilt.released_version(asked(**answers))  # type: ignore[arg-type]


@pytest.mark.demand("LIFE-2")
@pytest.mark.field_report(89)
def test_the_checkouts_server_is_the_released_one_proven_and_tried_out(
    server: ReleaseServer, signer: Signer, tmp_path: Path
) -> None:
    data = packed(tmp_path / "made", "1.1.0")
    server.publish("1.1.0", release_of(data, "1.1.0", signer.sign(data, "1.1.0")))
    env = {
        "HOME": str(tmp_path),
        "PATH": f"{signer.programs}:/usr/bin:/bin",
        "AGENT_WAYS_RELEASES": server.base,
        "AGENT_WAYS_REPOSITORY": REPOSITORY,
        "AGENT_WAYS_TRUST_CONFIG": signer.trust,
    }
    folder = tmp_path / "versions"
    name = prebuilt.bring(folder, env, machine=LINUX, version=Version(1, 1, 0))
    assert name == f"1.1.0-{hashlib.sha256(data).hexdigest()[:8]}"
    said = subprocess.check_output([folder / name / "ways-mcp", "--version"], text=True)
    assert said == "ways-mcp 1.1.0\n"
    asked = len(server.asked)
    assert prebuilt.bring(folder, env, machine=LINUX, version=Version(1, 1, 0)) == name
    assert len(server.asked) == asked
    bad = release_of(data, "1.1.0", signer.sign(data, "1.1.0", repository="attacker/agent-ways"))
    server.publish("1.1.0", bad)
    shutil.rmtree(folder)
    with pytest.raises(IdentityError):
        prebuilt.bring(folder, env, machine=LINUX, version=Version(1, 1, 0))
    assert list(folder.iterdir()) == []
    with pytest.raises(NoPrebuiltError):
        prebuilt.bring(folder, env, machine=Machine("Linux", "riscv64"), version=Version(1, 1, 0))
