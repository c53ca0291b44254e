from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_ways.base.errors import RefusedError
from agent_ways.ways.commands import config, keepalive, reconcile, target, uninstall
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Status
from tests.ways.support import Machine


def noted(machine: Machine) -> None:
    """Install as `make install` does: every folder noted before it is made."""
    ledger = Ledger(machine.layout)
    ledger.make_folder(machine.layout.data)
    ledger.make_folder(machine.layout.bin)
    machine.install()


@pytest.mark.demand("LIFE-1", "LIFE-9")
@pytest.mark.parametrize("was_there", ["", ".claude/bin", ".local/bin", ".local/share/agent-ways-of-mine"])
def test_the_home_is_as_it_was_before(was_there: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, installed=False)
    if was_there:
        (machine.home / was_there).mkdir(parents=True)
    (machine.home / ".claude.json").write_text('{\n  "mcpServers": {}\n}')
    (machine.home / ".config").mkdir()
    before = machine.tree()
    noted(machine)
    reconcile.run(machine.world)
    assert uninstall.run(machine.world).exit_code == 0
    assert machine.tree() == before


@pytest.mark.demand("LIFE-9")
def test_it_withdraws_the_registration_before_it_takes_links(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    report = uninstall.run(machine.world)
    subjects = list(dict.fromkeys(line.subject for line in report.lines))
    assert subjects == ["registration", "settings", "link", "versions"]
    assert all(line.status is Status.DONE for line in report.lines)


@pytest.mark.demand("LIFE-9")
def test_a_second_run_finds_nothing_and_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    uninstall.run(machine.world)
    before = machine.tree()
    report = uninstall.run(machine.world)
    assert (report.lines, report.exit_code) == ((), 0)
    assert report.quiet
    assert machine.tree() == before


def test_messages_and_settings_stay(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for path in (".local/state/agent-ways/bus/one", ".config/agent-ways/config.toml"):
        (machine.home / path).parent.mkdir(parents=True)
        (machine.home / path).write_text("x")
    planned = uninstall.run(machine.world, dry_run=True)
    done = uninstall.run(machine.world)
    for report in (planned, done, uninstall.run(machine.world)):
        assert [line.text for line in report.lines if line.status is Status.NOTE] == [
            f"your messages and records stay; to remove them: rm -r {machine.home}/.local/state/agent-ways",
            f"your settings stay; to remove them: rm -r {machine.home}/.config/agent-ways",
        ]
    assert (machine.home / ".local/state/agent-ways/bus/one").is_file()
    assert (machine.home / ".config/agent-ways/config.toml").is_file()


@pytest.mark.demand("LIFE-9")
def test_what_is_not_ours_is_kept(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    own = Path(machine.layout.bin, "attend")
    own.unlink()
    own.write_text("mine")
    Path(machine.layout.data, "notes").write_text("mine too")
    (machine.home / ".claude/bin/other").write_text("theirs")
    report = uninstall.run(machine.world)
    assert own.read_text() == "mine"
    assert Path(machine.layout.data, "notes").read_text() == "mine too"
    assert (machine.home / ".claude/bin/other").read_text() == "theirs"
    assert report.lines[-1].status is Status.NOTE
    assert "not ours" in report.lines[-1].text


def test_every_target_ever_reconciled_is_withdrawn_from(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    target.add(machine.world, str(machine.home / "work"))
    uninstall.run(machine.world)
    for path in (machine.home / ".claude.json", machine.home / "work" / ".claude.json"):
        assert "agent-ways" not in path.read_text()
    assert not (machine.home / "work" / "bin").exists()


def test_a_registration_that_could_not_be_withdrawn_is_told_with_its_command_and_exit_code(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    machine.claude.misbehave(remove="exit-1")
    report = uninstall.run(machine.world)
    assert report.exit_code == 1
    assert report.lines[0].repair == "claude mcp remove agent-ways --scope user"
    assert not Path(machine.layout.data).exists()


def test_a_dry_run_shows_what_then_happens_and_changes_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    before = machine.tree()
    planned = uninstall.run(machine.world, dry_run=True)
    assert machine.tree() == before
    done = uninstall.run(machine.world)
    assert [line.subject for line in planned.lines] == [line.subject for line in done.lines]
    assert {line.status for line in planned.lines} == {Status.WOULD}


@pytest.mark.parametrize("lost", ["ledger.json", "current", "versions"])
def test_a_damaged_installation_is_taken_back_all_the_same(lost: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    path = Path(machine.layout.data, lost)
    if lost == "ledger.json":
        path.write_text("{")
    elif path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path)
    assert uninstall.run(machine.world).exit_code == 0
    assert not Path(machine.layout.data).exists()
    assert list(Path(machine.layout.bin).iterdir()) == []
    assert "agent-ways" not in (machine.home / ".claude.json").read_text()


def test_versions_behind_a_link_are_not_followed_into(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    shutil.move(machine.layout.versions, elsewhere)
    Path(machine.layout.versions).symlink_to(elsewhere)
    uninstall.run(machine.world)
    assert len(list(elsewhere.iterdir())) == 1


def test_the_installed_command_takes_itself_away(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    ran = subprocess.run(["ways", "uninstall"], env=machine.env, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "versions: removes" in ran.stdout
    assert not Path(machine.layout.data).exists()


@pytest.mark.demand("LIFE-4", "LIFE-9")
def test_what_a_person_decided_stays_for_the_next_installation(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    value = json.loads(machine.settings.read_text())
    value["permissions"]["allow"].remove("Bash(attend run)")
    machine.settings.write_text(json.dumps(value))
    reconcile.run(machine.world)
    uninstall.run(machine.world)
    machine.install()
    reconcile.run(machine.world)
    assert "mcp__agent-ways__ways_status" in machine.settings.read_text()
    assert "Bash(attend run)" not in machine.settings.read_text()


@pytest.mark.demand("LIFE-9")
def test_purge_takes_messages_records_and_the_config_too(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    reconcile.run(machine.world)
    for path in (".local/state/agent-ways/attend/one", ".config/agent-ways/config.toml"):
        (machine.home / path).parent.mkdir(parents=True, exist_ok=True)
        (machine.home / path).write_text("x")
    planned = uninstall.run(machine.world, dry_run=True, purge=True)
    done = uninstall.run(machine.world, purge=True)
    assert done.exit_code == 0
    assert sorted(line.text for line in planned.lines) == sorted(line.text for line in done.lines)
    assert not (machine.home / ".local/state/agent-ways").exists()
    assert not (machine.home / ".config/agent-ways").exists()
    assert uninstall.run(machine.world, purge=True).lines == ()


@pytest.mark.demand("LIFE-9")
def test_purge_leaves_no_folder_that_a_setting_made(tmp_path: Path) -> None:
    machine = Machine(tmp_path, installed=False)
    before = machine.tree()
    noted(machine)
    config.change(machine.world, "attend.wake", "never")
    keepalive.on(machine.world)
    assert (machine.home / ".config").is_dir()
    assert (machine.home / ".local/state").is_dir()
    assert uninstall.run(machine.world, purge=True).exit_code == 0
    assert machine.tree() == before


@pytest.mark.demand("LIFE-9")
def test_purge_leaves_what_the_original_agent_ways_uses_too(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    theirs = machine.home / ".config/agent-ways/config.yaml"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("targets: []")
    assert uninstall.run(machine.world, purge=True).exit_code == 1
    assert theirs.is_file()


@pytest.mark.demand("LIFE-9")
@pytest.mark.parametrize(
    "variables",
    [
        {"XDG_STATE_HOME": "{home}/.local/share"},
        {"XDG_CONFIG_HOME": "{home}/.local/share/agent-ways"},
        {"XDG_DATA_HOME": "{home}/.config/agent-ways"},
    ],
)
def test_a_layout_in_which_ours_can_not_be_told_apart_is_refused(variables: dict[str, str], tmp_path: Path) -> None:
    named = {name: value.format(home=tmp_path / "home") for name, value in variables.items()}
    machine = Machine(tmp_path, installed=True, **named)
    before = machine.tree()
    for dry_run in (True, False):
        with pytest.raises(RefusedError, match="are not apart"):
            uninstall.run(machine.world, dry_run=dry_run)
    assert machine.tree() == before


@pytest.mark.demand("LIFE-9")
def test_a_data_dir_behind_a_link_is_refused(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    shutil.move(machine.layout.data, tmp_path / "elsewhere")
    Path(machine.layout.data).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="symbolic link"):
        uninstall.run(machine.world)
