"""What the bench and the conformance run need beside the checkout: made once, on demand, kept in a cache folder.

Owns `Cache`: Python environments, npm folders and compiled programs below `$XDG_CACHE_HOME/agent-ways/<name>`.
Packages come from wherever the person's pip and npm are set to look. Must not know what anything is for.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PATIENCE = 900
"""Seconds that one installation may take."""


class UnavailableError(Exception):
    """Something can not be had on this machine; the text says what and why."""


class Cache:
    """Things made once, each in a folder named by what it was made from: a changed recipe makes a new one."""

    def __init__(self, name: str) -> None:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(os.path.expanduser("~"), ".cache")
        self.folder = os.path.join(base, "agent-ways", name)

    def environment(self, python: str, *requirements: str) -> str:
        """The Python of a virtual environment of `python` that has exactly these requirements."""
        name = requirements[0].partition("==")[0]
        with self._made(name, python, *requirements) as folder:
            if folder is not None:
                _run([python, "-I", "-m", "venv", folder], f"make a virtual environment for {name}")
                pip = [os.path.join(folder, "bin", "python"), "-I", "-m", "pip", "install"]
                _run([*pip, "-q", "--no-input", "--disable-pip-version-check", *requirements], f"install {name}")
        return os.path.join(self.path(name, python, *requirements), "bin", "python")

    def packages(self, name: str, *packages: str) -> str:
        """A folder with these npm packages in its node_modules."""
        npm = shutil.which("npm")
        if npm is None:
            raise UnavailableError(f"{name} needs npm")
        with self._made(name, *packages) as folder:
            if folder is not None:
                _run([npm, "init", "-y"], f"begin a folder for {name}", folder)
                _run([npm, "install", "--no-audit", "--no-fund", *packages], f"install {name}", folder)
        return self.path(name, *packages)

    def program(self, source: str) -> str:
        """The program compiled from one C file."""
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise UnavailableError("there is no C compiler")
        name = os.path.splitext(os.path.basename(source))[0]
        with open(source, encoding="utf-8") as file:
            text = file.read()
        with self._made(name, compiler, text) as folder:
            if folder is not None:
                _run([compiler, "-O2", "-o", os.path.join(folder, name), source], f"compile {name}.c")
        return os.path.join(self.path(name, compiler, text), name)

    def path(self, name: str, *recipe: str) -> str:
        """Where what was made by that recipe lies."""
        return os.path.join(self.folder, f"{name}-{hashlib.sha256(repr(recipe).encode()).hexdigest()[:12]}")

    @contextmanager
    def _made(self, name: str, *recipe: str) -> Iterator[str | None]:
        """Give the empty folder to make it in, or None where it is made already; one maker at a time."""
        folder = self.path(name, *recipe)
        os.makedirs(self.folder, exist_ok=True)
        with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ready = os.path.join(folder, ".made")
            if os.path.exists(ready):
                yield None
                return
            sys.stderr.write(f"making {name} once, in {folder}\n")
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            yield folder
            with open(ready, "w", encoding="utf-8"):
                pass


def clean_environment() -> dict[str, str]:
    """This process's environment without what would change how a Python or a client's child starts.

    PYTHONDONTWRITEBYTECODE above all: with it every import is compiled again at each start.
    """
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLAUDE", "VIRTUAL_ENV"))
    }


def _run(command: Sequence[str], doing: str, folder: str | None = None) -> None:
    try:
        ran = subprocess.run(
            command,
            cwd=folder,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"could not {doing}: {error}") from None
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip().splitlines()
        raise UnavailableError(f"could not {doing}: {said[-1] if said else f'exit {ran.returncode}'}")
