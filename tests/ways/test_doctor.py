from __future__ import annotations

import dataclasses
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways import __version__
from agent_ways.base.process import process_table, this_process
from agent_ways.claude.launch import ChannelIntent
from agent_ways.ways import gate, handshake, looks
from agent_ways.ways.commands import doctor, reconcile, status
from agent_ways.ways.report import Line, Status
from tests.ways.support import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def finding(machine: Machine, subject: str) -> Line:
    return next(line for line in doctor.run(machine.world).lines if line.subject == subject)


@pytest.mark.demand("LIFE-7")
def test_a_right_installation_is_all_ok_by_a_real_handshake(machine: Machine) -> None:
    reconcile.run(machine.world)
    report = doctor.run(machine.world)
    assert {line.status for line in report.lines} == {Status.OK}
    subjects = [line.subject for line in report.lines]
    wanted = ["handshake", "commands", "start", "PATH", "bus: write and read back", "config"]
    assert [subject for subject in subjects if subject in wanted] == wanted
    assert subjects[-1] == str(machine.home / ".claude")
    assert report.exit_code == 0
    assert f"ways-mcp {__version__} answered" in report.lines[0].text
    assert report.lines[0].text.endswith(" ms, 9 tools")
    assert "ways_status" in report.to_json()["lines"][0]["details"]


@pytest.mark.demand("SRV-11")
def test_a_handshake_leaves_nothing_behind(machine: Machine) -> None:
    before = machine.tree()
    assert not handshake.shake(machine.layout.command("ways-mcp"), machine.env).trouble
    assert machine.tree() == before


SERVERS = {
    "is silent": "exec sleep 60",
    "ends at once": "exit 3",
    "complains": "echo 'Traceback: boom' >&2; exit 1",
    "talks nonsense": "cat >/dev/null; echo hello",
    "answers an array": "cat >/dev/null; echo '[1]'",
    "answers nothing": "cat >/dev/null",
    "answers errors": 'cat >/dev/null; echo \'{"id":0,"error":{}}\'',
    "can not be started": None,
}


@pytest.mark.demand("LIFE-7")
@pytest.mark.parametrize("how", SERVERS)
def test_a_server_that_does_not_work_is_found_in_bounded_time_with_its_repair(
    how: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshake, "PATIENCE", 1.0)
    monkeypatch.setattr(doctor, "_START_PATIENCE", 1.0)
    monkeypatch.setattr(doctor, "shake", lambda command, env: handshake.shake(command, env, 1.0))
    server = Path(os.path.realpath(machine.layout.command("ways-mcp")))
    script = SERVERS[how]
    server.write_text(f"#!/bin/sh\n{script}\n" if script else "#!/no/such/python3\n")
    began = time.monotonic()
    report = doctor.run(machine.world)
    assert time.monotonic() - began < 10
    assert report.exit_code == 1
    assert report.lines[0].status is Status.FAILED
    assert "make install" in report.lines[0].repair


@given(
    st.binary()
    | st.lists(
        st.dictionaries(
            st.sampled_from(["id", "result", "x"]),
            st.integers()
            | st.dictionaries(
                st.sampled_from(["tools", "serverInfo", "capabilities", "structuredContent"]), st.none() | st.text()
            ),
        )
    ).map(lambda lines: b"\n".join(json.dumps(line).encode() for line in lines))
)
def test_no_answer_makes_the_judge_raise(answered: bytes) -> None:
    assert handshake.judge(answered).trouble


def answers(**changed: object) -> bytes:
    whole = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "experimental": {"claude/channel": {}}},
        "serverInfo": {"name": "agent-ways", "version": "1.0.0"},
        "tools": [{"name": "ways_status"}],
        "modules": {"live": ["ways"], "failed": []},
        **changed,
    }
    called = {"structuredContent": {"version": "1.0.0", "modules": whole["modules"]}}
    lines = [{"id": 0, "result": whole}, {"id": 1, "result": whole}, {"id": 2, "result": called}]
    return b"\n".join(json.dumps(line).encode() for line in lines)


@pytest.mark.parametrize(
    ("changed", "trouble"),
    [
        ({}, ""),
        ({"capabilities": {"tools": {}}}, "does not declare the channel"),
        ({"tools": [{"name": "other"}]}, "has no tool ways_status"),
        ({"modules": {"live": [], "failed": [{"name": "ways", "reason": "why"}]}}, "modules failed: ways (why)"),
    ],
)
def test_each_part_of_the_answers_is_judged(changed: dict[str, object], trouble: str) -> None:
    found = handshake.judge(answers(**changed))
    assert trouble in found.trouble
    assert bool(found.trouble) is bool(trouble)


def test_a_version_that_is_not_the_installed_one_is_found(machine: Machine) -> None:
    machine.install("9.9.9-0123abcd")
    line = finding(machine, "handshake")
    assert line.status is Status.FAILED
    assert "where 9.9.9-0123abcd is installed" in line.text


@pytest.mark.demand("LIFE-7")
def test_advice_breaks_nothing(machine: Machine) -> None:
    machine.env["PATH"] = f"{machine.claude.folder}:/usr/bin:/bin"
    assert finding(machine, "PATH").status is Status.NOTE
    assert f'export PATH="{machine.layout.bin}:$PATH"' in finding(machine, "PATH").repair
    assert finding(machine, "registration").status is Status.NOTE
    assert finding(machine, "registration").repair == "ways reconcile"
    assert doctor.run(machine.world).exit_code == 0


def test_another_program_of_that_name_before_ours_on_path_is_named(machine: Machine) -> None:
    other = Path(machine.claude.folder) / "ways"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert str(other) in finding(machine, "PATH").text


@pytest.mark.demand("LIFE-7")
def test_without_a_client_its_checks_are_skipped(machine: Machine) -> None:
    os.unlink(machine.claude.path)
    assert finding(machine, str(machine.home / ".claude")).status is Status.SKIPPED
    assert finding(machine, "sessions").status is Status.SKIPPED
    (machine.home / ".claude").mkdir()
    assert finding(machine, "registration").status is Status.SKIPPED
    assert doctor.run(machine.world).exit_code == 0


def test_a_missing_and_a_foreign_command_are_broken(machine: Machine) -> None:
    Path(machine.layout.bin, "ways").unlink()
    own = Path(machine.layout.bin, "attend")
    own.unlink()
    own.write_text("mine")
    assert finding(machine, "ways").status is Status.FAILED
    assert "is not ours" in finding(machine, "attend").text
    assert doctor.run(machine.world).exit_code == 1


def test_a_registration_that_leads_nowhere_is_broken(machine: Machine) -> None:
    reconcile.run(machine.world)
    (machine.home / ".claude" / "bin" / "ways-mcp").unlink()
    assert finding(machine, "link").status is Status.FAILED


def test_nothing_installed_is_told(tmp_path: Path) -> None:
    report = doctor.run(Machine(tmp_path, installed=False).world)
    assert report.exit_code == 1
    assert report.lines[0].text == "nothing is installed"


@pytest.mark.demand("LIFE-7")
def test_it_leaves_nothing_behind_also_where_there_was_no_bus(machine: Machine) -> None:
    before = machine.tree()
    assert finding(machine, "bus: write and read back").status is Status.OK
    assert machine.tree() == before
    (machine.home / ".local" / "state" / "agent-ways" / "attend").mkdir(parents=True)
    doctor.run(machine.world)  # makes what belongs in a bus
    there = set(machine.tree())
    assert finding(machine, "bus: write and read back").status is Status.OK
    assert set(machine.tree()) == there


@pytest.mark.demand("LIFE-7")
def test_a_bus_that_can_not_be_written_is_broken(machine: Machine) -> None:
    state = machine.home / ".local" / "state" / "agent-ways"
    (state / "attend").mkdir(parents=True)
    (state / "attend" / "locks").write_text("in the way")
    (state / "attend" / "signals").write_text("in the way")
    assert finding(machine, "bus: write and read back").status is Status.FAILED
    assert doctor.run(machine.world).exit_code == 1


@pytest.mark.demand("LIFE-7")
def test_a_launch_line_whose_python_is_gone_is_broken(machine: Machine) -> None:
    path = Path(os.path.realpath(machine.layout.command("attend")))
    path.write_text("#!/gone/python3 -IS\n")
    assert finding(machine, "attend").status is Status.FAILED
    assert "does not start" in finding(machine, "attend").text


@pytest.mark.demand("LIFE-7")
def test_commands_of_two_versions_are_broken(machine: Machine) -> None:
    path = Path(os.path.realpath(machine.layout.command("attend")))
    path.write_text("#!/bin/sh\necho attend 0.0.1\n")
    assert "attend 0.0.1" in finding(machine, "versions").text


@pytest.mark.demand("LIFE-7")
def test_what_in_the_config_makes_no_sense_is_a_note(machine: Machine) -> None:
    path = machine.home / ".config" / "agent-ways" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[keepalive]\nwindow = 3\n")
    assert finding(machine, "config").status is Status.NOTE


@pytest.mark.demand("LIFE-5", "LIFE-7")
@pytest.mark.field_report(14)
@pytest.mark.field_report(78)
def test_what_stands_in_the_way_of_the_registration_is_named_with_its_command(machine: Machine) -> None:
    reconcile.run(machine.world)
    project = machine.home / "project"
    project.mkdir()
    entry = {"type": "stdio", "command": "/other/ways-mcp", "args": []}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"agent-ways": entry}}))
    path = machine.home / ".claude.json"
    content = json.loads(path.read_text())
    content["mcpServers"]["second"] = entry
    content["projects"] = {str(project): {"mcpServers": {"agent-ways": entry}}, "odd": 1, "gone": {}}
    path.write_text(json.dumps(content))
    settings = json.loads(machine.settings.read_text())
    machine.settings.write_text(json.dumps({**settings, "mcpServers": {"agent-ways": entry}}))
    lines = [line for line in doctor.run(machine.world).lines if line.subject == "registration"]
    repairs = [line.repair for line in lines]
    assert repairs == [
        "claude mcp remove second --scope user",
        f"cd {project} && claude mcp remove agent-ways --scope local",
        f"cd {project} && claude mcp remove agent-ways --scope project",
        "",
    ]
    assert "mcpServers block" in lines[-1].text
    assert doctor.run(machine.world).exit_code == 0
    shown = status.run(machine.world).to_json()["targets"][0]["shadows"]
    assert shown == [line.text for line in lines]


# -- live sessions ------------------------------------------------------------------------------------------------


def live_session(machine: Machine, **more: object) -> None:
    """The record of a session whose client is this very process."""
    folder = machine.home / ".claude" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    me = os.getpid()
    record = {
        "pid": me,
        "sessionId": "0123abcd-0000-4000-8000-000000000000",
        "cwd": str(machine.home / "project"),
        "procStart": process_table().look(me).start,  # type: ignore[union-attr]  # this process lives
        "entrypoint": "cli",
        "kind": "interactive",
        "status": "idle",
        **more,
    }
    (folder / f"{me}.json").write_text(json.dumps(record))


@pytest.mark.demand("LIFE-7")
def test_a_live_session_is_shown_with_its_conduits_and_why_its_channel_would_not_load(machine: Machine) -> None:
    reconcile.run(machine.world)
    live_session(machine, messagingSocketPath="/no/such/socket")
    shown = status.run(machine.world).to_json()["sessions"]
    assert [(one["claude_pid"], one["status"]) for one in shown] == [(os.getpid(), "idle")]
    assert set(shown[0]["conduits"]) == {"channel", "inbox_socket", "loop", "drain"}
    found = [line for line in doctor.run(machine.world).lines if line.subject.startswith("session ")]
    text = " ".join(f"{line.text} {line.repair}" for line in found)
    assert "tengu_harbor is off" in text
    assert "--dangerously-load-development-channels" in text
    assert "/no/such" in text
    assert doctor.run(machine.world).exit_code == 0


def test_sessions_of_print_mode_are_left_out(machine: Machine) -> None:
    live_session(machine, entrypoint="sdk-cli")
    assert status.run(machine.world).to_json()["sessions"] == []


def test_records_of_what_is_gone_are_counted(machine: Machine) -> None:
    reconcile.run(machine.world)
    live_session(machine)
    folder = machine.home / ".claude" / "sessions"
    (folder / "4194305.json").write_text('{"pid": 4194305, "sessionId": "x", "procStart": "1"}')
    markers = machine.home / ".local" / "state" / "agent-ways" / "servers"
    markers.mkdir(parents=True)
    owner = {**this_process(process_table(), machine.env).to_json(), "pid": 4194305}
    (markers / "x.4194305").write_text(json.dumps({"v": 1, "owner": owner}))
    assert finding(machine, "stale records").text.startswith("1 in ")
    assert finding(machine, "stale markers").text.startswith("1 in ")


FINE = gate.Seen(
    intent=ChannelIntent("yes", "the flag is there"),
    environment={},
    settings={},
    features={gate.FEATURE: True},
    policies={},
    served=True,
)


@pytest.mark.demand("LIFE-7", "ID-3")
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, ""),
        ({"environment": {"DISABLE_TELEMETRY": "1"}}, "DISABLE_TELEMETRY is set"),
        ({"environment": {"DISABLE_TELEMETRY": "0"}}, ""),
        ({"settings": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "true"}}, "TRAFFIC is set"),
        ({"environment": {"CLAUDE_CODE_USE_BEDROCK": "1"}}, "its own provider"),
        ({"features": {}}, "tengu_harbor is off"),
        ({"features": {gate.FEATURE: False}}, "tengu_harbor is off"),
        ({"policies": {"/etc/x.json": {}}}, "/etc/x.json does not allow"),
        ({"policies": {"/etc/x.json": {"channelsEnabled": True}}}, ""),
        ({"intent": ChannelIntent("no", "beside --channels")}, "beside --channels"),
        ({"intent": ChannelIntent("unknown", "can not be read")}, "can not be read"),
        ({"served": False}, "dialog"),
        ({"environment": None}, "environment can not be read"),
    ],
)
def test_each_thing_in_the_way_of_a_channel_is_named(changed: dict[str, Any], words: str) -> None:
    found = gate.reasons(dataclasses.replace(FINE, **changed))
    assert len(found) == bool(words)
    assert words in "".join(reason.text for reason in found)


def test_policies_are_read_where_an_organisation_puts_them(tmp_path: Path) -> None:
    (tmp_path / "managed-settings.d").mkdir()
    (tmp_path / "managed-settings.json").write_text('{"channelsEnabled": true}')
    (tmp_path / "managed-settings.d" / "10.json").write_text("[]")
    found = looks.policies(str(tmp_path))
    assert list(found.values()) == [{"channelsEnabled": True}, {}]


def test_a_sockets_folder_is_tried(tmp_path: Path) -> None:
    path = tmp_path / "one.sock"
    assert "can not be looked at" in looks.socket_trouble(str(path))
    path.write_text("")
    tmp_path.chmod(0o700)
    assert "is no socket" in looks.socket_trouble(str(path))
    path.unlink()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        assert looks.socket_trouble(str(path)) == ""
        tmp_path.chmod(0o722)
        assert "others may write" in looks.socket_trouble(str(path))
