"""A folder of somebody else's, an environment with traps in it, a shared temp folder, and our archives in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from build import zipapp
from tests.build.support import CHECKOUT
from tests.support.fake_client import FakeClient, Plan
from tests.support.messages import initialize

if TYPE_CHECKING:
    from pathlib import Path

TRAPS = (
    "agent_ways",
    "json",
    "os",
    "select",
    "signal",
    "re",
    "socket",
    "site",
    "sitecustomize",
    "usercustomize",
    "zlib",
)
DRAIN = ("inbox", "--drain", "--format", "hook")
STOP = json.dumps({"hook_event_name": "Stop", "session_id": "none", "stop_hook_active": False})


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The archives of this checkout, as `make install` builds them."""
    folder = tmp_path_factory.mktemp("archives")
    for name in ("ways-mcp", "attend"):
        (folder / f"{name}.pyz").write_bytes(zipapp.archive(CHECKOUT / "src", name))
    return {name: str(folder / f"{name}.pyz") for name in ("ways-mcp", "attend")}


def set_traps(folder: Path) -> Path:
    """Modules that write `sprung` beside themselves when anything imports them; returns that file."""
    sprung = folder / "sprung"
    spring = f"open({str(sprung)!r}, 'a').write(__name__ + ' ')\n"
    for name in TRAPS:
        (folder / f"{name}.py").write_text(spring)
    for name in (".env", "pyvenv.cfg", "python3"):
        (folder / name).write_text("home = .\n")
    return sprung


@pytest.mark.demand("SRV-1", "ATT-9")
@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("ways-mcp", (), json.dumps(initialize()) + "\n"),
        ("ways-mcp", ("--version",), ""),
        ("attend", DRAIN, STOP),
        ("attend", ("hook", "session-start"), STOP),
        ("attend", ("peers", "--json"), ""),
        ("attend", ("send", "--to", "operator", "hello"), ""),
    ],
)
def test_modules_in_the_folder_that_a_session_works_in_are_never_run(
    archives: dict[str, str], tmp_path: Path, name: str, words: tuple[str, ...], said: str
) -> None:
    sprung = set_traps(tmp_path)
    env = {
        "HOME": str(tmp_path / "home"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(tmp_path),
        "PYTHONSTARTUP": str(tmp_path / "json.py"),
        "PYTHONUSERBASE": str(tmp_path),
        "PYTHONINSPECT": "1",
        "PYTHONBREAKPOINT": "json.main",
    }
    ran = subprocess.run(
        [sys.executable, "-I", "-S", archives[name], *words],
        cwd=tmp_path,
        env=env,
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert not sprung.exists()


@pytest.mark.demand("ATT-1", "SRV-11")
def test_nothing_is_made_in_the_shared_temp_folder_nor_in_the_folder_of_the_session(
    archives: dict[str, str], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    plan = Plan(
        server=(sys.executable, "-I", "-S", archives["ways-mcp"]),
        env={variable: str(shared) for variable in ("TMPDIR", "TEMP", "TMP")},
    )
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        client.type("hello")
        client.wait_status("idle")
        client.model_call("attend_send", {"to": ["operator"], "body": "hello"})
        client.model_call("attend_inbox")
        for words in (DRAIN, ("peers",), ("show", "nothing"), ("doctor",), ("cleanup",)):
            client.spawn([sys.executable, "-I", "-S", archives["attend"], *words])
        project = client.plan.project
    assert os.listdir(shared) == []
    assert os.listdir(project) == []


@pytest.mark.demand("ATT-1", "SRV-11")
def test_what_a_whole_session_leaves_is_for_its_user_alone_under_a_umask_of_zero(
    archives: dict[str, str], tmp_path: Path
) -> None:
    plan = Plan(server=("/bin/sh", "-c", 'umask 000; exec "$@"', "sh", sys.executable, "-IS", archives["ways-mcp"]))
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        client.type("hello")
        client.wait_status("idle")
        client.model_call("attend_join", {"channel": "deploy"})
        client.model_call("attend_send", {"to": ["#deploy", "operator"], "body": "hello"})
        state = os.path.join(client.plan.home, ".local", "state", "agent-ways")
        modes = {
            path: os.lstat(path).st_mode & 0o077
            for folder, folders, files in os.walk(state)
            for path in (folder, *(os.path.join(folder, one) for one in (*folders, *files)))
        }
    assert len(modes) > 10
    assert {path: oct(mode) for path, mode in modes.items() if mode} == {}
