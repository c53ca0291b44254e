"""Verifies the assets in a folder as an outsider would, who knows the repository and the version and nothing else.

    python -m build.release.verify FOLDER --repository owner/name [--version X.Y.Z]

Owns no check of its own: it goes by those that `ways update` goes by, over every asset and not one platform's alone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
from pathlib import Path

from agent_ways import __version__
from agent_ways.base.errors import WaysError
from agent_ways.ways.update import bundles, payload, sums, verifiers
from agent_ways.ways.update.names import BUNDLE, SOURCE, SUMS, archive_name, parse_version
from agent_ways.ways.update.platforms import PLATFORMS
from build import ROOT
from build.release.about import repository


def verify(folder: Path, identity: bundles.Identity) -> list[str]:
    """The names of the assets that hold; raises the error of the first that does not."""
    told = sums.parse((folder / SUMS).read_bytes())
    files = sorted(path for path in folder.iterdir() if not path.name.endswith(BUNDLE))
    verifier = verifiers.need(os.environ, SUMS)
    for path in files:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if path.name != SUMS:
            sums.compare(path.name, sums.expected(told, path.name), digest, against=SUMS)
        bundle = path.with_name(path.name + BUNDLE)
        bundles.check_subject(bundle.read_bytes(), digest, path.name)
        verifier.verify(str(path), str(bundle), identity, os.environ)
    for name in sorted({*told} - {path.name for path in files}):
        sums.compare(name, told[name], "nothing", against=SUMS)
    for platform in (*PLATFORMS, SOURCE):
        path = folder / archive_name(identity.version, platform)
        if path.exists():
            with tempfile.TemporaryDirectory(prefix="agent-ways-verify-") as scratch:
                payload.unpack(str(path), scratch)
                payload.check(payload.about(scratch), identity.version, platform)
    return [path.name for path in files]


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m build.release.verify")
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist" / "release")
    parser.add_argument("--repository", default=repository())
    parser.add_argument("--version", default=__version__)
    options = parser.parse_args(arguments)
    version = parse_version(options.version)
    if version is None or not options.repository:
        parser.error("--version takes X.Y.Z, and --repository owner/name")
    try:
        held = verify(options.folder, bundles.Identity(options.repository, version))
    except (WaysError, OSError) as error:
        print(f"release: {error}\n{getattr(error, 'hint', '')}".rstrip(), file=sys.stderr)
        return getattr(error, "exit_code", 1)
    print(f"{len(held)} assets are what the release workflow of {options.repository} signed at {version.tag}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
