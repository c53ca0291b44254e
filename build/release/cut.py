"""Cuts a version: looks whether it may be, bumps it, writes its changelog section, commits and tags.

    python -m build.release.cut --component ways-mcp --level patch|minor|major [--push] [--dry-run]
    python -m build.release.cut --record X.Y.Z --from FOLDER

Owns the order; nothing is changed before everything was looked at, and what was changed is taken back where a later
step fails. The push is left to the maintainer unless asked for: the tag is what starts the release workflow.
`--record` puts the checksums of a published release, verified, into `checksums/`, to be reviewed like code.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import subprocess
import sys
from pathlib import Path

from agent_ways.base.errors import WaysError
from agent_ways.ways.update import bundles, sums
from agent_ways.ways.update.names import COMPONENT, SUMS, Version, parse_version
from build import ROOT
from build.release import verify
from build.release.about import git, repository

VERSION_FILE = os.path.join("src", "agent_ways", "__init__.py")
"""The one place where the version stands."""
CHANGELOG = "CHANGELOG.md"
UNRELEASED = "## Unreleased"
_ASSIGNMENT = re.compile(r'^__version__ = "([^"]*)"$', re.MULTILINE)


class NotNowError(Exception):
    """The version can not be cut; the text says what to do first."""


def bumped(version: Version, level: str) -> Version:
    """The next version of that level."""
    if level == "major":
        return Version(version.major + 1, 0, 0)
    if level == "minor":
        return Version(version.major, version.minor + 1, 0)
    return Version(version.major, version.minor, version.patch + 1)


def current(text: str) -> Version:
    """The version in the text of the version file."""
    match = _ASSIGNMENT.search(text)
    version = parse_version(match[1]) if match else None
    if version is None:
        raise NotNowError(f"{VERSION_FILE} does not hold a version X.Y.Z")
    return version


def with_version(text: str, version: Version) -> str:
    """The text of the version file for another version."""
    return _ASSIGNMENT.sub(f'__version__ = "{version}"', text, count=1)


def with_section(text: str, version: Version, day: str) -> str:
    """The changelog with what was unreleased under the version's heading, and an empty place for what comes."""
    head, found, rest = text.partition(f"{UNRELEASED}\n")
    if not found:
        raise NotNowError(f'{CHANGELOG} has no "{UNRELEASED}"')
    body = re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    if not body.strip():
        raise NotNowError(f'{CHANGELOG} says nothing under "{UNRELEASED}": what is released?')
    return f"{head}{UNRELEASED}\n\n## {version} - {day}\n{rest}"


def preflight(version: Version, *, tests: bool) -> None:
    """Raise `NotNowError` unless the checkout is clean, on its main branch, in sync, and its tests pass."""
    if git("status", "--porcelain"):
        raise NotNowError("the checkout has changes: commit them or put them aside")
    branch = git("symbolic-ref", "--short", "HEAD")
    if branch != "main":
        raise NotNowError(f"this is {branch or 'no branch'}: a release is cut on main")
    if git("remote"):
        try:
            git("fetch", "--quiet", "--tags", "origin", check=True)
        except subprocess.CalledProcessError as error:
            raise NotNowError(f"git fetch failed: {error.stderr.strip()}") from None
        if git("rev-parse", "HEAD") != git("rev-parse", "refs/remotes/origin/main"):
            raise NotNowError("main is not what origin has: pull, or push, first")
        if git("ls-remote", "--tags", "origin", f"refs/tags/{version.tag}"):
            raise NotNowError(f"origin has the tag {version.tag} already")
    if git("rev-parse", "--verify", "--quiet", f"refs/tags/{version.tag}"):
        raise NotNowError(f"the tag {version.tag} is there already")
    for target in ("check", "test") if tests else ():
        print(f"make {target} ...", flush=True)
        if subprocess.run(["make", "-C", str(ROOT), target], check=False).returncode:
            raise NotNowError(f"make {target} does not pass")


def cut(level: str, *, push: bool, dry_run: bool, tests: bool, day: str) -> Version:
    """See the module's first lines."""
    version_file, changelog = ROOT / VERSION_FILE, ROOT / CHANGELOG
    old = (version_file.read_text(encoding="utf-8"), changelog.read_text(encoding="utf-8"))
    version = bumped(current(old[0]), level)
    new = (with_version(old[0], version), with_section(old[1], version, day))
    preflight(version, tests=tests)
    if dry_run:
        print(f"would cut {version}: bump {VERSION_FILE}, date {CHANGELOG}, commit, tag {version.tag}")
        return version
    before = git("rev-parse", "HEAD", check=True)
    try:
        version_file.write_text(new[0], encoding="utf-8")
        _forget_compiled(version_file)
        changelog.write_text(new[1], encoding="utf-8")
        git("add", VERSION_FILE, CHANGELOG, check=True)
        git("commit", "--quiet", "-m", f"Release {version}", check=True)
        git("tag", "--annotate", "-m", f"agent-ways {version}", version.tag, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        git("reset", "--quiet", "--soft", before)
        git("reset", "--quiet", "--", VERSION_FILE, CHANGELOG)
        version_file.write_text(old[0], encoding="utf-8")
        _forget_compiled(version_file)
        changelog.write_text(old[1], encoding="utf-8")
        raise NotNowError(f"could not commit and tag, all is as it was: {getattr(error, 'stderr', error)}") from None
    words = f"git push --atomic origin main {version.tag}"
    if push:
        try:
            git(*words.split()[1:], check=True)
        except subprocess.CalledProcessError as error:
            raise NotNowError(
                f"{version} is cut, and the push failed: {error.stderr.strip()}\nPush:  {words}"
            ) from None
        print(f"{version} is cut and pushed; the release workflow makes a draft, and publishes what it verified")
    else:
        print(f"{version} is cut. Look at it:  git show {version.tag}\nThen start the release:  {words}")
    return version


def _forget_compiled(version_file: Path) -> None:
    """Python tells a changed source by its size and second: a version bumped right after it was read looks the same."""
    for compiled in (version_file.parent / "__pycache__").glob("__init__.*.pyc"):
        compiled.unlink(missing_ok=True)


def record(version: Version, folder: Path, where: str) -> Path:
    """Verify a published release in `folder` and put its checksums into `checksums/`."""
    verify.verify(folder, bundles.Identity(where, version))
    path = ROOT / "checksums" / sums.known_name(version)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes((folder / SUMS).read_bytes())
    return path


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m build.release.cut")
    parser.add_argument("--component", default=COMPONENT)
    parser.add_argument("--level", choices=("patch", "minor", "major"))
    parser.add_argument("--push", action="store_true", help="push main and the tag, which starts the release")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--no-tests", action="store_true", help="the tests ran for this commit elsewhere")
    parser.add_argument("--record", metavar="X.Y.Z", help="put a published release's checksums into checksums/")
    parser.add_argument("--from", dest="folder", type=Path, metavar="FOLDER", help="where its assets are")
    options = parser.parse_args(arguments)
    if options.component != COMPONENT:
        parser.error(f"COMPONENT={options.component} is not released: there is {COMPONENT}, which carries all commands")
    version = parse_version(options.record or "")
    if (options.record is None) == (options.level is None) or (options.record and not (version and options.folder)):
        parser.error("say LEVEL=patch, minor or major; or --record X.Y.Z --from FOLDER")
    day = dt.datetime.now(dt.UTC).date().isoformat()
    try:
        if version:
            path = record(version, options.folder, repository())
            print(f"{path.relative_to(ROOT)} is written; review and commit it")
            return 0
        cut(options.level, push=options.push, dry_run=options.dry_run, tests=not options.no_tests, day=day)
    except (NotNowError, WaysError, OSError) as error:
        print(f"cut-release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
