"""Private environments of heavy tools, in the cache: made when they are needed, kept until their lock file changes.

    python -m build.release.tools sigstore | frozen | lint      prints its folder
    python -m build.release.tools --lock                        writes the lock files anew, with uv

Owns where they lie. `sigstore` verifies and signs (`make verifier`); `frozen` holds PyInstaller and what is frozen;
`lint` what looks at workflows.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from agent_ways.ways.update.verifiers import tools_dir
from build import ROOT
from build.environment import Environment, NoEnvironmentError

LOCKS = {
    "sigstore": ("build/release/sigstore.lock",),
    "frozen": ("requirements/install.lock", "build/frozen/freeze.lock"),
    "lint": ("build/release/lint.lock",),
}
"""Each tool's lock files; those below `build/` are made from the `.in` file beside them."""


def environment(name: str) -> Path:
    """The folder of the tool's environment, made now where it is not there. Raises `NoEnvironmentError`."""
    locks = [ROOT / lock for lock in LOCKS[name]]
    digest = hashlib.sha256(f"{sys.version}\0{sys.base_prefix}".encode())
    for lock in locks:
        digest.update(lock.read_bytes())
    folder = Path(tools_dir(os.environ)) / f"{name}-{digest.hexdigest()[:8]}"
    ready = folder / "ready"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not ready.exists():
            made = Environment(folder)
            made.create()
            for lock in locks:
                made.install(lock)
            ready.touch()
    return folder


def lock() -> int:
    """Write the lock files that are made from `.in` files."""
    uv = shutil.which("uv")
    if not uv:
        print("lock: uv is not on PATH; get it with:  pipx install uv", file=sys.stderr)
        return 1
    command = [
        *(uv, "pip", "compile", "-q", "--universal", "--python-version", "3.11", "--generate-hashes"),
        *("--no-header", "--no-emit-index-url", "--no-emit-find-links", "--upgrade"),
    ]
    for name in sorted({name for names in LOCKS.values() for name in names if name.startswith("build/")}):
        source = name.removesuffix(".lock") + ".in"
        subprocess.run([*command, source, "-o", name], cwd=ROOT, check=True)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(prog="python -m build.release.tools")
    parser.add_argument("name", choices=LOCKS, nargs="?")
    parser.add_argument("--lock", action="store_true")
    options = parser.parse_args(arguments)
    if options.lock:
        return lock()
    name = options.name or parser.error("say which tool")
    try:
        folder = environment(name)
    except NoEnvironmentError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
