"""The fake client as the server and the process table see it: tried on the toy server."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import processes
from tests.support.fake_client import FLAGGED, ClientError, FakeClient, Plan
from tests.support.processes import ProcessHandle, command_line, parent_of, start_of, stat_fields

if TYPE_CHECKING:
    from pathlib import Path

Toy = tuple[str, ...]

RECORD_332 = (
    *("pid", "sessionId", "cwd", "startedAt", "procStart", "version", "peerProtocol", "peerFeatures", "kind"),
    *("entrypoint", "pidDomain", "asksForConvertedSkills", "messagingSocketPath", "name", "nameSource", "nameSince"),
    *("status", "updatedAt", "statusUpdatedAt"),
)
"""The keys of a record that 2.1.332 wrote outside tmux, in its order."""


@pytest.mark.parametrize(
    "argv",
    [
        ("claude",),
        ("claude", "-p"),
        FLAGGED,
        (
            "/opt/some where/claude",
            "--dangerously-load-development-channels=server:agent-ways",
            "",
            "a prompt\nwith lines",
        ),
    ],
    ids=["bare", "short", "flagged", "awkward"],
)
def test_the_process_table_shows_the_chosen_command_line(tmp_path: Path, argv: tuple[str, ...]) -> None:
    with FakeClient(tmp_path, Plan(argv=argv)) as client:
        assert command_line(client.pid) == list(argv)
        with open(f"/proc/{client.pid}/comm", encoding="utf-8") as file:
            assert file.read() == "claude\n"


def test_where_the_table_can_not_be_rewritten_the_chosen_words_come_last(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(argv=FLAGGED, exact_argv=False)) as client:
        words = command_line(client.pid)
    assert (words[:2], words[3:]) == (["claude", "-c"], list(FLAGGED[1:]))


def test_without_proc_the_table_is_read_by_ps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeClient(tmp_path) as client:
        monkeypatch.setattr(processes, "HAS_PROC", False)
        assert processes.parent_of(client.pid) == os.getpid()
        assert client.pid in processes.children_of(os.getpid())
        assert len(processes.start_of(client.pid).split()) == 5
    assert processes.start_of(client.pid) == ""


@pytest.mark.parametrize("version", ["2.1.332", "2.1.285"])
def test_the_record_has_the_keys_and_values_of_that_version(tmp_path: Path, version: Any) -> None:
    with FakeClient(tmp_path, Plan(version=version)) as client:
        record = client.record()
        expected = [name for name in RECORD_332 if version == "2.1.332" or name != "asksForConvertedSkills"]
        assert list(record) == expected
        assert record["pid"] == client.pid
        assert record["procStart"] == start_of(client.pid)
        assert record["status"] == "idle"
        assert stat.S_IMODE(os.stat(client.record_path).st_mode) == 0o644
        assert stat.S_IMODE(os.stat(os.path.dirname(client.record_path)).st_mode) == 0o700
        keys = [name for name in os.listdir(os.path.dirname(client.record_path)) if name.endswith(".key")]
        assert len(keys) == 1


def test_the_server_is_a_direct_child_on_socketpairs_in_the_clients_group_and_project(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        pid = client.server_pid
        assert parent_of(pid) == client.pid
        assert stat_fields(pid)[2:4] == stat_fields(client.pid)[2:4]  # group and session
        assert os.readlink(f"/proc/{pid}/cwd") == client.plan.project
        assert all(os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:") for fd in (0, 1, 2))
        assert sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2"]


def test_the_server_gets_the_clients_environment_and_nothing_of_the_tests(tmp_path: Path, toy: Toy) -> None:
    plan = Plan(server=toy, server_env={"OF_CONFIG": "1"}, config_dir=str(tmp_path / "other"))
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        env = client.call_tool("env")["structuredContent"]
    assert env["CLAUDE_CODE_SESSION_ID"] == client.session_id
    assert env["CLAUDE_CODE_ENTRYPOINT"] == "cli"
    assert env["CLAUDE_CONFIG_DIR"] == str(tmp_path / "other")
    assert env["CLAUDE_CODE_MESSAGING_SOCKET"] == client.socket_path
    assert env["OF_CONFIG"] == "1"
    assert not [name for name in env if name.startswith(("PYTHON", "PYTEST"))]


@pytest.mark.parametrize(("version", "opening"), [("2.1.332", "server/discover"), ("2.1.285", "initialize")])
def test_the_handshake_opens_as_that_version_opens_it(tmp_path: Path, toy: Toy, version: Any, opening: str) -> None:
    with FakeClient(tmp_path, Plan(server=toy, version=version)) as client:
        shake = client.wait_handshake()
        sent = [line.json() for line in client.lines if line.direction == "sent"]
    assert sent[0]["method"] == opening
    assert [message["method"] for message in sent[-3:]] == ["initialize", "notifications/initialized", "tools/list"]
    assert [tool["name"] for tool in shake["tools"]] == ["echo", "push", "env"]


def test_an_unanswered_probe_is_followed_by_the_handshake_all_the_same(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, server_env={"TOY": "no-probe"}, probe_timeout_ms=50)) as client:
        assert client.wait_handshake()["ok"]


def test_a_server_that_answers_the_probe_keeps_its_tools_and_loses_its_channel(tmp_path: Path, toy: Toy) -> None:
    plan = Plan(server=toy, argv=FLAGGED, server_env={"TOY": "modern"}, channel_opens_ms=0)
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        client.call_tool("push", {"content": "hello"})
        assert client.wait_channel_event().fate == "lost"


def test_an_unknown_revision_is_not_connected(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, server_env={"TOY": "wrong-version"})) as client:
        with pytest.raises(ClientError, match="not supported"):
            client.wait_handshake()
        client.wait_server_exit()


def test_a_server_that_never_answers_is_ended_by_sigterm(tmp_path: Path) -> None:
    mute = (sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()")
    with FakeClient(tmp_path, Plan(server=mute, connect_timeout_ms=80)) as client:
        assert client.wait_server_exit()["signals"] == ["SIGTERM"]


def test_clear_keeps_pid_server_and_file_and_changes_the_session_id(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        before, inode, server = client.session_id, os.stat(client.record_path).st_ino, client.server_pid
        after = client.clear()
        record = client.record()
        assert record["sessionId"] == client.session_id == after != before
        assert os.stat(client.record_path).st_ino == inode
        assert record["pid"] == client.pid
        assert client.server_pid == server
        assert client.call_tool("env")["structuredContent"]["CLAUDE_CODE_SESSION_ID"] == before


def test_clear_starts_a_dead_server_again_under_the_new_session_id(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        client.server.kill()
        client.wait_server_exit()
        after = client.clear()
        client.wait_event("handshake", count=2)
        assert client.call_tool("env", key="server-2")["structuredContent"]["CLAUDE_CODE_SESSION_ID"] == after


def test_resume_is_a_new_process_with_the_old_session_id(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan()) as first:
        first.type("hello")
        first.wait_status("idle")
        session_id = first.session_id
    with FakeClient(tmp_path, Plan(resume=session_id)) as second:
        assert second.pid != first.pid
        assert second.record()["sessionId"] == session_id
        assert second.transcript_path() == first.transcript_path(session_id)


@pytest.mark.parametrize("way", ["exit", "terminate"])
def test_a_clean_end_takes_record_key_and_socket_away(tmp_path: Path, toy: Toy, way: str) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        getattr(client, way)()
        assert os.listdir(os.path.dirname(client.record_path)) == []
        assert not os.path.exists(client.socket_path)
        assert client.wait_server_exit()["signals"] == ["SIGINT"]


def test_sigkill_leaves_record_key_and_socket_and_the_server_sees_the_end_of_input(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        client.kill()
        assert client.server.wait(5)
        assert len(os.listdir(os.path.dirname(client.record_path))) == 2
        assert os.path.exists(client.socket_path)


@pytest.mark.parametrize(
    ("mood", "signals", "least_ms"),
    [
        ("", ["SIGINT"], 0),
        ("needs-sigterm", ["SIGINT", "SIGTERM"], 100),
        ("stubborn", ["SIGINT", "SIGTERM", "SIGKILL"], 500),
    ],
    ids=["polite", "ignores-sigint", "ignores-both"],
)
def test_a_server_is_ended_by_as_many_of_the_three_signals_as_it_needs(
    tmp_path: Path, toy: Toy, mood: str, signals: list[str], least_ms: int
) -> None:
    with FakeClient(tmp_path, Plan(server=toy, server_env={"TOY": mood})) as client:
        client.wait_handshake()
        end = client.end_server()
    assert end["signals"] == signals
    assert end["took_ms"] >= least_ms


def test_a_held_stdin_keeps_the_server_alive_after_the_clients_death(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        held = client.hold_stdin()
        client.kill()
        assert not client.server.wait(0.2)
        os.close(held)
        assert client.server.wait(5)
    assert client.survivors == []


def test_leaving_ends_a_server_that_nothing_else_ends(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, server_env={"TOY": "stubborn"})) as client:
        client.wait_handshake()
        client.hold_stdin()
        server = ProcessHandle(client.server_pid)
        client.freeze()
        client.kill()
    assert server.wait(1)
    server.close()


def test_a_client_whose_test_dies_ends_itself_and_its_server(tmp_path: Path, toy: Toy) -> None:
    program = (
        "import os, sys; from tests.support.fake_client import FakeClient, Plan\n"
        "client = FakeClient(sys.argv[1], Plan(server=tuple(sys.argv[2:]))); client.wait_handshake()\n"
        "print(client.pid, client.server_pid, flush=True); sys.stdin.read(); os._exit(9)"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    command = [sys.executable, "-c", program, str(tmp_path), *toy]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as test:
        assert test.stdout is not None
        handles = [ProcessHandle(int(word)) for word in test.stdout.readline().split()]
        test.communicate(timeout=10)
    assert test.returncode == 9
    for handle in handles:
        assert handle.wait(5)
        handle.close()


def test_a_control_c_on_the_terminal_reaches_the_server_and_not_the_client(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        client.ctrl_c()
        assert client.wait_server_exit()["code"] == -signal.SIGINT
        client.wait_event("interrupted")
        assert client.handle.alive


def test_a_frozen_client_answers_again_once_thawed(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        client.freeze()
        with pytest.raises(ClientError, match="in vain"):
            client.call_tool("echo", timeout=0.2)
        client.thaw()
        assert client.call_tool("echo", {"a": 1})["structuredContent"] == {"a": 1}


def test_behind_a_shell_the_server_is_the_shells_child(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, launch="sh")) as client:
        client.wait_handshake()
        shell = parent_of(client.server_pid)
        assert shell != client.pid
        assert parent_of(shell) == client.pid
    assert client.survivors == []


def test_a_launcher_that_exits_leaves_an_orphan_that_still_serves(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, launch="launcher-exits")) as client:
        client.wait_handshake()
        assert parent_of(client.server_pid) != client.pid
        assert client.call_tool("echo", {"a": 1})["structuredContent"] == {"a": 1}
        client.exit()
        assert client.server.wait(5)
    assert client.survivors == []


def test_two_servers_of_one_session_have_their_own_wires(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        second = client.start_server()
        client.wait_event("handshake", count=2)
        assert client.call_tool("echo", {"to": 2}, key=second)["structuredContent"] == {"to": 2}
        assert client.end_server(second)["key"] == second
        assert client.call_tool("echo", {"to": 1})["structuredContent"] == {"to": 1}


def test_unread_output_fills_and_flows_again_when_read(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        client.stop_reading()
        with pytest.raises(ClientError, match="in vain"):
            client.call_tool("echo", {"text": "x" * 2_000_000}, timeout=0.5)
        client.resume_reading()
        assert client.call_tool("echo", {"a": 1})["structuredContent"] == {"a": 1}


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_a_closed_stream_is_seen_by_the_server(tmp_path: Path, toy: Toy, stream: str) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        client.wait_handshake()
        if stream == "stdout":
            client.close_stream(stream)
            client.send({"jsonrpc": "2.0", "id": 99, "method": "ping"})
        else:
            client.close_stream(stream)
        assert client.wait_server_exit()["code"] is not None


def test_stderr_is_read_or_left_as_planned(tmp_path: Path, toy: Toy) -> None:
    noisy = {"TOY": "noisy"}
    with FakeClient(tmp_path, Plan(server=toy, server_env=noisy)) as client:
        client.wait_event("stderr")
        assert client.stderr == "a word on stderr\n"
    with FakeClient(tmp_path, Plan(server=toy, server_env=noisy, stderr="unread")) as client:
        client.wait_handshake()
        assert client.stderr == ""


def test_a_start_dialog_holds_back_record_and_server_until_it_is_answered(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, write_record=False)) as client:
        assert not os.path.exists(client.record_path)
        assert client.events("server") == []
        client.write_record()
        client.wait_handshake()
        assert client.record()["sessionId"] == client.session_id


def test_a_record_can_be_torn_and_taken_away(tmp_path: Path) -> None:
    with FakeClient(tmp_path) as client:
        client.write_record(b'{"pid":')
        with open(client.record_path, "rb") as file:
            assert file.read() == b'{"pid":'
        client.remove_record()
        assert not os.path.exists(client.record_path)


def test_a_health_check_shakes_hands_and_goes_without_a_record(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, health_check=True)) as client:
        client.wait_handshake()
        assert client.wait_server_exit()["signals"] == ["SIGINT"]
        assert client.handle.wait(5)
        assert not os.path.exists(client.record_path)


def test_a_models_command_runs_below_the_client_with_a_tools_environment(tmp_path: Path) -> None:
    program = "import os; print(os.environ['CLAUDE_PID'], os.environ['CLAUDE_CODE_SESSION_ID'], os.getppid())"
    with FakeClient(tmp_path) as client:
        result = client.spawn([sys.executable, "-I", "-S", "-c", program + "; raise SystemExit(4)"], {"EXTRA": "1"})
        pid, session_id, _shell = result["stdout"].split()
        assert result["code"] == 4
        assert int(pid) == client.pid
        assert session_id == client.session_id


def test_two_clients_of_one_root_share_home_and_project(tmp_path: Path) -> None:
    with FakeClient(tmp_path) as first, FakeClient(tmp_path) as second:
        folder = os.path.dirname(first.record_path)
        assert folder == os.path.dirname(second.record_path)
        assert len([name for name in os.listdir(folder) if name.endswith(".json")]) == 2
        assert first.session_id != second.session_id


def test_a_refused_command_says_why(tmp_path: Path) -> None:
    with FakeClient(tmp_path) as client, pytest.raises(ClientError, match="KeyError"):
        client.end_tool("no such tool use")
