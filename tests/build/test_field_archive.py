"""What was met in the field with archives that run: caches, first starts, temporary folders."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from build import zipapp
from tests.build.support import CHECKOUT
from tests.support.wire import Wire, initialize, tools_list

if TYPE_CHECKING:
    from pathlib import Path

ENTER = ["unshare", *([] if os.getuid() == 0 else ["-r"]), "-m"]


def server(folder: Path, version: str) -> Path:
    """The real server in an archive that says it is of that version."""
    source = folder / "source"
    shutil.copytree(
        CHECKOUT / "src" / "agent_ways", source / "agent_ways", ignore=shutil.ignore_patterns("__pycache__")
    )
    (source / "agent_ways" / "__init__.py").write_text(f'"""Doc."""\n\n__version__ = "{version}"\n')
    path = folder / "ways-mcp.pyz"
    zipapp.write(path, zipapp.archive(source, "ways-mcp"))
    shutil.rmtree(source)
    return path


def may_mount() -> bool:
    """Whether a folder can be mounted over here: Linux, with unprivileged namespaces or as root."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*ENTER, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.demand("LIFE-6", "LIFE-8")
@pytest.mark.field_report(88)
def test_twenty_first_starts_at_once_of_two_versions_side_by_side_share_nothing(tmp_path: Path) -> None:
    archives = {version: server(tmp_path / version, version) for version in ("1.0.0", "2.0.0")}
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o555)
    before = sorted(tmp_path.rglob("*"))
    wires = []
    try:
        for number in range(20):
            version = ("1.0.0", "2.0.0")[number % 2]
            env = {"HOME": str(home), "TMPDIR": str(home), "PATH": os.environ["PATH"]}
            wires.append((version, Wire([sys.executable, "-IS", str(archives[version])], env=env)))
        for _, wire in wires:
            wire.send(initialize())
        told = [(version, wire.answer(0, timeout=60)["result"]["serverInfo"]["version"]) for version, wire in wires]
    finally:
        for _, wire in wires:
            wire.close()
    assert [said for _, said in told] == [version for version, _ in told]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.demand("LIFE-8")
@pytest.mark.field_report(81)
@pytest.mark.skipif(not may_mount(), reason="needs a mount namespace for a temporary folder in which nothing may run")
def test_a_temporary_folder_in_which_nothing_may_run_is_no_hindrance(tmp_path: Path) -> None:
    archive, temporary = server(tmp_path / "made", "1.0.0"), tmp_path / "temporary"
    temporary.mkdir()
    script = (
        'mount -t tmpfs -o noexec tmpfs "$TMPDIR" && printf "#!/bin/sh\\n" >"$TMPDIR/x" && chmod 755 "$TMPDIR/x" &&\n'
        '! "$TMPDIR/x" 2>/dev/null && rm "$TMPDIR/x" && "$@" && ls -A "$TMPDIR"'
    )
    lines = "".join(json.dumps(one) + "\n" for one in (initialize(), tools_list()))
    ran = subprocess.run(
        [*ENTER, "sh", "-c", script, "sh", sys.executable, "-IS", str(archive)],
        env={"HOME": str(tmp_path), "TMPDIR": str(temporary), "PATH": os.environ["PATH"]},
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    first, second = (json.loads(line) for line in ran.stdout.splitlines())
    assert first["result"]["serverInfo"]["version"] == "1.0.0"
    assert second["result"]["tools"]
