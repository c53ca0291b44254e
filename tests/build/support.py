"""What the tests of recipes share: the checkout, other interpreters, a stand-in package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from build.zipapp import ENTRIES, ROOMS

CHECKOUT = Path(__file__).resolve().parents[2]


def pythons() -> list[str]:
    """The interpreters to try: AGENT_WAYS_PYTHONS (paths, joined with colons), what PATH has, and this one."""
    named = [path for path in os.environ.get("AGENT_WAYS_PYTHONS", "").split(":") if path]
    on_path = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    found: dict[str, str] = {}
    for path in [sys.executable, *named, *on_path]:
        look = "import sys; print(sys.version_info[:2] >= (3, 11) and sys.version)"
        ran = (
            subprocess.run([path or "", "-IS", "-c", look], capture_output=True, text=True, check=False)
            if path
            else None
        )
        if path and ran and ran.returncode == 0 and ran.stdout.strip() != "False":
            found.setdefault(ran.stdout, path)
    return list(found.values())


def stand_in(folder: Path, version: str = "1.2.3") -> Path:
    """A package of the real one's shape whose commands print where they run from; returns the folder it lies in."""
    package = folder / "agent_ways"
    for room in ROOMS:
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").write_text(f'"""{room}"""\n')
    (package / "__init__.py").write_text(f'__version__ = "{version}"\n')
    for module in ENTRIES.values():
        (package / module.split(".")[1] / "__main__.py").write_text(
            "import os, sys\n"
            "def main():\n"
            "    from agent_ways import __version__\n"
            "    if sys.argv[1:] == ['later']:\n"
            "        sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.readline()\n"
            "    from agent_ways.base import late\n"
            "    print(__version__, late.WORD, ascii(late.__file__)[1:-1],\n"
            "        sys.flags.isolated, sys.flags.no_site, *sys.argv[1:])\n"
            "    return 7\n"
        )
    (package / "base" / "late.py").write_text(f'WORD = "late-{version}"\n')
    return folder
