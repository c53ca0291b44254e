"""A person's machine for the tests of `ways`: a home, an installation without pip, a fake `claude` on PATH."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from build.launch import interpreter, launcher

from agent_ways import __version__
from agent_ways.base.process import process_table
from agent_ways.ways.layout import COMMANDS, COMPLETE, PROJECTED, Layout, layout_of
from agent_ways.ways.world import World
from tests.support.fake_claude_cli import FakeClaudeCommand

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES = Path(__file__).resolve().parents[2] / "src"


def install_by_hand(layout: Layout, identifier: str = f"{__version__}-0123abcd") -> None:
    """What `make install` leaves behind: a complete version in force that runs the checkout, and the links on PATH."""
    folder = Path(layout.version(identifier))
    folder.mkdir(parents=True)
    for name in COMMANDS:
        room = {"ways-mcp": "server"}.get(name, name)
        text = launcher(interpreter(), str(SOURCES), f"agent_ways.{room}.__main__")
        if name == "ways":  # has dependencies: this environment's
            text = text.replace(f"#!{interpreter()} -IS".encode(), f"#!{sys.executable} -I".encode())
        (folder / name).write_bytes(text)
        (folder / name).chmod(0o755)
    (folder / PROJECTED).symlink_to(SOURCES / "agent_ways" / PROJECTED)
    (folder / COMPLETE).write_text("{}")
    layout.put_in_force(identifier)
    Path(layout.lock).touch(0o600)
    binaries = Path(layout.bin)
    binaries.mkdir(parents=True, exist_ok=True)
    for name in COMMANDS:
        if not (binaries / name).is_symlink():
            (binaries / name).symlink_to(layout.command(name))


class Machine:
    """A home with an installation in it, and a `claude` that tests may make misbehave."""

    def __init__(self, folder: Path, *, installed: bool = True, **more: str) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.claude = FakeClaudeCommand(folder / "programs")
        self.env = {
            "HOME": str(self.home),
            "PATH": f"{folder / 'programs'}:{self.home}/.local/bin:/usr/bin:/bin",
            **more,
        }
        self.patience = 5.0
        self.prefix = ""
        self.step: Callable[[str], None] = lambda _: None
        self.layout: Layout = layout_of(self.env)
        if installed:
            self.install()

    @property
    def world(self) -> World:
        return World(
            env=self.env,
            home=str(self.home),
            layout=self.layout,
            table=process_table(),
            claude_patience=self.patience,
            step=self.step,
            prefix=self.prefix,
        )

    @property
    def settings(self) -> Path:
        """The default target's settings.json."""
        return self.home / ".claude" / "settings.json"

    def install(self, identifier: str = f"{__version__}-0123abcd") -> None:
        """A complete version in force, and the links on PATH."""
        install_by_hand(self.layout, identifier)

    def tree(self) -> dict[str, str]:
        """Everything in the home, but what Python caches: paths with what they are and hold."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            if "__pycache__" in path.parts:
                continue
            kind = f"-> {path.readlink()}" if path.is_symlink() else "folder"
            if path.is_file() and not path.is_symlink():
                kind = path.read_bytes().decode("latin-1")
            found[str(path.relative_to(self.home))] = f"{path.lstat().st_mode:o} {kind}"
        return found


def ways(machine: Machine, *words: str, command: str = "ways") -> subprocess.CompletedProcess[str]:
    """The installed command, run by a person of that machine."""
    return subprocess.run([command, *words], env=machine.env, capture_output=True, text=True, check=False)
