from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agent_ways.base.errors import DamagedRecordError, StateError, UsageError
from agent_ways.ways import render
from agent_ways.ways.commands import reconcile, status, uninstall
from agent_ways.ways.commands import target as verbs
from agent_ways.ways.report import Report, Status
from tests.ways.support import Machine

pytestmark = pytest.mark.demand("LIFE-3")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def listed(machine: Machine) -> dict[str, str]:
    data = verbs.show_list(machine.world).to_json()
    return {Path(one["config_dir"]).name: one["state"] for one in data["targets"]}


def statuses(report: Report) -> list[tuple[str, str]]:
    return [(line.subject, line.status.value) for line in report.lines]


def test_without_a_list_the_dir_in_force_is_meant_and_the_first_reconcile_records_it(machine: Machine) -> None:
    answer = verbs.show_list(machine.world).to_json()
    assert (answer["recorded"], listed(machine)) == (False, {".claude": "pending"})
    reconcile.run(machine.world)
    answer = verbs.show_list(machine.world).to_json()
    assert (answer["recorded"], listed(machine)) == (True, {".claude": "active"})


def test_adding_a_dir_records_and_converges_that_dir_alone(machine: Machine) -> None:
    work = machine.home / "work"
    assert verbs.add(machine.world, str(work)).exit_code == 0
    assert listed(machine) == {".claude": "pending", "work": "active"}
    assert not (machine.home / ".claude").exists()
    assert verbs.add(machine.world, str(work)).all_ok


@pytest.mark.parametrize("typed", ["{home}/work/", "~/work", "work", "./x/../work"])
def test_a_dir_is_one_target_however_it_is_typed(typed: str, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(machine.home)
    verbs.add(machine.world, typed.format(home=machine.home))
    assert [known.target.config_dir for known in machine.world.targets()][1:] == [str(machine.home / "work")]


def test_a_plan_shows_what_adding_would_do_and_changes_nothing(machine: Machine) -> None:
    work = str(machine.home / "work")
    before = machine.tree()
    planned = verbs.show_plan(machine.world, work)
    dry = verbs.add(machine.world, work, dry_run=True)
    assert machine.tree() == before
    done = verbs.add(machine.world, work)
    for report in (planned, dry):
        assert [line.text for line in report.lines[1:]] == [line.text for line in done.lines[1:]]
        assert {line.status for line in report.lines[1:]} == {Status.WOULD}
        assert (report.lines[0].subject, report.lines[0].text) == (work, "is not there: would be made")
    assert (done.lines[0].subject, done.lines[0].text) == (work, "was not there: made")
    assert not any("was not there" in line.text for line in verbs.add(machine.world, work).lines)


def test_entries_are_counted_and_a_plan_names_each(machine: Machine) -> None:
    planned = next(line for line in verbs.show_plan(machine.world, "~/work").lines if line.subject == "settings")
    assert planned.text.endswith(
        ": adds 10 permissions (one for each of 9 tools, and Bash(attend run)) and 2 hooks (SessionStart, Stop)"
    )
    assert len(planned.details) == 12
    assert "\n           adds permissions.allow: Bash(attend run)\n" in f"{render.text_of(planned)}\n"
    done = next(line for line in verbs.add(machine.world, "~/work").lines if line.subject == "settings")
    assert (done.text, done.details) == (planned.text, planned.details)
    assert "\n" not in render.text_of(done)


@pytest.mark.demand("LIFE-4")
def test_settings_that_are_not_json_are_named_with_the_reason_and_not_sent_round_in_a_circle(machine: Machine) -> None:
    machine.settings.parent.mkdir()
    machine.settings.write_text('{\n  // mine\n  "model": "x"\n}')
    reconcile.run(machine.world)
    for line in (verbs.show_list(machine.world).lines[0], status.run(machine.world).lines[1]):
        assert line.subject == str(machine.home / ".claude")
        assert "is not JSON: there is a comment at line 2, and JSON has none" in line.text
        assert line.repair == "mend it, then: ways reconcile"
    machine.settings.write_text("{}")
    reconcile.run(machine.world)
    machine.settings.write_text("{")
    verbs.disable(machine.world, str(machine.home / ".claude"))
    line = verbs.show_list(machine.world).lines[0]
    assert (line.status, line.repair) == (Status.NOTE, "mend it, then: ways reconcile")
    assert "something of ours is there; settings: " in line.text


@pytest.mark.demand("LIFE-4")
def test_settings_with_a_byte_order_mark_are_taken_and_given_back_to_the_byte(machine: Machine) -> None:
    machine.settings.parent.mkdir()
    before = '\ufeff{\r\n  "model": "x"\r\n}\r\n'.encode()
    machine.settings.write_bytes(before)
    assert reconcile.run(machine.world).exit_code == 0
    assert machine.settings.read_bytes().startswith(b'\xef\xbb\xbf{\r\n  "model": "x",\r\n  "permissions"')
    assert reconcile.run(machine.world).all_ok
    verbs.disable(machine.world, str(machine.home / ".claude"))
    assert machine.settings.read_bytes() == before


def test_a_refused_dir_is_not_recorded(machine: Machine) -> None:
    place = machine.home / "work" / "bin" / "ways"
    place.parent.mkdir(parents=True)
    place.write_text("mine")
    before = machine.tree()
    assert verbs.show_plan(machine.world, str(machine.home / "work")).exit_code == 3
    assert verbs.add(machine.world, str(machine.home / "work")).exit_code == 3
    assert machine.tree() == before
    assert verbs.add(machine.world, str(machine.home / "work"), force=True).exit_code == 0


@pytest.mark.demand("LIFE-9")
def test_a_disabled_target_is_withdrawn_from_and_stays_so_and_comes_back(machine: Machine) -> None:
    work = machine.home / "work"
    work.mkdir()
    (work / "settings.json").write_text('{"model": "x"}')
    before = {path: what for path, what in machine.tree().items() if path.startswith("work")}
    verbs.add(machine.world, str(work))
    report = verbs.disable(machine.world, str(work))
    assert [line.subject for line in report.lines][:2] == ["registration", "settings"]
    assert listed(machine)["work"] == "withdrawn"
    after = {path: what for path, what in machine.tree().items() if path.startswith("work")}
    servers = json.loads((work / ".claude.json").read_text())
    assert servers == {"mcpServers": {}}
    assert {path: what for path, what in after.items() if path != "work/.claude.json"} == before
    assert reconcile.run(machine.world).exit_code == 0
    assert listed(machine)["work"] == "withdrawn"
    verbs.enable(machine.world, str(work))
    assert listed(machine)["work"] == "active"


@pytest.mark.demand("LIFE-9")
def test_a_removed_target_is_withdrawn_from_and_forgotten_also_where_it_is_gone(machine: Machine) -> None:
    for name in ("one", "two"):
        verbs.add(machine.world, str(machine.home / name))
    shutil.rmtree(machine.home / "two")
    for name in ("one", "two"):
        planned = verbs.remove(machine.world, str(machine.home / name), dry_run=True)
        done = verbs.remove(machine.world, str(machine.home / name))
        assert [line.text for line in planned.lines] == [line.text for line in done.lines]
    assert list(listed(machine)) == [".claude"]
    assert not (machine.home / "one" / "bin").exists()
    assert not (machine.home / "two").exists()


@pytest.mark.demand("LIFE-9")
def test_a_target_that_could_not_be_withdrawn_from_stays_in_the_list(machine: Machine) -> None:
    work = str(machine.home / "work")
    verbs.add(machine.world, work)
    machine.claude.misbehave(remove="exit-1")
    report = verbs.remove(machine.world, work)
    assert report.exit_code == 1
    assert "claude mcp remove agent-ways --scope user" in report.lines[0].repair
    assert listed(machine)["work"] == "stale"
    machine.claude.misbehave(remove="")
    assert verbs.remove(machine.world, work).exit_code == 0


def test_an_empty_list_touches_nothing_and_says_so(machine: Machine) -> None:
    reconcile.run(machine.world)
    verbs.remove(machine.world, str(machine.home / ".claude"))
    before = machine.tree()
    report = reconcile.run(machine.world)
    assert "ways target add" in report.lines[0].text
    assert machine.tree() == before


def test_a_variable_that_names_no_target_is_said(machine: Machine) -> None:
    reconcile.run(machine.world)
    machine.env["CLAUDE_CONFIG_DIR"] = str(machine.home / "work")
    line = reconcile.run(machine.world).lines[-1]
    assert (line.status, line.repair) == (Status.NOTE, f"ways target add {machine.home}/work")
    machine.env["CLAUDE_CONFIG_DIR"] = "relative"
    line = reconcile.run(machine.world).lines[-1]
    assert (line.status, line.subject) == (Status.NOTE, "CLAUDE_CONFIG_DIR")
    assert line.text.startswith("is relative, ")


@pytest.mark.parametrize("verb", [verbs.remove, verbs.enable, verbs.disable, verbs.reset])
def test_a_dir_that_is_no_target_is_a_usage_error(verb: object, machine: Machine) -> None:
    assert callable(verb)
    for dry_run in (True, False):
        with pytest.raises(UsageError, match="is no target"):
            verb(machine.world, str(machine.home / "nowhere"), dry_run=dry_run)


def test_what_was_taken_out_a_moment_ago_is_offered_again_by_reset(machine: Machine) -> None:
    reconcile.run(machine.world)
    machine.settings.write_text("{}")
    report = verbs.reset(machine.world, str(machine.home / ".claude"))
    assert statuses(report) == [("settings", "done")]
    assert "Bash(attend run)" in machine.settings.read_text()
    assert reconcile.run(machine.world).all_ok


def test_a_damaged_list_is_no_empty_one(machine: Machine) -> None:
    reconcile.run(machine.world)
    path = Path(machine.world.targets().path)
    path.write_text("{")
    with pytest.raises(DamagedRecordError):
        reconcile.run(machine.world)
    assert path.read_text() == "{"


def test_without_an_installation_the_verbs_name_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path, installed=False)
    with pytest.raises(StateError):
        verbs.add(machine.world, str(machine.home / "work"))
    line = verbs.show_list(machine.world).lines[0]
    assert (line.text, line.repair) == ("nothing is installed", "in the checkout: make install")


def test_a_package_in_an_environment_of_another_program_is_projected_from_there(tmp_path: Path) -> None:
    machine = Machine(tmp_path, installed=False)
    bin_dir = tmp_path / "pipx" / "bin"
    bin_dir.mkdir(parents=True)
    for name in ("ways", "attend", "ways-mcp"):
        (bin_dir / name).write_text("#!/bin/sh\n")
        (bin_dir / name).chmod(0o755)
    machine.prefix = str(tmp_path / "pipx")
    assert reconcile.run(machine.world).exit_code == 0
    assert (machine.home / ".claude" / "bin" / "ways").readlink() == bin_dir / "ways"
    assert reconcile.run(machine.world).all_ok
    assert uninstall.run(machine.world).exit_code == 0
    assert not (machine.home / ".claude" / "bin").exists()
