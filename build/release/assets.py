"""The assets of a release that any machine can make, and their checksums.

    python -m build.release.assets common FOLDER     the zipapps and the archive of sources
    python -m build.release.assets sums FOLDER       SHA256SUMS over everything there
    python -m build.release.assets complete FOLDER   whether it holds all of a release, each file with its bundle
    python -m build.release.assets names             what a whole release holds, one name a line
    python -m build.release.assets tag               the tag of this version

Owns which files a release has. The platforms' archives are `build.frozen`'s.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

from agent_ways import __version__
from agent_ways.ways.update import sums
from agent_ways.ways.update.names import BUNDLE, SOURCE, SUMS, Version, archive_name, parse_version, zipapp_name
from agent_ways.ways.update.payload import About
from agent_ways.ways.update.platforms import PLATFORMS
from build import ROOT, zipapp
from build.release import archive
from build.release.about import commit, repository


def names(version: Version) -> list[str]:
    """Every file of a release, without the signature bundles, sorted."""
    return sorted(
        [
            *(archive_name(version, platform) for platform in (*PLATFORMS, SOURCE)),
            *(zipapp_name(version, command) for command in zipapp.ENTRIES),
            SUMS,
        ]
    )


def common(version: Version, folder: Path) -> list[Path]:
    """Make the zipapps and the archive of sources of the commit that is checked out."""
    with tempfile.TemporaryDirectory(prefix="agent-ways-sources-") as scratch:
        files = Path(scratch)
        # What git has of the commit, and nothing that lies about in the checkout.
        packed = subprocess.run(["git", "-C", str(ROOT), "archive", "HEAD"], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-xf", "-", "-C", scratch], input=packed, check=True)
        made = [folder / archive_name(version, SOURCE)]
        archive.write(files, About(str(version), SOURCE, commit(), repository()), made[0])
        for command in zipapp.ENTRIES:
            path = folder / zipapp_name(version, command)
            zipapp.write(path, zipapp.archive(files / "src", command))
            made.append(path)
    return made


def add_up(folder: Path) -> Path:
    """Write the checksums of all assets in a folder."""
    files = sorted(path for path in folder.iterdir() if path.name != SUMS and not path.name.endswith(BUNDLE))
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    path = folder / SUMS
    path.write_text(sums.render(found), encoding="ascii")
    return path


def missing(version: Version, folder: Path, *, signed: bool) -> list[str]:
    """The files that a whole release has and this folder does not, and those that it has too many."""
    wanted = names(version)
    if signed:
        wanted += [name + BUNDLE for name in wanted]
    found = {path.name for path in folder.iterdir()}
    return sorted({*wanted} ^ found)


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m build.release.assets")
    parser.add_argument("what", choices=("common", "sums", "complete", "names", "tag"))
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist" / "release")
    options = parser.parse_args(arguments)
    version = parse_version(__version__)
    if version is None:
        print(f"release: {__version__} is no version of a release", file=sys.stderr)
        return 1
    if options.what in ("names", "tag"):
        print("\n".join(names(version)) if options.what == "names" else version.tag)
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what == "complete":
        wrong = missing(version, options.folder, signed=True)
        for name in wrong:
            print(f"release: {name} is missing, or does not belong to a release", file=sys.stderr)
        return int(bool(wrong))
    made = common(version, options.folder) if options.what == "common" else [add_up(options.folder)]
    for path in made:
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
