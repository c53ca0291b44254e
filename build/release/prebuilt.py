"""The released server for a checkout: what `make ways-mcp` takes before it builds one.

Owns when a prebuilt stands for a checkout: only where the checkout's sources are those of the release, else what it
holds would be passed over in silence. What was proven is recorded beside it. Anything but "there is none to be had"
stops: a mismatch is never answered by quietly building from source.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from agent_ways import __version__
from agent_ways.base.errors import StateError
from agent_ways.base.jsontext import dumps
from agent_ways.base.records import make_dirs, read_record, write_bytes
from agent_ways.ways.layout import COMPLETE
from agent_ways.ways.update import platforms
from agent_ways.ways.update.errors import NoPrebuiltError
from agent_ways.ways.update.fetch import Edges, Fetcher, Source
from agent_ways.ways.update.names import SOURCE, Version, parse_version
from agent_ways.ways.update.origin import origin_of
from agent_ways.ways.update.versions import runs, smoke
from build import ROOT
from build.release.about import git

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

BUILT_FROM = ("src", "build/zipapp.py", "build/launch.py")
"""What a server is made of; the rest of a checkout may differ from the release."""


def released_version(ask: Callable[..., str] = git) -> Version:
    """The version whose release this checkout's sources are. Raises `NoPrebuiltError` with the reason where none is."""
    version = parse_version(__version__)
    if version is None:
        raise NoPrebuiltError(f"{__version__} is no released version")
    if not ask("rev-parse", "--verify", "--quiet", f"refs/tags/{version.tag}^{{commit}}"):
        raise NoPrebuiltError(f"this checkout does not know the tag {version.tag}", "Get it:  git fetch --tags")
    changed = ask("status", "--porcelain", "--", *BUILT_FROM)
    changed = changed or ask("diff", "--name-only", version.tag, "HEAD", "--", *BUILT_FROM)
    if changed:
        raise NoPrebuiltError(f"the sources of this checkout are not those of release {version}")
    return version


def standing(folder: Path, version: Version, env: Mapping[str, str]) -> str | None:
    """The prebuilt of that version that is in `folder` already, and runs."""
    for path in sorted(folder.glob(f"{version}-????????")):
        try:
            record = read_record(str(path / COMPLETE), 1) or {}
        except StateError:
            continue
        if record.get("form") == "frozen" and runs(str(path), str(version), env):
            return path.name
    return None


def bring(
    folder: Path,
    env: Mapping[str, str],
    *,
    sums_only: bool = False,
    edges: Edges | None = None,
    machine: platforms.Machine | None = None,
    version: Version | None = None,
) -> str:
    """Download, prove and try out the prebuilt of this checkout's version, in a folder below `folder`.

    Returns the name of that folder, which holds all three commands; one that is there and runs is kept. Raises
    `NoPrebuiltError` where building from source is the way, another `ReleaseError` where it is not.
    """
    version = version or released_version()
    there = standing(folder, version, env)
    if there:
        return there
    source = Source(
        origin=origin_of(env, checkout=str(ROOT)),
        choice=platforms.choose(machine or platforms.this_machine()),
        checksums=str(ROOT / "checksums"),
        sums_only=sums_only,
    )
    fetcher = Fetcher(source, edges or Edges(), env)
    todo = fetcher.decide(version)
    if isinstance(todo, Version) or todo.platform == SOURCE:
        raise NoPrebuiltError(f"no prebuilt for this machine: {source.choice.reason}")
    made = os.path.join(folder, todo.identifier)
    shutil.rmtree(made, ignore_errors=True)
    make_dirs(made)
    try:
        proof = fetcher.bring(todo, made)
        smoke(made, str(version), env)
        record = {"v": 1, "version": str(version), "form": "frozen", "sha256": todo.digest, "proof": proof}
        write_bytes(os.path.join(made, COMPLETE), dumps(record).encode("ascii") + b"\n", 0o644)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return todo.identifier
