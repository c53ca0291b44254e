"""Holds a frozen folder to what is promised of it: `make frozen-check`.

    python -m build.frozen.check [FOLDER]

Each promise is one function that returns what is wrong. AGENT_WAYS_GLIBC_FLOOR=2.36 stands for the declared floor on a
machine whose own interpreter was frozen; the release workflow builds to the declared one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_ways import __version__
from agent_ways.ways.layout import COMMANDS, PROJECTED, layout_of
from agent_ways.ways.projection import ACTIVE_HOOKS, HOOKS, SKILLS
from agent_ways.ways.update.errors import SmokeError
from agent_ways.ways.update.platforms import GLIBC_FLOOR
from agent_ways.ways.update.versions import smoke, write_record
from build import ROOT
from build.environment import NoEnvironmentError
from build.release import tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HANDSHAKE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"check","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ways_status","arguments":{}}}\n'
)
SYSTEM = re.compile(r"ld-linux.*|lib(c|m|dl|pthread|rt|util|resolv|nsl|crypt)\.so\.[0-9]+")
"""What glibc itself brings; every other library must be in the folder."""


def elf(folder: Path) -> dict[str, Any]:
    """What each ELF file in the folder asks of the machine."""
    python = tools.environment("frozen") / "bin" / "python"
    script = Path(__file__).with_name("floor.py")
    found: dict[str, Any] = json.loads(subprocess.check_output([python, "-I", script, str(folder)]))
    return found


def too_new(found: Mapping[str, Any], floor: tuple[int, ...]) -> list[str]:
    """The files that need a newer glibc than `floor`, each with the version."""
    wrong = []
    for path, asked in found.items():
        needed = [version for name in asked["versions"] if (version := glibc_version(name))]
        if needed and max(needed) > floor:
            wrong.append(f"{path} needs glibc {'.'.join(map(str, max(needed)))}")
    return wrong


def glibc_version(name: str) -> tuple[int, ...] | None:
    """The version in a symbol version's name, or None where it is not glibc's."""
    match = re.fullmatch(r"GLIBC_([0-9]+(?:\.[0-9]+)*)", name)
    return tuple(map(int, match[1].split("."))) if match else None


def declared_floor(env: Mapping[str, str]) -> tuple[int, ...]:
    """The floor that the folder is held to."""
    named = env.get("AGENT_WAYS_GLIBC_FLOOR", "")
    return tuple(map(int, named.split("."))) if named else GLIBC_FLOOR


def floor(folder: Path) -> str:
    """No file needs a newer glibc than is declared, and none a library that is neither glibc's nor in the folder."""
    if sys.platform != "linux":
        return ""
    found = elf(folder)
    if not found:
        return "no ELF file is there at all"
    ceiling = declared_floor(os.environ)
    wrong = too_new(found, ceiling)
    here = {path.rpartition("/")[2] for path in found}
    for path, asked in found.items():
        wrong += [f"{path} needs {lib}" for lib in asked["needed"] if lib not in here and not SYSTEM.fullmatch(lib)]
        outside = [place for place in asked["paths"].split(":") if place and not place.startswith("$ORIGIN")]
        wrong += [f"{path} looks for libraries in {place}" for place in outside]
    return "; ".join(wrong)


def starts(folder: Path) -> str:
    """Each command starts with hardly any environment, and tells its version."""
    try:
        smoke(str(folder), __version__, {"PATH": "/nowhere"})
    except SmokeError as error:
        return error.message
    return ""


def speaks(folder: Path) -> str:
    """The server shakes hands and answers a call."""
    with tempfile.TemporaryDirectory() as home:
        ran = subprocess.run(
            [folder / "ways-mcp"], input=HANDSHAKE, env={"HOME": home}, capture_output=True, timeout=60, check=False
        )
    return "" if ran.returncode == 0 and len(ran.stdout.splitlines()) == 2 and not ran.stderr else f"it said {ran!r}"


def children(folder: Path) -> str:
    """What a command of ours starts sees the environment that our caller gave, and nothing of the loader's."""
    told = {"LD_LIBRARY_PATH": "/of/the/caller", "PYTHONPATH": "/of/the/caller", "WORD": "two words"}
    for given in (told, {}):
        with tempfile.TemporaryDirectory() as scratch:
            seen = _seen_by_child(folder, Path(scratch), given)
        if seen is None:
            return "no child was started"
        leaked = {name for name in seen if name.startswith(_LOADERS)} - {*given}
        lost = {name for name, value in given.items() if seen.get(name) != value}
        if leaked or lost:
            return f"a child sees {sorted(leaked)} of the loader's, and not {sorted(lost)} of the caller's"
    return ""


_LOADERS = ("LD_", "DYLD_", "_PYI", "_MEI", "PYTHON", "SSL_", "PYDANTIC")


def _seen_by_child(folder: Path, scratch: Path, given: Mapping[str, str]) -> dict[str, str] | None:
    """The environment of the `claude` that the installed `ways reconcile` starts; None where it starts none."""
    stub = scratch / "claude"
    stub.write_text(f"#!/bin/sh\nexec env -0 > {scratch}/seen\n")
    stub.chmod(0o755)
    _reconciled(folder, {"HOME": str(scratch), "PATH": f"{scratch}:/usr/bin:/bin", **given})
    try:
        text = (scratch / "seen").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def _reconciled(folder: Path, env: Mapping[str, str]) -> str:
    """Put the folder in force as a version of that home, and run its `ways reconcile`; returns what it said."""
    layout = layout_of(env)
    identifier = f"{__version__}-00000000"
    made = Path(layout.version(identifier))
    if not made.exists():
        made.mkdir(parents=True)
        for name in (*COMMANDS, PROJECTED):
            (made / name).symlink_to(folder / name)
        write_record(layout, identifier, {"version": __version__})
        layout.put_in_force(identifier)
    ran = subprocess.run(
        [layout.command("ways"), "reconcile"],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stdout + ran.stderr


def projects(folder: Path) -> str:
    """Its skills and hooks are beside it, and the installed `ways reconcile` links them and leaves them there."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        config = home / ".claude"
        config.mkdir()
        for number in (1, 2):
            said = _reconciled(folder, {"HOME": scratch, "PATH": "/nowhere"})
            lost = [name for name in _PROJECTED if not _leads_into(config / name, folder / PROJECTED)]
            if lost:
                return f"after reconcile {number}, {', '.join(lost)} does not lead into {folder}: {said}"
        try:
            hooks = json.loads((config / "settings.json").read_text(encoding="utf-8"))["hooks"]
        except (OSError, ValueError, LookupError):
            hooks = {}
        for event, (script, _) in ACTIVE_HOOKS.items():
            if script not in json.dumps(hooks.get(event)) or not os.access(config / HOOKS / script, os.X_OK):
                return f"the hook of {event} is not offered, or can not be run"
    return ""


_PROJECTED = (HOOKS, *(f"skills/{name}" for name in SKILLS))


def _leads_into(link: Path, folder: Path) -> bool:
    return link.is_symlink() and link.exists() and folder.resolve() in link.resolve().parents


def plain(folder: Path) -> str:
    """No hook runs at each start, and nothing of the building machine is written anywhere."""
    places = [str(ROOT), str(Path.home())]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            if b"pyi_rth_" in data and path.name in COMMANDS:
                return f"{path.name} has a runtime hook"
            for place in places:
                if len(place) > 6 and f"{place}/".encode() in data:  # /root is a word in many a library
                    return f"{path.relative_to(folder)} names {place}"
    return ""


def bare(folder: Path) -> str:
    """It runs in a root that holds nothing but the C library: no Python, no shell, no /usr."""
    if sys.platform != "linux":
        return ""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        shutil.copytree(folder, root / "suite", symlinks=True)
        (root / "tmp").mkdir()
        (root / "home").mkdir()
        for library in _system_libraries(folder):
            target = root / library.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library.resolve(), target)
        (root / "proc").mkdir()  # every container has one; the loader finds its own place by it
        for name in COMMANDS:
            ran = subprocess.run(
                [*_ENTER, str(root), f"/suite/{name}"],
                env={"HOME": "/home", "PATH": os.environ.get("PATH", os.defpath)},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            if ran.stdout.strip() != f"{name} {__version__}" or ran.stderr:
                return f"{name} in a bare root: {ran.stderr.strip() or ran.stdout.strip()}"
    return ""


_ENTER = (
    *("unshare", *([] if os.getuid() == 0 else ["-r"]), "-m", "-p", "-f", "sh", "-c"),
    *('mount -t proc proc "$1/proc" && exec chroot "$1" "$2" --version', "sh"),
)


def _system_libraries(folder: Path) -> list[Path]:
    """The files of the C library that a frozen folder uses, and its loader, by their absolute paths."""
    listed = subprocess.check_output(["ldd", *map(str, folder.glob("_internal/*.so*"))], text=True)
    listed += subprocess.check_output(["ldd", str(folder / "ways")], text=True)
    paths = {Path(match) for match in re.findall(r"(/[^\s:]+)(?= \(0x)", listed)}
    return sorted(path for path in paths if SYSTEM.fullmatch(path.name))


CHECKS: dict[str, Callable[[Path], str]] = {
    "floor": floor,
    "starts": starts,
    "speaks": speaks,
    "children": children,
    "projects": projects,
    "plain": plain,
    "bare root": bare,
}


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines. Exit code 1 where a promise does not hold."""
    parser = argparse.ArgumentParser(prog="python -m build.frozen.check")
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist" / "frozen")
    folder = parser.parse_args(arguments).folder.resolve()
    if not (folder / "ways-mcp").is_file():
        print(f"frozen-check: {folder} is no frozen folder; make one first:  make frozen", file=sys.stderr)
        return 2
    failed = False
    for name, look in CHECKS.items():
        try:
            wrong = look(folder)
        except (NoEnvironmentError, OSError, subprocess.SubprocessError) as error:
            wrong = str(error)
        failed |= bool(wrong)
        print(f"{'failed' if wrong else 'ok':6}  {name}: {wrong or (look.__doc__ or '').splitlines()[0]}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
