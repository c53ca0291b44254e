from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from agent_ways.base.errors import RefusedError, StateError, UsageError
from agent_ways.claude import mcp
from agent_ways.ways.commands import reconcile
from agent_ways.ways.report import Report, Status
from tests.ways.support import Machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def statuses(report: Report) -> list[tuple[str, str]]:
    return [(line.subject, line.status.value) for line in report.lines]


def servers(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text())["mcpServers"]
    return found


@pytest.mark.demand("LIFE-1", "LIFE-5")
def test_it_links_and_registers_the_targets_own_link(machine: Machine) -> None:
    report = reconcile.run(machine.world)
    assert statuses(report) == [("link", "done"), ("registration", "done")]
    link = machine.home / ".claude" / "bin" / "ways-mcp"
    assert os.readlink(link) == machine.layout.command("ways-mcp")
    assert servers(machine.home / ".claude.json") == {"agent-ways": mcp.desired(str(link))}


@pytest.mark.demand("LIFE-3")
def test_a_second_run_changes_nothing_and_is_one_quiet_line(machine: Machine) -> None:
    reconcile.run(machine.world)
    before, calls = machine.tree(), len(machine.claude.calls)
    report = reconcile.run(machine.world)
    assert report.all_ok
    assert report.quiet
    assert (machine.tree(), len(machine.claude.calls)) == (before, calls)


@pytest.mark.demand("LIFE-3")
def test_a_dry_run_changes_nothing_and_says_twice_the_same_that_then_happens(machine: Machine) -> None:
    before = machine.tree()
    planned = reconcile.run(machine.world, dry_run=True)
    assert planned == reconcile.run(machine.world, dry_run=True)
    assert machine.tree() == before
    assert machine.claude.calls == []
    done = reconcile.run(machine.world)
    assert [(line.subject, line.text) for line in planned.lines] == [(line.subject, line.text) for line in done.lines]
    assert [line.status for line in planned.lines] == [Status.WOULD, Status.WOULD]


@pytest.mark.demand("LIFE-5")
def test_a_named_config_dir_is_reconciled_by_its_name(tmp_path: Path) -> None:
    work = tmp_path / "home" / "work config"
    machine = Machine(tmp_path, CLAUDE_CONFIG_DIR=f"{work}/")
    reconcile.run(machine.world)
    assert servers(work / ".claude.json") == {"agent-ways": mcp.desired(str(work / "bin" / "ways-mcp"))}
    assert not (machine.home / ".claude.json").exists()
    assert machine.claude.calls[0]["env"]["CLAUDE_CONFIG_DIR"] == str(work)


@pytest.mark.demand("LIFE-5")
def test_a_variable_that_names_the_default_dir_is_any_other_name(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "home" / ".claude"))
    reconcile.run(machine.world)
    assert "agent-ways" in servers(machine.home / ".claude" / ".claude.json")
    assert not (machine.home / ".claude.json").exists()


def test_a_relative_config_dir_is_refused_with_what_to_do(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLAUDE_CONFIG_DIR="work")
    with pytest.raises(UsageError, match="another folder in each working directory") as raised:
        reconcile.run(machine.world)
    assert "absolute path" in raised.value.hint


@pytest.mark.demand("LIFE-3")
@pytest.mark.parametrize("kind", ["file", "folder", "foreign link", "dangling foreign link"])
def test_what_is_not_ours_where_the_link_belongs_is_refused_before_anything_is_touched(
    kind: str, machine: Machine
) -> None:
    place = machine.home / ".claude" / "bin" / "ways-mcp"
    place.parent.mkdir(parents=True)
    if kind == "file":
        place.write_text("mine")
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("/bin/sh" if kind == "foreign link" else "/no/such")
    before = machine.tree()
    for dry_run in (False, True):
        with pytest.raises(RefusedError, match="is not ours"):
            reconcile.run(machine.world, dry_run=dry_run)
    assert machine.tree() == before
    assert machine.claude.calls == []


def test_a_link_of_an_older_layout_of_ours_is_flipped(machine: Machine) -> None:
    place = machine.home / ".claude" / "bin" / "ways-mcp"
    place.parent.mkdir(parents=True)
    place.symlink_to(f"{machine.layout.data}/old/ways-mcp")
    reconcile.run(machine.world)
    assert os.readlink(place) == machine.layout.command("ways-mcp")


@pytest.mark.demand("LIFE-1")
def test_without_claude_code_it_says_so_and_makes_nothing(machine: Machine) -> None:
    os.unlink(machine.claude.path)
    before = machine.tree()
    report = reconcile.run(machine.world)
    assert (statuses(report), report.exit_code) == ([("Claude Code", "note")], 0)
    assert "ways reconcile" in report.lines[0].repair
    assert machine.tree() == before


@pytest.mark.demand("LIFE-1", "LIFE-5")
def test_a_config_dir_without_claude_on_path_is_linked_and_the_rest_told(machine: Machine) -> None:
    os.unlink(machine.claude.path)
    (machine.home / ".claude").mkdir()
    report = reconcile.run(machine.world)
    assert statuses(report) == [("link", "done"), ("registration", "note")]
    assert report.lines[1].repair.startswith("claude mcp add-json agent-ways ")
    assert report.exit_code == 0


@pytest.mark.demand("LIFE-5")
@pytest.mark.parametrize("misdeed", ["exit-1", "lies", "half-file", "elsewhere"])
def test_a_misbehaving_claude_fails_nothing_and_the_command_by_hand_is_told(misdeed: str, machine: Machine) -> None:
    machine.claude.misbehave(add_json=misdeed)
    report = reconcile.run(machine.world)
    assert report.lines[-1].status is Status.FAILED
    assert report.lines[-1].repair.startswith("claude mcp add-json agent-ways ")
    assert report.exit_code == 0
    machine.claude.misbehave(add_json="")
    (machine.home / ".claude.json").unlink(missing_ok=True)
    assert statuses(reconcile.run(machine.world))[-1] == ("registration", "done")


def test_before_an_install_it_names_make_install(tmp_path: Path) -> None:
    machine = Machine(tmp_path, installed=False)
    with pytest.raises(StateError) as raised:
        reconcile.run(machine.world)
    assert "make install" in raised.value.hint


def test_the_registered_command_stays_when_another_version_is_put_in_force(machine: Machine) -> None:
    reconcile.run(machine.world)
    machine.install("9.9.9-0123abcd")
    assert machine.layout.installed() == "9.9.9-0123abcd"
    assert reconcile.run(machine.world).all_ok
