"""Writes the lock files from `pyproject.toml`: `make lock`.

One file for all platforms and Pythons, with the hash of every file of every package. No index is named in it:
where packages come from is the installing machine's own setting. Needs `uv`, on PATH or in the `.venv`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib

from build import ROOT

LOCKS = {"install": [], "dev": ["--extra", "dev"]}


def main(arguments: list[str] | None = None) -> int:
    """See the module's first lines. `--upgrade` moves every package to the newest that fits."""
    upgrade = ["--upgrade"] if "--upgrade" in (sys.argv[1:] if arguments is None else arguments) else []
    uv = shutil.which("uv")
    if not uv:
        print("make lock: uv is not on PATH; get it with:  pipx install uv", file=sys.stderr)
        return 1
    command = [
        *(uv, "pip", "compile", "-q", "--universal", "--python-version", "3.11", "--generate-hashes"),
        *("--no-header", "--no-emit-index-url", "--no-emit-find-links", *upgrade),
    ]
    for name, extra in LOCKS.items():
        output = f"requirements/{name}.lock"
        subprocess.run([*command, *extra, "pyproject.toml", "-o", output], cwd=ROOT, check=True)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    with tempfile.NamedTemporaryFile("w", suffix=".in") as file:
        file.write("\n".join(wanted))
        file.flush()
        build = [*command, "--no-annotate", file.name, "-o", "requirements/build.lock"]
        subprocess.run(build, cwd=ROOT, check=True)
    print("make lock: requirements/{install,dev,build}.lock are written; look at the difference, then commit it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
