"""A person's machine with a release installed, and releases to update it to.

The commands in these releases are small shell scripts that tell their version: what is under test is everything around
them. The real ones are built and updated to by `make release-rehearsal`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from build.release import archive

from agent_ways.base.process import process_table
from agent_ways.ways.layout import COMMANDS, PROJECTED, Layout, layout_of
from agent_ways.ways.update import sums, update, versions
from agent_ways.ways.update.bundles import Identity
from agent_ways.ways.update.fetch import Edges
from agent_ways.ways.update.managed import Place
from agent_ways.ways.update.names import SUMS, archive_name, bundle_name, parse_version
from agent_ways.ways.update.payload import About
from agent_ways.ways.update.platforms import Machine
from agent_ways.ways.world import World

if TYPE_CHECKING:
    from agent_ways.ways.report import Report
    from tests.release.server import ReleaseServer

REPOSITORY = "someone/agent-ways"
LINUX = Machine("Linux", "x86_64", "glibc", (2, 36))
PLATFORM = "linux-x86_64"
HERE = Path(__file__).parent


def commands(folder: Path, version: str, *, says: str = "") -> Path:
    """A folder of three commands that tell `version`; `says` is a line of shell that they run instead."""
    folder.mkdir(parents=True)
    for name in COMMANDS:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{says or f'echo {name} {version}'}\n")
        path.chmod(0o755)
    (folder / PROJECTED / "skills" / "attend").mkdir(parents=True)
    (folder / PROJECTED / "skills" / "attend" / "SKILL.md").write_text(f"Of {version}.\n")
    (folder / "_internal").mkdir()
    (folder / "_internal" / "library").write_bytes(os.urandom(150_000))
    return folder


def packed(folder: Path, version: str, *, platform: str = PLATFORM, says: str = "", named: str = "") -> bytes:
    """An archive of such commands."""
    files = commands(folder / f"{version}-{platform}-{os.urandom(3).hex()}", version, says=says)
    output = folder / "packed.tar.gz"
    archive.write(files, About(named or version, platform, "c" * 40, REPOSITORY), output)
    return output.read_bytes()


class Signer:
    """A private sigstore; `python` has `cryptography`, `programs` has the `sigstore` command."""

    def __init__(self, folder: Path, tools: Path) -> None:
        self.folder = folder
        self._python = tools / "bin" / "python"
        self.programs = tools / "bin"
        self._run("init", folder)

    @property
    def trust(self) -> str:
        return str(self.folder / "trust.json")

    def sign(self, data: bytes, version: str, *, repository: str = REPOSITORY, **other: str) -> bytes:
        """The bundle of `data` by the release workflow at the tag of `version`, or as `identity` and `ref` say."""
        number = parse_version(version)
        assert number
        identity = Identity(repository, number)
        path = self.folder / f"to-sign-{hashlib.sha256(data).hexdigest()[:8]}"
        path.write_bytes(data)
        subject, ref = other.get("identity", identity.subject), other.get("ref", identity.ref)
        self._run("sign", self.folder, repository, subject, ref, path)
        return Path(f"{path}.sigstore.json").read_bytes()

    def _run(self, *words: object) -> None:
        script = HERE / "private_sigstore.py"
        subprocess.run([self._python, "-I", script, *map(str, words)], check=True, capture_output=True)


def assets(
    archive_bytes: bytes, version: str, bundle: bytes | None = None, platform: str = PLATFORM
) -> dict[str, bytes]:
    """The files of a release with one platform."""
    number = parse_version(version)
    assert number
    name = archive_name(number, platform)
    found = {name: archive_bytes, SUMS: sums.render({name: hashlib.sha256(archive_bytes).hexdigest()}).encode()}
    return found if bundle is None else {**found, bundle_name(name): bundle}


def asset_name(version: str, platform: str = PLATFORM) -> str:
    number = parse_version(version)
    assert number
    return archive_name(number, platform)


class Computer:
    """A home with version 1.0.0 in force, as an update would have left it."""

    def __init__(self, folder: Path, server: ReleaseServer, signer: Signer | None = None, **env: str) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.env = {
            "HOME": str(self.home),
            "PATH": f"{signer.programs}:/usr/bin:/bin" if signer else "/nowhere",
            "AGENT_WAYS_RELEASES": server.base,
            "AGENT_WAYS_REPOSITORY": REPOSITORY,
            **({"AGENT_WAYS_TRUST_CONFIG": signer.trust} if signer else {}),
            **env,
        }
        self.layout: Layout = layout_of(self.env)

    @property
    def world(self) -> World:
        return World(env=self.env, home=str(self.home), layout=self.layout, table=process_table())

    def install(self, version: str = "1.0.0", identifier: str = "", **record: Any) -> str:
        identifier = identifier or f"{version}-{hashlib.sha256(version.encode()).hexdigest()[:8]}"
        if not self.layout.is_complete(identifier):
            commands(Path(self.layout.version(identifier)), version)
        versions.write_record(self.layout, identifier, {"version": version, "form": "frozen", **record})
        versions.put_in_force(self.world, identifier)
        versions.link_commands(self.world)
        return identifier

    def update(self, *, machine: Machine = LINUX, edges: Edges | None = None, **options: Any) -> Report:
        place = Place(package=os.path.join(os.path.realpath(self.layout.versions), "any", ""))
        here = update.Here(place=place, machine=machine, edges=edges or Edges(), **options.pop("more", {}))
        return update.run(self.world, here=here, **options)

    def says(self, name: str = "ways-mcp") -> str:
        """What the command on PATH tells."""
        path = Path(self.layout.bin) / name
        ran = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    def tree(self) -> dict[str, str]:
        """Everything in the home, with what it is and holds; the lock's text is its last holder's."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            name = str(path.relative_to(self.home))
            if path.is_symlink():
                found[name] = f"-> {path.readlink()}"
            elif path.is_file() and path.name != "lock":
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            elif path.is_dir():
                found[name] = "folder"
        return found
