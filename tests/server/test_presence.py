"""The presence marker says that a server is here, and nothing else leaves one (SRV-11)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from agent_ways.base.process import Owner, process_table, this_process
from agent_ways.base.records import write_record
from agent_ways.server.presence import LEFT_OVER, Marker, sweep
from tests.server.serving import SERVER, markers, markers_dir
from tests.server.test_life import without_watches
from tests.support.fake_client import FakeClient, Plan
from tests.support.until import until

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.demand("SRV-11")
def test_the_marker_names_session_and_server_and_proves_its_owner(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        client.ask("ping")
        (name,) = markers(client)
        assert name == f"{client.session_id}.{client.server_pid}"
        path = os.path.join(markers_dir(client), name)
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        assert record["v"] == 1
        assert record["owner"]["pid"] == client.server_pid
        assert record["owner"]["start"]
        assert record["version"]
        assert record["conduits"] == ["channel", "inbox_socket"]
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(markers_dir(client)).st_mode) == 0o700


@pytest.mark.demand("SRV-11", "ID-2")
@pytest.mark.parametrize("told_by", ["inotify", "timer"])
def test_a_cleared_session_takes_its_marker_along(tmp_path: Path, told_by: str) -> None:
    server = SERVER if told_by == "inotify" else without_watches()
    with FakeClient(tmp_path, Plan(server=server)) as client:
        client.wait_handshake()
        client.ask("ping")
        before = markers(client)
        session = client.clear()
        wanted = [f"{session}.{client.server_pid}"]
        assert until(markers_dir(client), lambda: markers(client) == wanted)
        assert before != wanted


@pytest.mark.demand("SRV-11")
def test_a_record_that_comes_late_is_found(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        with open(client.record_path, "rb") as file:
            whole = file.read()
        client.remove_record()
        late = client.start_server()
        client.wait_event("handshake", lambda event: event["key"] == late)
        client.write_record(whole)
        assert until(markers_dir(client), lambda: len(markers(client)) == 2)


@pytest.mark.demand("SRV-11")
def test_a_record_that_was_replaced_is_still_watched(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        client.ask("ping")
        record = client.record()
        new = tmp_path / "new.json"
        for session in ("first", "second", "third"):
            new.write_text(json.dumps({**record, "sessionId": session}))
            os.rename(new, client.record_path)
            until(markers_dir(client), lambda: markers(client)[0].partition(".")[0] == client.record()["sessionId"])


@pytest.mark.demand("SRV-11", "ID-5")
@pytest.mark.parametrize(
    "plan",
    [
        Plan(server=SERVER, entrypoint="sdk-cli"),
        Plan(server=SERVER, entrypoint="sdk-ts"),
        Plan(server=SERVER, health_check=True),
        Plan(server=SERVER, server_env={"AGENT_WAYS_HANDSHAKE": "1"}),
        Plan(server=SERVER, server_env={"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}),
    ],
    ids=["-p", "sdk", "health check", "our own handshake", "health check inside a session"],
)
def test_what_is_no_interactive_session_leaves_nothing(tmp_path: Path, plan: Plan) -> None:
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        if not plan.health_check:
            client.ask("ping")
        assert not os.path.exists(os.path.join(client.plan.home, ".local"))


@pytest.mark.demand("SRV-11")
def test_a_server_that_the_model_starts_inside_a_session_leaves_that_session_s_marker_alone(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        'lines = b\'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\\n\'\n'
        f"subprocess.run({list(SERVER)!r}, input=lines, check=True)\n"
        "import os; print(sorted(os.listdir(sys.argv[1])))"
    )
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        client.ask("ping")
        before = markers(client)
        done = client.spawn([sys.executable, "-c", script, markers_dir(client)])
        assert done["code"] == 0, done["stderr"]
        assert str(before) in done["stdout"]
        assert markers(client) == before


@pytest.mark.demand("SRV-11")
@pytest.mark.field_report(21)
def test_a_dead_server_s_marker_is_taken_by_the_next_and_a_stranger_s_pid_never_counts(tmp_path: Path) -> None:
    table = process_table()
    here = this_process(table, {})
    folder = str(tmp_path / "servers")

    def show(session: str, owner: Owner) -> str:
        path = os.path.join(folder, f"{session}.{owner.pid}")
        write_record(path, {"v": 1, "owner": owner.to_json()})
        return path

    os.mkdir(folder)

    gone = subprocess.Popen(["true"])
    gone.wait()
    kept = [
        show("alive", here),
        show("elsewhere", Owner(host="other", boot="x", namespace="y", pid=1, start="1")),
        show("container", Owner(host=here.host, boot=here.boot, namespace="pid:[1]", pid=1, start="1")),
    ]
    dead = [
        show("dead", Owner(host=here.host, boot=here.boot, namespace=here.namespace, pid=gone.pid, start="1")),
        show("reused", Owner(host=here.host, boot=here.boot, namespace=here.namespace, pid=os.getpid(), start="1")),
        show("rebooted", Owner(host=here.host, boot="earlier", namespace="x", pid=os.getpid(), start=here.start)),
    ]
    damaged = os.path.join(folder, "damaged.1")
    with open(damaged, "w", encoding="utf-8") as file:
        file.write("{")
    sweep(folder, here, table, now=time.time())
    assert all(os.path.exists(path) for path in (*kept, damaged))
    assert not any(os.path.exists(path) for path in dead)


@pytest.mark.demand("SRV-11")
def test_a_marker_that_can_not_be_renamed_does_not_go_on_naming_the_session_before(tmp_path: Path) -> None:
    table = process_table()
    marker = Marker(str(tmp_path / "servers"), this_process(table, {}), table, {})
    marker.show("first")
    marker.show("s" * 255)  # with the pid, more than a name may have
    assert "write" in str(marker.trouble)
    assert list((tmp_path / "servers").iterdir()) == []
    marker.show("third")
    assert [path.name for path in (tmp_path / "servers").iterdir()] == [f"third.{os.getpid()}"]
    marker.remove()
    assert list((tmp_path / "servers").iterdir()) == []


@pytest.mark.demand("SRV-11")
def test_what_a_killed_server_left_unfinished_is_swept_when_nobody_can_be_writing_it(tmp_path: Path) -> None:
    table, now = process_table(), time.time()
    names = {
        ".s-1.7.7-abcd.tmp": now - LEFT_OVER - 1,
        "power-cut.8": now - LEFT_OVER - 1,
        ".s-2.9.9-abcd.tmp": now,
        "young.10": now,
        ".tomorrow.11.tmp": now + LEFT_OVER,
    }
    for name, at in names.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (at, at))
    os.symlink("nowhere", tmp_path / ".link.tmp")
    (tmp_path / ".folder.tmp").mkdir()
    (tmp_path / "not-ours").write_text("old, and not empty")
    os.utime(tmp_path / "not-ours", (0, 0))
    sweep(str(tmp_path), this_process(table, {}), table, now)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".s-2.9.9-abcd.tmp", "young.10", ".tomorrow.11.tmp", ".link.tmp", ".folder.tmp", "not-ours"}


@pytest.mark.demand("SRV-11")
@pytest.mark.parametrize("session", ["", "../x", "a/b", ".hidden", "a\0b"])
def test_an_id_that_is_no_file_name_is_refused(tmp_path: Path, session: str) -> None:
    table = process_table()
    marker = Marker(str(tmp_path / "servers"), this_process(table, {}), table, {})
    marker.show(session)
    assert marker.path is None
    assert marker.trouble
    assert list(tmp_path.iterdir()) == []


@pytest.mark.demand("SRV-11")
def test_state_that_can_not_be_written_does_not_cost_the_session_its_server(tmp_path: Path) -> None:
    blocked = tmp_path / "home" / ".local"
    blocked.parent.mkdir()
    blocked.write_text("a file where a directory belongs")
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        status = client.call_tool("ways_status")["structuredContent"]
        assert status["session"]["id"] == client.session_id
        assert blocked.read_text() == "a file where a directory belongs"
