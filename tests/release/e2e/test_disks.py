"""Update on a disk that really is full: a small file system of its own, filled to the last byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_ways.base.errors import StateError
from agent_ways.ways.update.names import SUMS
from tests.release.computer import Computer, assets, packed

if TYPE_CHECKING:
    from tests.release.server import ReleaseServer

CHECKOUT = Path(__file__).resolve().parents[3]

# $1 the home, $2 the free kilobytes that are left on the disk, $3 the Python. Prints what the commands say afterwards.
SCRIPT = """
set -eu
data="$1/.local/share/agent-ways"
cp -a "$data" "$1/saved"
mount -t tmpfs -o size=8m tmpfs "$data"
cp -a "$1/saved/." "$data/"
free=$(df -k --output=avail "$data" | tail -n 1)
head -c $(((free - $2) * 1024)) /dev/zero > "$data/filler"
"$3" -m tests.release.updating && code=0 || code=$?
for name in ways attend ways-mcp; do "$1/.local/bin/$name" --version; done
ls "$data/versions" | wc -l
exit $code
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small file system")
@pytest.mark.demand("LIFE-6")
@pytest.mark.parametrize("room", [0, 4, 100, 180, 280])
def test_on_a_full_disk_the_old_version_stays_whole(
    room: int, unsigned: Computer, server: ReleaseServer, tmp_path: Path
) -> None:
    data = packed(tmp_path / "release", "1.1.0")
    files = assets(data, "1.1.0")
    server.publish("1.1.0", files)
    known = tmp_path / "checkout" / "checksums"
    known.mkdir(parents=True)
    (known / "ways-mcp-v1.1.0.txt").write_bytes(files[SUMS])
    unsigned.install("1.0.0", checkout=str(known.parent))
    enter = ["unshare", *([] if os.getuid() == 0 else ["-r"]), "-m"]
    ran = subprocess.run(
        [*enter, "sh", "-c", SCRIPT, "sh", unsigned.home, str(room), sys.executable],
        input=json.dumps({"env": unsigned.env}),
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT / 'src'}:{CHECKOUT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == StateError.exit_code, (ran.stdout, ran.stderr)
    assert "No space left on device" in ran.stdout
    assert ran.stdout.splitlines()[-4:] == ["ways 1.0.0", "attend 1.0.0", "ways-mcp 1.0.0", "1"]
