"""A release from beginning to end on this machine, without a network: `make release-rehearsal`.

    python -m build.release.rehearsal [--keep FOLDER]

In a clone with an origin of its own: cut a version, build its assets, add them up, sign them with a sigstore of our
own, verify them as an outsider, serve them on loopback, install from there as a machine without Python would; then a
second version, which is updated to and taken back, and which `make ways-mcp` takes. At the end the promises of the
frozen form are tested, and the real client starts it where that can be. Needs the environment that tests run in.

Owns the order. Each step is a recipe or a command that a person or the workflow runs too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.release.computer import Signer
from tests.release.server import ReleaseServer
from tests.support.fake_claude_cli import FakeClaudeCommand

from agent_ways.ways.layout import COMMANDS, PROJECTED
from agent_ways.ways.projection import ACTIVE_HOOKS, HOOKS, SKILLS, Source
from agent_ways.ways.update.names import BUNDLE, Version, archive_name
from agent_ways.ways.update.platforms import choose, this_machine
from build import ROOT
from build.frozen.check import declared_floor
from build.release import tools
from build.release.cut import CHANGELOG, UNRELEASED, VERSION_FILE, current

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REPOSITORY = "rehearsal/agent-ways"
AUTHOR = {
    "GIT_AUTHOR_NAME": "Release Rehearsal",
    "GIT_AUTHOR_EMAIL": "rehearsal@example.org",
    "GIT_COMMITTER_NAME": "Release Rehearsal",
    "GIT_COMMITTER_EMAIL": "rehearsal@example.org",
}


class FailedStepError(Exception):
    """A step did not do what it should; the text says what was seen."""


class Rehearsal:
    """Everything below one folder."""

    def __init__(self, folder: Path, server: ReleaseServer, signer: Signer) -> None:
        self.folder, self.server, self.signer = folder, server, signer
        self.origin, self.clone, self.home = folder / "origin.git", folder / "clone", folder / "home"
        self.platform = choose(this_machine()).platform or "none"
        self.claude = FakeClaudeCommand(folder / "programs")

    def run(self, *words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        """Run a command; what it printed. Raises `FailedStepError` where it fails."""
        dropped = ("GITHUB_", "PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        ran = subprocess.run(
            [str(word) for word in words],
            cwd=cwd or self.clone,
            env={**inherited, **AUTHOR, "GITHUB_REPOSITORY": REPOSITORY, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if ran.returncode:
            said = "\n".join((ran.stdout + ran.stderr).strip().splitlines()[-25:])
            raise FailedStepError(f"{' '.join(map(str, words))}: exit code {ran.returncode}\n{said}")
        return ran.stdout

    def recipe(self, name: str, *words: object, env: Mapping[str, str] | None = None) -> str:
        """Run a recipe of the clone."""
        return self.run(sys.executable, "-E", "-s", "-m", f"build.{name}", *words, env=env)

    def person(self) -> dict[str, str]:
        """The environment of a person who updates: a stand-in for Claude Code and a verifier, the mirror, our root."""
        return {
            "HOME": str(self.home),
            "PATH": f"{self.claude.folder}:{self.signer.programs}:{os.environ.get('PATH', os.defpath)}",
            "AGENT_WAYS_RELEASES": self.server.base,
            "AGENT_WAYS_REPOSITORY": REPOSITORY,
            "AGENT_WAYS_TRUST_CONFIG": self.signer.trust,
            "XDG_DATA_HOME": "",
            "XDG_STATE_HOME": "",
            "XDG_CONFIG_HOME": "",
            "XDG_BIN_HOME": "",
            "CLAUDE_CONFIG_DIR": "",
        }

    def begin(self) -> None:
        """An origin, a clone of it."""
        self.run("git", "clone", "--quiet", "--bare", "--branch", "main", ROOT, self.origin, cwd=self.folder)
        self.run("git", "clone", "--quiet", self.origin, self.clone, cwd=self.folder)
        self.home.mkdir()

    def cut(self, level: str) -> Version:
        """Something worth a release, and the cut; pushed, which starts the workflow in real life."""
        changelog = self.clone / CHANGELOG
        text = changelog.read_text(encoding="utf-8")
        changelog.write_text(text.replace(f"{UNRELEASED}\n", f"{UNRELEASED}\n\n- Rehearsed.\n", 1), encoding="utf-8")
        self.run("git", "commit", "--quiet", "--all", "--message", "Rehearse")
        self.run("git", "push", "--quiet", "origin", "main")
        self.recipe("release.cut", "--component", "ways-mcp", "--level", level, "--no-tests", "--push")
        version = current((self.clone / VERSION_FILE).read_text(encoding="utf-8"))
        expect(version.tag in self.run("git", "ls-remote", "--tags", "origin"), f"the tag {version.tag} was not pushed")
        return version

    def release(self, version: Version) -> Path:
        """The folder with the assets of this machine's platform and the common ones, summed and signed."""
        folder = self.folder / "releases" / str(version)
        self.recipe("release.assets", "common", folder)
        self.recipe("frozen", "--archive", folder)
        self.recipe("release.assets", "sums", folder)
        for path in sorted(folder.iterdir()):
            bundle = self.signer.sign(path.read_bytes(), str(version), repository=REPOSITORY)
            path.with_name(path.name + BUNDLE).write_bytes(bundle)
        return folder

    def verified(self, folder: Path, version: Version) -> None:
        """As an outsider: of the repository and the version alone."""
        words = (folder, "--repository", REPOSITORY, "--version", version)
        said = self.recipe("release.verify", *words, env={**self.person(), "HOME": os.environ["HOME"]})
        expect("assets are what the release workflow of" in said, said)

    def publish(self, folder: Path, version: Version) -> None:
        """Put it on the server."""
        self.server.publish(str(version), {path.name: path.read_bytes() for path in folder.iterdir()})

    def unpacked(self, folder: Path, version: Version) -> None:
        """A machine without Python: the archive is unpacked by hand, and brings itself in properly."""
        somewhere = self.folder / "downloads"
        somewhere.mkdir()
        self.run("tar", "-xzf", folder / archive_name(version, self.platform), "-C", somewhere)
        ways = next(somewhere.iterdir()) / "ways"
        self.run(ways, "update", env=self.person())
        self.in_force(version)

    def in_force(self, version: Version) -> None:
        """All three commands on PATH tell the version."""
        for name in COMMANDS:
            said = self.ways_bin(name, "--version").strip()
            expect(said == f"{name} {version}", f"{name} says {said!r}, not {version}")

    def ways_bin(self, name: str, *words: str) -> str:
        """Run an installed command as the person."""
        return self.run(self.home / ".local/bin" / name, *words, env=self.person())

    def reconciled(self) -> None:
        """The version in force lies in the config dir, by its links, and a second run leaves it there."""
        self.ways_bin("ways", "reconcile")
        said = self.ways_bin("ways", "reconcile")
        expect("nothing to do" in said, f"a second reconcile had something to do: {said}")
        config, version = self.home / ".claude", (self.home / ".local/bin/ways-mcp").resolve().parent
        for want in Source(str(version), str(version / PROJECTED)).links(str(config)):
            found, meant = os.path.realpath(want.path), os.path.realpath(want.leads_to)
            expect(found == meant and os.path.exists(found), f"{want.path} leads to {found}, not {meant}")
        for name in (HOOKS, *(f"skills/{name}" for name in SKILLS)):
            expect((config / name).is_dir(), f"{name} is not in {config}")
        for script, _ in ACTIVE_HOOKS.values():
            self.run(config / HOOKS / script, env=self.person())

    def updated(self, old: Version, new: Version) -> None:
        """There and back, and there again; a dry run before, which changes nothing."""
        expect(f"{new} is there" in self.ways_bin("ways", "update", "--check"), "--check does not tell")
        self.ways_bin("ways", "update", "--dry-run")
        self.in_force(old)
        self.reconciled()
        for words, version in ((["update"], new), (["update", "--rollback"], old), (["update"], new)):
            self.ways_bin("ways", *words)
            self.in_force(version)
            self.reconciled()

    def checkout(self, version: Version) -> None:
        """`make ways-mcp` in the clone takes the released server."""
        self.run("make", "ways-mcp", env={**self.person(), "HOME": os.environ["HOME"]})
        server = (self.clone / "bin/ways-mcp").resolve()
        said = self.run(server, "--version").strip()
        expect(said == f"ways-mcp {version}", said)
        expect((server.parent / "_internal").is_dir(), f"{server} was built, not taken from the release")

    def frozen(self) -> str:
        """The promises of the frozen form, on what the person has installed."""
        folder = (self.home / ".local/bin/ways-mcp").resolve().parent
        self.recipe("frozen.check", folder)
        tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "norecursedirs=.*", "tests/release/e2e")
        said = self.run(sys.executable, *tests, env={"AGENT_WAYS_FROZEN": str(folder)})
        return said.strip().splitlines()[-1]

    def client(self) -> str:
        """The real client starts the frozen server; where it can not be, the suite says why in one sentence."""
        server = str((self.home / ".local/bin/ways-mcp").resolve())
        ran = self.run(sys.executable, "-m", "tests.e2e", "-q", "-k", "status", env={"AGENT_WAYS_MCP": server})
        return ran.strip().splitlines()[-1] if ran.strip() else "not run here: make e2e says what it needs"


def expect(holds: bool, words: str) -> None:
    """Raise `FailedStepError` with `words` unless it holds."""
    if not holds:
        raise FailedStepError(words)


@contextlib.contextmanager
def step(title: str) -> Iterator[list[str]]:
    """One step: its title, how long it took, and what it has to tell."""
    print(f"... {title}", flush=True)
    began, told = time.monotonic(), list[str]()
    yield told
    print(f"ok  {title} ({time.monotonic() - began:.0f} s){': ' if told else ''}{' '.join(told)}", flush=True)


def rehearse(play: Rehearsal) -> None:
    """See the module's first lines."""
    with step("an origin and a clone"):
        play.begin()
    folders: list[tuple[Version, Path]] = []
    for level in ("minor", "patch"):
        with step(f"cut a {level} version, and push it") as told:
            version = play.cut(level)
            told.append(str(version))
        with step(f"build, add up and sign {version}") as told:
            folder = play.release(version)
            told.append(", ".join(sorted(path.name for path in folder.iterdir() if not path.name.endswith(BUNDLE))))
        with step(f"verify {version} as an outsider"):
            play.verified(folder, version)
        play.publish(folder, version)
        if not folders:
            with step(f"install {version} from an unpacked archive, without Python"):
                play.unpacked(folder, version)
        folders.append((version, folder))
    old, new = folders[0][0], folders[1][0]
    with step(f"ways update from {old} to {new}, back, and there again, each with its skills and hooks"):
        play.updated(old, new)
    with step("make ways-mcp takes the released server"):
        play.checkout(new)
    with step("the promises of the frozen form") as told:
        told.append(play.frozen())
    with step("the real client starts it") as told:
        told.append(play.client())


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m build.release.rehearsal")
    parser.add_argument("--keep", type=Path, help="rehearse in this new folder, and leave it")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    floor = ".".join(map(str, declared_floor(os.environ)))
    print(f"rehearsing a release; the frozen form is held to glibc {floor}", flush=True)
    with contextlib.ExitStack() as stack:
        if options.keep:
            options.keep.mkdir(parents=True)
            folder = options.keep.resolve()
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agent-ways-rehearsal-")))
        try:
            signer = Signer(folder / "sigstore", tools.environment("sigstore"))
            rehearse(Rehearsal(folder, stack.enter_context(ReleaseServer()), signer))
        except Exception as error:  # noqa: BLE001 - whatever it is, the rehearsal failed there
            print(f"failed: {error}", file=sys.stderr)
            return 1
    print(f"the rehearsal is green ({time.monotonic() - began:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
