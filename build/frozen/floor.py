"""What each ELF file below a folder asks of the machine: `python floor.py FOLDER` prints one JSON object.

Run by the interpreter of the frozen environment, which has pyelftools. Owns reading the files; what may be asked for
is `check`'s to judge.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSection  # type: ignore[import-not-found]
from elftools.elf.elffile import ELFFile  # type: ignore[import-not-found]
from elftools.elf.gnuversions import GNUVerNeedSection  # type: ignore[import-not-found]


def asked(path: Path) -> dict[str, Any] | None:
    """What one file needs, and where it looks for libraries; None where it is no ELF file."""
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
        elf = ELFFile(file)
        versions, needed, paths = [], [], []
        for section in elf.iter_sections():
            if isinstance(section, GNUVerNeedSection):
                versions += [auxiliary.name for _, auxiliaries in section.iter_versions() for auxiliary in auxiliaries]
            elif isinstance(section, DynamicSection):
                needed += [tag.needed for tag in section.iter_tags("DT_NEEDED")]
                paths += [tag.rpath for tag in section.iter_tags("DT_RPATH")]
                paths += [tag.runpath for tag in section.iter_tags("DT_RUNPATH")]
        return {"versions": sorted(set(versions)), "needed": sorted(set(needed)), "paths": ":".join(paths)}


def main(words: list[str]) -> None:
    """See the module's first lines."""
    folder = Path(words[0])
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    found = {path.relative_to(folder).as_posix(): answer for path in files if (answer := asked(path))}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
