from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways import __version__
from agent_ways.ways import handshake
from agent_ways.ways.commands import doctor, reconcile
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
    assert [(line.subject, line.status) for line in report.lines] == [
        ("handshake", Status.OK),
        ("commands", Status.OK),
        ("PATH", Status.OK),
        ("registration", Status.OK),
    ]
    assert report.exit_code == 0
    assert f"ways-mcp {__version__} answered" in report.lines[0].text
    assert "ways_status" in report.lines[0].text


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
    assert finding(machine, "registration").status is Status.FAILED


def test_nothing_installed_is_told(tmp_path: Path) -> None:
    report = doctor.run(Machine(tmp_path, installed=False).world)
    assert report.exit_code == 1
    assert report.lines[0].text == "nothing is installed"
