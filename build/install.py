"""Installs agent-ways from this checkout for one person, without root; takes it back; builds the checkout's server.

    python -m build.install install | uninstall | ways-mcp

Owns making a version: a private environment with the package, the zipapps built from it, a launcher for each command.
A version is made at its final place and counts once its `version.json` is there; the flip of a link puts it in force,
so whatever is interrupted, the old version or the new one works. Where things lie is `agent_ways.ways.layout`'s; what
is done in Claude Code's configuration is done by the installed `ways reconcile`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from agent_ways import __version__
from agent_ways.attend import statusline
from agent_ways.base.errors import WaysError
from agent_ways.claude import mcp, registration
from agent_ways.ways import render, startfile
from agent_ways.ways.commands import uninstall
from agent_ways.ways.layout import COMMANDS, PROJECTED, flip_link
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.target import target_of
from agent_ways.ways.update import versions
from agent_ways.ways.update.errors import NoPrebuiltError
from agent_ways.ways.update.fetch import Edges
from agent_ways.ways.update.progress import meter
from agent_ways.ways.world import World, this_world
from build import ROOT
from build.environment import Environment, NoEnvironmentError
from build.launch import LaunchError, interpreter, launcher, split_launcher
from build.release import prebuilt
from build.zipapp import ENTRIES, ZipappError, archive, write

STATUSLINE = "agent_ways.attend.statusline"
"""In the `attend` archive: what answers `ways statusline`."""
SMOKE_PATIENCE = 60
"""Seconds that `--version` of a fresh command may take."""


class BrokenVersionError(Exception):
    """A version was made and does not run; it was not put in force."""


def install(world: World) -> int:
    """See the module's first lines. Returns the exit code: 1 where what was installed does not work."""
    layout = world.layout
    versions.refuse_foreign(world)
    Ledger(layout).make_folder(layout.data)
    with world.lock():
        made = _make_version(world)
        before = layout.installed()
        flipped = versions.put_in_force(world, made)
        lines = [Line(Status.DONE if flipped else Status.OK, "version", f"{made} in {layout.versions}")]
        if flipped and before:
            lines.append(Line(Status.OK, "before", f"{before} is kept; ways update --rollback goes back to it"))
        lines += _link_commands(world)
    render.show(Report("install", tuple(lines)))
    _ways(world, "reconcile")  # what Claude Code's side refuses it says; that fails no install
    print("\nDoes it work?")
    broken = _ways(world, "doctor") != 0
    print(f"\n{_BROKEN if broken else what_next(world, registered=_registered(world))}")
    return int(broken)


_RESTART = "Restart the Claude Code sessions that are open: a session loads its servers when it starts."
_RECONCILE = """The server is installed and not registered with Claude Code; see above for why.
     Once that is mended (or Claude Code is installed), run:  ways reconcile"""
_EVENTS = """  From then on a message wakes a session that waits. For that nothing more is needed.
  It comes through the inbox of Claude Code itself; to have it come as an event of this server, start the session with
       claude --dangerously-load-development-channels server:agent-ways
  and be there: the client asks a person to confirm the flag at each start."""
_LATER = "  Later: ways status, ways doctor; make uninstall takes everything back."
_BROKEN = "Something does not work: see above for what to do. make uninstall takes everything back."


def what_next(world: World, *, registered: bool) -> str:
    """The steps that are left to a person, in their order."""
    steps = [*_path_step(world), _RESTART if registered else _RECONCILE]
    numbered = [f"  {number}. {step}" for number, step in enumerate(steps, 1)]
    return "\n".join(["What to do next:", *numbered, *([_EVENTS] if registered else []), _LATER])


def _path_step(world: World) -> list[str]:
    """Said where the commands are not found by their names."""
    folder = world.layout.bin
    if mcp.find_program(world.env, "ways") is not None:
        return []  # that another one comes first is doctor's to say
    command = startfile.put_on_path(folder, world.env)
    if command:
        return [f"Put {folder} on PATH:\n       {command}\n     and open a new terminal."]
    line = startfile.line_for_path(folder)
    return [
        f"Put {folder} on PATH: add this line to your shell's start file\n       {line}\n     and open a new terminal."
    ]


def _ways(world: World, verb: str) -> int:
    """Run the installed `ways`, its words on our output."""
    sys.stdout.flush()
    return subprocess.run([world.layout.command("ways"), verb], env=dict(world.env), check=False).returncode


def _registered(world: World) -> bool:
    try:
        target = target_of(world.env)
    except WaysError:
        return False
    return registration.plan_registration(mcp.read(target.place(world.env).file), target.link).state == "current"


def _link_commands(world: World) -> list[Line]:
    made = versions.link_commands(world)
    paths = (os.path.join(world.layout.bin, name) for name in COMMANDS)
    return [Line(Status.DONE if path in made else Status.OK, "command", path) for path in paths]


def _make_version(world: World) -> str:
    """The identifier of this checkout's version; it is made where it is not there, or does not run."""
    layout = world.layout
    identifier = f"{__version__}-{_digest(packages=True)}"
    folder = Path(layout.version(identifier))
    if layout.is_complete(identifier) and not _smoke(folder, COMMANDS):
        return identifier
    kept = {key: value for key, value in versions.record_of(layout, identifier).items() if key == versions.REPLACED}
    for name in layout.on_disk():
        if name == identifier or not layout.is_complete(name):
            shutil.rmtree(layout.version(name), ignore_errors=True)  # cut short: nothing can run from it
    print(f"agent-ways {__version__}: making a private environment (about 20 seconds) ...", flush=True)
    environment = Environment(folder / "venv", cached=False)
    environment.create()
    environment.install(ROOT / "requirements" / "install.lock")
    environment.install_project()
    package = Path(_run([str(environment.python), "-I", "-c", "import agent_ways; print(*agent_ways.__path__)"]))
    (folder / PROJECTED).symlink_to(os.path.relpath(os.path.realpath(package / PROJECTED), os.path.realpath(folder)))
    _write_commands(folder, package.parent)
    words = split_launcher(
        interpreter(),
        str(environment.folder / "bin" / "ways"),
        statusline.WORDS,
        str(folder / "attend.pyz"),
        STATUSLINE,
    )
    write(folder / "ways", words)
    trouble = _smoke(folder, COMMANDS)
    if trouble:
        raise BrokenVersionError(trouble)
    about = {"version": __version__, "python": interpreter(), "checkout": str(ROOT), **kept}
    versions.write_record(layout, identifier, about)
    return identifier


def _write_commands(folder: Path, source: Path) -> None:
    """The zipapps and their launchers."""
    for command, module in ENTRIES.items():
        path = folder / f"{command}.pyz"
        write(path, archive(source, command))
        write(folder / command, launcher(interpreter(), str(path), module))


def build_server(world: World) -> int:
    """`bin/ways-mcp` in the checkout: a link into side-by-side versions, flipped once the version runs.

    The released one where this checkout's sources are those of a release; else one that is built here.
    """
    folder = ROOT / "dist" / "versions"
    try:
        identifier = prebuilt.bring(folder, world.env, edges=Edges(progress=meter()))
    except NoPrebuiltError as reason:
        print(f"building from source: {reason.message}")
        identifier = _built_server(folder)
    link = ROOT / "bin" / "ways-mcp"
    link.parent.mkdir(exist_ok=True)
    flip_link(str(link), f"../dist/versions/{identifier}/ways-mcp")
    print(f"{link} is version {__version__} ({identifier}); try it:  bin/ways-mcp --version")
    return 0


def _built_server(into: Path) -> str:
    identifier = f"{__version__}-{_digest(packages=False)}"
    folder = into / identifier
    if _smoke(folder, ENTRIES):
        _write_commands(folder, ROOT / "src")
        trouble = _smoke(folder, ENTRIES)
        if trouble:
            raise BrokenVersionError(trouble)
    return identifier


def make_only(world: World) -> int:
    """A version in the layout, not put in force, its identifier on the last line.

    `ways update` calls it in released sources on a machine without a prebuilt, and holds the lock meanwhile.
    """
    print(_make_version(world))
    return 0


def _smoke(folder: Path, commands: tuple[str, ...] | dict[str, str]) -> str:
    """Why the commands in `folder` do not run; empty where each tells its version."""
    for name in commands:
        try:
            said = _run([str(folder / name), "--version"])
        except (OSError, subprocess.SubprocessError) as error:
            return f"{folder / name} does not run: {error}"
        if said != f"{name} {__version__}":
            return f"{folder / name} says {said!r} and not its version"
    return ""


def _run(command: list[str]) -> str:
    ran = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=SMOKE_PATIENCE
    )
    return ran.stdout.strip()


def _digest(*, packages: bool) -> str:
    """Eight hex digits of all that goes into a version: sources, recipes, interpreter, packages."""
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files += [ROOT / "build" / "zipapp.py", ROOT / "build" / "launch.py"]
    if packages:
        files += [ROOT / "pyproject.toml", *(ROOT / "requirements").glob("*.lock")]
        files += [ROOT / "build" / "environment.py", ROOT / "build" / "install.py"]
    digest = hashlib.sha256(f"{interpreter()}\0{sys.version}\0{ROOT if not packages else ''}".encode())
    for path in sorted(files):
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def take_back(world: World) -> int:
    """`make uninstall`."""
    return render.show(uninstall.run(world))


_VERBS = {"install": install, "version": make_only, "uninstall": take_back, "ways-mcp": build_server}


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m build.install")
    parser.add_argument("verb", choices=_VERBS)
    verb = parser.parse_args(arguments).verb
    try:
        return _VERBS[verb](this_world())
    except WaysError as error:
        return render.show_error(error)
    except (BrokenVersionError, NoEnvironmentError, LaunchError, ZipappError) as error:
        print(f"make {verb}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
