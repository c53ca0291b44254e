"""Private environments: a virtual environment with exactly what a lock file lists.

Owns how one is made with what the machine has: `venv` with `ensurepip`; or `uv`; or a `pip` outside it (Debian
without python3-venv has a `venv` that can not bring pip). Every package is checked against the hashes of the
lock file. Must not know what an environment is for.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from build import ROOT


class NoEnvironmentError(Exception):
    """An environment could not be made; the text says why and what to do."""


class Environment:
    """The virtual environment in `folder`, which `create` makes anew.

    `cached` packages are kept where the person's pip keeps them; otherwise nothing is left outside the folder.
    """

    def __init__(self, folder: Path, *, cached: bool = True) -> None:
        self.folder = folder
        self._no_cache = [] if cached else ["--no-cache-dir"]  # uv knows it by this name too
        self.python = folder / "bin" / "python"
        self._installer: list[str] = []

    def create(self) -> None:
        """Make it with this interpreter; what was at its place is removed."""
        if self.folder.is_symlink() or self.folder.is_file():
            self.folder.unlink()
        elif self.folder.exists():
            shutil.rmtree(self.folder)
        uv = shutil.which("uv")
        if importlib.util.find_spec("ensurepip"):
            _run([sys.executable, "-I", "-m", "venv", str(self.folder)], "make a virtual environment")
            self._installer = [str(self.python), "-I", "-m", "pip", "install", *_PIP, *self._no_cache]
        elif uv:
            _run(
                [uv, "venv", "-q", *self._no_cache, "--python", sys.executable, str(self.folder)],
                "make a virtual environment",
            )
            self._installer = [uv, "pip", "install", "-q", "--python", str(self.python), *self._no_cache]
        else:
            _run([sys.executable, "-I", "-m", "venv", "--without-pip", str(self.folder)], "make a virtual environment")
            pip = [sys.executable, "-I", "-m", "pip", "--python", str(self.python)]
            self._installer = [*pip, "install", *_PIP, *self._no_cache]

    def install(self, lock: Path) -> None:
        """Install what `lock` lists, each file with one of its hashes."""
        _run([*self._installer, "--require-hashes", "-r", str(lock)], f"install what {lock.name} lists")

    def install_project(self) -> None:
        """Install this checkout's package as a wheel, built by the locked build backend, without its dependencies."""
        with tempfile.TemporaryDirectory(prefix="agent-ways-build-") as scratch:
            tools = Path(scratch) / "tools"
            lock = ROOT / "requirements" / "build.lock"
            _run(
                [*self._installer, "--target", str(tools), "--require-hashes", "-r", str(lock)],
                "install the build backend",
            )
            build = (
                "import sys; sys.path.insert(0, sys.argv[1]); import hatchling.build; "
                "print(hatchling.build.build_wheel(sys.argv[2]))"
            )
            name = _run(
                [str(self.python), "-I", "-c", build, str(tools), scratch], "build the package", folder=ROOT
            ).splitlines()[-1]
            wheel = str(Path(scratch) / name)
            _run([*self._installer, "--no-deps", "--no-index", wheel], "install the package")


_PIP = ("-q", "--no-input", "--disable-pip-version-check", "--no-warn-script-location")

# Settings of a person's pip that make no sense inside a private environment.
_NOT_FOR_US = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV", "PYTHONHOME", "PYTHONPATH")


def _run(command: list[str], doing: str, folder: Path | None = None) -> str:
    env = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_US}
    env["PIP_USER"] = "0"
    ran = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if ran.returncode == 0:
        return ran.stdout
    said = "\n".join((ran.stderr or ran.stdout).strip().splitlines()[-15:])
    raise NoEnvironmentError(
        f"could not {doing}. What was said:\n{said}\n"
        "What to do: look whether the Python package index can be reached from here (a proxy?), then run it again."
    )
