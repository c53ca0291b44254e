"""Writes the zipapps: one file that any Python from 3.11 on runs with its standard library alone.

    python -m build.zipapp [--command ways-mcp] [--source src] [--output dist/ways-mcp.pyz]

Owns what goes into an archive and how it is laid out. The same sources and the same interpreter give the same
bytes, wherever and whenever: sorted names, one date, one mode, no path of the building machine. Each module is
there twice, as source and compiled for the building interpreter's minor version; another minor passes the
compiled one over and reads the source.

Members are stored, not deflated, and compiled without docstrings: each start would pay for inflating them (measured:
a sixth of the start), and nobody reads them there.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from build import ROOT

PACKAGE = "agent_ways"
ROOMS = ("base", "claude", "keepalive", "attend", "server")
"""The rooms that need nothing but the standard library; `ways` has dependencies and stays out."""

ENTRIES = {"ways-mcp": "agent_ways.server.__main__", "attend": "agent_ways.attend.__main__"}
"""The commands that run as zipapps, each with the module whose `main` it calls."""

PORTABLE_LAUNCH = b"#!/usr/bin/env -S python3 -IS\n"
"""-I: no variable, current folder or user's packages can change what runs. -S: `site` costs more than our own start."""

MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("{command} needs Python 3.11 or newer; this is %s (%s)" % (sys.version.split()[0], sys.executable))

import os

# A link in the path may point elsewhere tomorrow; what is imported later must come from this very archive.
sys.path[0] = os.path.realpath(sys.path[0])

from {module} import main

sys.exit(main())
"""

_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16

# Compiled in a process of its own: how strings are marshalled depends on what else that process has interned.
_COMPILER = """
import json, py_compile, sys
for source, compiled, shown in json.load(sys.stdin):
    py_compile.compile(
        source, compiled, dfile=shown, doraise=True, optimize=2,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
"""


class ZipappError(Exception):
    """The sources do not make an archive."""


def archive(source: Path, command: str, launch: bytes = PORTABLE_LAUNCH) -> bytes:
    """The whole file for `command`, from the package in `source` (the folder that holds `agent_ways/`)."""
    main = MAIN.format(command=command, module=ENTRIES[command])
    with tempfile.TemporaryDirectory(prefix="agent-ways-zipapp-") as scratch:
        staged = Path(scratch)
        members = {"__main__.py": main.encode()}
        members |= _sources(source)
        members |= _compiled(members, staged)
    buffer = io.BytesIO()
    buffer.write(launch)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as out:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3  # Unix, also when built elsewhere
            info.external_attr = _MODE
            out.writestr(info, members[name])
    return buffer.getvalue()


def _sources(source: Path) -> dict[str, bytes]:
    package = source / PACKAGE
    files = [package / "__init__.py"]
    for room in ROOMS:
        if not (package / room / "__init__.py").is_file():
            raise ZipappError(f"{package / room} is not there: {source} is not the folder that holds {PACKAGE}/")
        files += (path for path in (package / room).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    for path in files:
        if path.suffix != ".py":
            raise ZipappError(f"{path} is no Python module: an archive's rooms hold nothing else")
    return {path.relative_to(source).as_posix(): path.read_bytes() for path in files}


def _compiled(members: dict[str, bytes], staged: Path) -> dict[str, bytes]:
    work = []
    for number, (name, data) in enumerate(sorted(members.items())):
        source, compiled = staged / f"{number}.py", staged / f"{number}.pyc"
        source.write_bytes(data)
        work.append((str(source), str(compiled), name))
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", _COMPILER],
        input=json.dumps(work),
        text=True,
        capture_output=True,
        check=False,
    )
    if ran.returncode:
        raise ZipappError(f"a module does not compile: {ran.stderr.strip()}")
    return {name + "c": Path(compiled).read_bytes() for _, compiled, name in work}


def write(path: Path, data: bytes, mode: int = 0o755) -> None:
    """Put `data` at `path` by a rename: whoever runs the old file keeps it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m build.zipapp", description="Build one zipapp.")
    parser.add_argument("--command", choices=sorted(ENTRIES), default="ways-mcp")
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="the folder that holds agent_ways/")
    parser.add_argument("--output", type=Path, help="default: dist/COMMAND.pyz in the checkout")
    options = parser.parse_args(arguments)
    output = options.output or ROOT / "dist" / f"{options.command}.pyz"
    try:
        data = archive(options.source, options.command)
    except ZipappError as error:
        print(f"zipapp: {error}", file=sys.stderr)
        return 1
    write(output, data)
    print(f"{output}: {len(data):,} bytes; runs under any Python from 3.11 on:  python3 -IS {output.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
