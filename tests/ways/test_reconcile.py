from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.base.errors import StateError, UsageError
from agent_ways.claude import registration
from agent_ways.ways import projection
from agent_ways.ways.commands import reconcile, uninstall
from agent_ways.ways.commands import target as target_verbs
from agent_ways.ways.layout import COMMANDS
from agent_ways.ways.report import Report, Status
from agent_ways.ways.tool_names import TOOL_NAMES
from tests.support.until import until
from tests.ways.support import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

LINKS = [*(f"bin/{name}" for name in COMMANDS), projection.HOOKS, *(f"skills/{name}" for name in projection.SKILLS)]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def statuses(report: Report) -> list[tuple[str, str]]:
    return [(line.subject, line.status.value) for line in report.lines]


def servers(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text())["mcpServers"]
    return found


def settings(machine: Machine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(machine.settings.read_text())
    return found


def made(machine: Machine) -> list[str]:
    """Which of the links that may be in a target are in the default one."""
    return [name for name in LINKS if (machine.home / ".claude" / name).is_symlink()]


# -- what is put where --------------------------------------------------------------------------------------------


@pytest.mark.demand("LIFE-1", "LIFE-3", "LIFE-5")
def test_it_links_merges_and_registers_the_targets_own_link(machine: Machine) -> None:
    report = reconcile.run(machine.world)
    assert {line.status for line in report.lines} == {Status.DONE}
    assert report.lines[-1].subject == "registration"
    link = machine.home / ".claude" / "bin" / "ways-mcp"
    assert os.readlink(link) == machine.layout.command("ways-mcp")
    assert servers(machine.home / ".claude.json") == {"agent-ways": registration.desired(str(link))}
    for name in made(machine):
        assert (machine.home / ".claude" / name).exists(), "a link leads to something"
    assert set(made(machine)) >= {"bin/ways", "bin/attend", "bin/ways-mcp", projection.HOOKS}


@pytest.mark.demand("LIFE-4")
def test_the_settings_offer_one_permission_a_tool_the_monitors_and_two_hooks(machine: Machine) -> None:
    reconcile.run(machine.world)
    tools = [f"mcp__agent-ways__{name}" for name in TOOL_NAMES]
    assert settings(machine)["permissions"] == {"allow": [*tools, "Bash(attend run)"]}
    hooks = settings(machine)["hooks"]
    assert sorted(hooks) == ["SessionStart", "Stop"]
    for groups in hooks.values():
        command = groups[0]["hooks"][0]["command"]
        assert os.access(command, os.X_OK)
        assert command.startswith(f"{machine.home}/.claude/{projection.HOOKS}/")


@pytest.mark.demand("ATT-13", "LIFE-3")
def test_the_list_of_what_is_projected_is_the_folder(machine: Machine) -> None:
    folder = Path(projection.package_projected())
    hooks = {name for name, _ in projection.ACTIVE_HOOKS.values()} | set(projection.GUARD_HOOKS)
    assert {path.name for path in (folder / "hooks").iterdir()} == hooks
    assert {path.name for path in (folder / "skills").iterdir()} <= set(projection.SKILLS)
    assert {path.name for path in folder.iterdir() if path.name != "__pycache__"} == {"hooks", "skills"}
    reconcile.run(machine.world)
    text = machine.settings.read_text()
    assert not any(name in text for name in projection.GUARD_HOOKS), "guards are shipped inactive"


def test_the_tool_names_are_those_of_the_server() -> None:
    from agent_ways.server.surface import SURFACE

    assert tuple(name for name, _ in SURFACE) == TOOL_NAMES


@pytest.mark.demand("LIFE-4")
def test_a_config_dir_with_a_space_has_hooks_that_a_shell_can_run(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "home" / "my work"))
    reconcile.run(machine.world)
    text = (machine.home / "my work" / "settings.json").read_text()
    command = json.loads(text)["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert command == f"'{machine.home}/my work/{projection.HOOKS}/attend-drain.sh'"


# -- again, and beforehand ----------------------------------------------------------------------------------------


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
    assert {line.status for line in planned.lines} == {Status.WOULD}


def test_the_registered_command_and_every_link_stay_when_another_version_is_put_in_force(machine: Machine) -> None:
    reconcile.run(machine.world)
    machine.install("9.9.9-0123abcd")
    assert machine.layout.installed() == "9.9.9-0123abcd"
    assert reconcile.run(machine.world).all_ok


@pytest.mark.demand("LIFE-3")
def test_a_link_that_this_version_does_not_bring_goes(machine: Machine) -> None:
    reconcile.run(machine.world)
    bare = Path(os.path.realpath(machine.layout.current), "projected")
    bare.unlink()
    bare.mkdir()
    reconcile.run(machine.world)
    assert made(machine) == ["bin/ways", "bin/attend", "bin/ways-mcp"]
    assert "hooks" not in settings(machine) or settings(machine)["hooks"] == {"SessionStart": [], "Stop": []}


@pytest.mark.demand("LIFE-3", "LIFE-5")
def test_six_at_once_are_as_one(machine: Machine) -> None:
    reports: list[Report] = []
    threads = [threading.Thread(target=lambda: reports.append(reconcile.run(machine.world))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 6
    assert sum(report.changed for report in reports) == 1
    assert all(line.status in (Status.OK, Status.DONE) for report in reports for line in report.lines)
    adding = [call for call in machine.claude.calls if call["argv"][1] == "add-json"]
    assert len(adding) == 1


# -- which config dir ---------------------------------------------------------------------------------------------


@pytest.mark.demand("LIFE-5")
@pytest.mark.parametrize("suffix", ["", "/", "/.", "//x/.."])
def test_a_named_config_dir_is_reconciled_by_its_plain_path(suffix: str, tmp_path: Path) -> None:
    work = tmp_path / "home" / "work config"
    machine = Machine(tmp_path, CLAUDE_CONFIG_DIR=f"{work}{suffix}")
    reconcile.run(machine.world)
    assert servers(work / ".claude.json") == {"agent-ways": registration.desired(str(work / "bin" / "ways-mcp"))}
    assert not (machine.home / ".claude.json").exists()
    assert machine.claude.calls[0]["env"]["CLAUDE_CONFIG_DIR"] == str(work)


@pytest.mark.demand("LIFE-5")
def test_a_variable_that_names_the_default_dir_is_any_other_name(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "home" / ".claude"))
    reconcile.run(machine.world)
    assert "agent-ways" in servers(machine.home / ".claude" / ".claude.json")
    assert not (machine.home / ".claude.json").exists()


@pytest.mark.demand("LIFE-5", "LIFE-9")
def test_the_default_dir_reconciled_both_ways_is_registered_in_both_files_and_withdrawn_from_both(
    machine: Machine,
) -> None:
    reconcile.run(machine.world)
    machine.env["CLAUDE_CONFIG_DIR"] = str(machine.home / ".claude")
    assert statuses(reconcile.run(machine.world)) == [("registration", "done")]
    del machine.env["CLAUDE_CONFIG_DIR"]
    files = [machine.home / ".claude.json", machine.home / ".claude" / ".claude.json"]
    assert all("agent-ways" in servers(path) for path in files)
    uninstall.run(machine.world)
    assert not any(servers(path) for path in files)


@pytest.mark.demand("LIFE-5")
def test_a_legacy_file_comes_first(machine: Machine) -> None:
    legacy = machine.home / ".claude" / ".config.json"
    legacy.parent.mkdir()
    legacy.write_text("{}")
    reconcile.run(machine.world)
    assert "agent-ways" in servers(legacy)
    assert not (machine.home / ".claude.json").exists()


def test_a_relative_config_dir_is_refused_with_what_to_do(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLAUDE_CONFIG_DIR="work")
    with pytest.raises(UsageError, match="another folder in each working directory") as raised:
        reconcile.run(machine.world)
    assert "absolute path" in raised.value.hint


@pytest.mark.demand("LIFE-3")
def test_a_config_dir_behind_a_link_is_one_target_by_either_name(machine: Machine) -> None:
    real = machine.home / "dotfiles"
    real.mkdir()
    (machine.home / ".claude").symlink_to(real)
    reconcile.run(machine.world)
    assert target_verbs.add(machine.world, str(real)).all_ok
    assert len(list(machine.world.targets())) == 1


# -- what is not ours ---------------------------------------------------------------------------------------------


def put_there(place: Path, kind: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        place.write_text("mine")
    elif kind == "folder":
        place.mkdir()
        (place / "more").write_text("mine")
    else:
        place.symlink_to("/bin/sh" if kind == "foreign link" else "/no/such")


KINDS = ["file", "folder", "foreign link", "dangling foreign link"]


@pytest.mark.demand("LIFE-3")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, kind) for name in ("bin/ways-mcp", projection.HOOKS) for kind in KINDS),
        ("bin", "file"),
        ("bin", "foreign link"),
    ],
)
def test_what_is_not_ours_where_a_link_belongs_is_refused_before_anything_is_touched(
    name: str, kind: str, machine: Machine
) -> None:
    put_there(machine.home / ".claude" / name, kind)
    before = machine.tree()
    for dry_run in (False, True):
        report = reconcile.run(machine.world, dry_run=dry_run)
        assert report.exit_code == 3
        assert report.lines[0].status is Status.REFUSED
        assert report.lines[0].subject == str(machine.home / ".claude" / name)
    assert machine.tree() == before
    assert machine.claude.calls == []


@pytest.mark.demand("LIFE-3", "LIFE-9")
@pytest.mark.parametrize("kind", KINDS)
def test_force_moves_it_aside_and_removal_moves_it_back(kind: str, machine: Machine) -> None:
    put_there(machine.home / ".claude" / "bin" / "ways", kind)
    before = machine.tree()
    report = reconcile.run(machine.world, force=True)
    assert report.exit_code == 0
    assert "aside" in dict(statuses(report))
    assert reconcile.run(machine.world).all_ok
    target_verbs.disable(machine.world, str(machine.home / ".claude"))
    after = machine.tree()
    assert {path: after.get(path) for path in before if ".claude/" in path} == {
        path: what for path, what in before.items() if ".claude/" in path
    }


@pytest.mark.demand("LIFE-3")
@pytest.mark.parametrize("kind", KINDS)
def test_a_persons_own_skill_of_our_name_is_kept_and_said(kind: str, machine: Machine) -> None:
    brought = [name for name in projection.SKILLS if (Path(projection.package_projected()) / "skills" / name).is_dir()]
    assert brought
    place = machine.home / ".claude" / "skills" / brought[0]
    put_there(place, kind)
    report = reconcile.run(machine.world)
    assert report.exit_code == 0
    assert ("skill", "note") in statuses(report)
    uninstall.run(machine.world)
    assert os.path.lexists(place)


def test_a_link_of_ours_that_leads_elsewhere_is_turned(machine: Machine) -> None:
    place = machine.home / ".claude" / "bin" / "ways-mcp"
    place.parent.mkdir(parents=True)
    place.symlink_to(f"{machine.layout.data}/versions/0.0.1-00000000/ways-mcp")
    reconcile.run(machine.world)
    assert os.readlink(place) == machine.layout.command("ways-mcp")


@pytest.mark.demand("LIFE-3")
@pytest.mark.parametrize("sign", ["link", "hooks", "registration"])
def test_the_original_is_named_and_replaced_only_when_told(sign: str, machine: Machine) -> None:
    theirs = Path(machine.layout.data, "bin", "ways-mcp")
    theirs.parent.mkdir(parents=True)
    theirs.write_text("#!/bin/sh\n")
    target = machine.home / ".claude"
    if sign == "link":
        put_there(target / "bin" / "ways-mcp", "file")
        (target / "bin" / "ways-mcp").unlink()
        (target / "bin" / "ways-mcp").symlink_to(theirs)
    elif sign == "hooks":
        (target / "hooks" / "ways").mkdir(parents=True)
    else:
        entry = {"mcpServers": {"agent-ways": {"command": str(theirs)}}}
        (machine.home / ".claude.json").write_text(json.dumps(entry))
    (machine.home / ".config" / "agent-ways").mkdir(parents=True)
    (machine.home / ".config" / "agent-ways" / "config.yaml").write_text("")
    before = machine.tree()
    report = reconcile.run(machine.world)
    assert (report.exit_code, len(report.lines)) == (3, 1)
    assert "--take-over" in report.lines[0].repair
    assert "config.yaml" in report.lines[0].text
    assert machine.tree() == before
    assert reconcile.run(machine.world, take_over=True).exit_code == 0
    assert os.readlink(target / "bin" / "ways-mcp") == machine.layout.command("ways-mcp")
    registered = servers(machine.home / ".claude.json")["agent-ways"]
    assert registered == registration.desired(str(target / "bin" / "ways-mcp"))


# -- settings that are somebody's ---------------------------------------------------------------------------------


@pytest.mark.demand("LIFE-4")
def test_an_entry_that_was_taken_out_stays_out_is_said_once_and_shown(machine: Machine) -> None:
    reconcile.run(machine.world)
    value = settings(machine)
    value["permissions"]["allow"].remove("Bash(attend run)")
    machine.settings.write_text(json.dumps(value))
    report = reconcile.run(machine.world)
    assert statuses(report) == [("settings", "note")]
    assert reconcile.run(machine.world).all_ok
    assert "Bash(attend run)" not in machine.settings.read_text()
    assert "you declined permissions.allow: Bash(attend run)" in target_verbs.show_list(machine.world).lines[0].text
    directory = str(machine.home / ".claude")
    target_verbs.disable(machine.world, directory)
    target_verbs.enable(machine.world, directory)
    assert "Bash(attend run)" not in machine.settings.read_text()
    target_verbs.reset(machine.world, directory)
    assert "Bash(attend run)" in machine.settings.read_text()


@pytest.mark.demand("LIFE-4")
@pytest.mark.parametrize("text", ["", "{", "// mine\n{}", '{"hooks": []}', '{"permissions": {"allow": 1}}'])
def test_settings_that_can_not_be_merged_into_are_reported_and_untouched(text: str, machine: Machine) -> None:
    machine.settings.parent.mkdir()
    machine.settings.write_text(text)
    for _ in range(2):
        report = reconcile.run(machine.world)
        assert report.exit_code == 1
        assert ("settings", "failed") in statuses(report)
        assert machine.settings.read_text() == text
    assert "agent-ways" in servers(machine.home / ".claude.json"), "the rest is done all the same"


@pytest.mark.demand("LIFE-4")
def test_read_only_settings_are_another_programs_and_no_loop(machine: Machine) -> None:
    store = machine.home / "store" / "settings.json"
    store.parent.mkdir()
    store.write_text("{}")
    store.chmod(0o444)
    machine.settings.parent.mkdir()
    machine.settings.symlink_to(store)
    report = reconcile.run(machine.world)
    assert ("settings", "note") in statuses(report)
    assert report.exit_code == 0
    before = machine.tree()
    assert statuses(reconcile.run(machine.world)) == [("settings", "note")]
    assert machine.tree() == before
    assert uninstall.run(machine.world).exit_code == 0


@pytest.mark.demand("LIFE-5", "LIFE-9")
@pytest.mark.field_report(77)
@pytest.mark.parametrize("misdeed", ["lies", "exit-1", "hangs", "half-file", "elsewhere", "crashes"])
def test_a_claude_that_does_not_withdraw_is_told_with_the_command_and_the_rest_is_withdrawn(
    misdeed: str, machine: Machine
) -> None:
    reconcile.run(machine.world)
    machine.claude.misbehave(remove=misdeed)
    machine.patience = 1.0
    directory = str(machine.home / ".claude")
    report = target_verbs.disable(machine.world, directory)
    line = report.lines[0]
    assert (line.subject, line.status) == ("registration", Status.FAILED)
    assert line.repair == "claude mcp remove agent-ways --scope user"
    assert report.exit_code == 0
    assert made(machine) == []
    assert not machine.settings.exists()
    if misdeed == "half-file":
        (machine.home / ".claude.json").write_text("{}")
    machine.claude.misbehave(remove="")
    machine.patience = 5.0
    reconcile.run(machine.world)
    assert reconcile.run(machine.world).all_ok
    assert "agent-ways" not in (machine.home / ".claude.json").read_text()


@pytest.mark.demand("LIFE-5", "LIFE-9")
@pytest.mark.parametrize("misdeed", ["banner", "denies", "slow", "reads-stdin", "hangs-after"])
def test_a_withdrawal_counts_by_the_file_whatever_claude_says(misdeed: str, machine: Machine) -> None:
    reconcile.run(machine.world)
    machine.claude.misbehave(remove=misdeed)
    machine.patience = 2.0
    report = target_verbs.disable(machine.world, str(machine.home / ".claude"))
    assert report.lines[0].status is Status.DONE
    assert servers(machine.home / ".claude.json") == {}


# -- what goes wrong ----------------------------------------------------------------------------------------------


@pytest.mark.demand("LIFE-1")
def test_without_claude_code_it_says_so_and_makes_nothing(machine: Machine) -> None:
    os.unlink(machine.claude.path)
    before = machine.tree()
    report = reconcile.run(machine.world)
    assert (statuses(report), report.exit_code) == ([("Claude Code", "note")], 0)
    assert "ways reconcile" in report.lines[0].repair
    after = machine.tree()
    assert {path for path in after if path not in before} <= {".local/share/agent-ways/lock"}


@pytest.mark.demand("LIFE-1", "LIFE-5")
def test_a_config_dir_without_claude_on_path_is_linked_and_the_rest_told(machine: Machine) -> None:
    os.unlink(machine.claude.path)
    (machine.home / ".claude").mkdir()
    report = reconcile.run(machine.world)
    assert ("link", "done") in statuses(report)
    assert statuses(report)[-1] == ("registration", "note")
    assert report.lines[-1].repair.startswith("claude mcp add-json agent-ways ")
    assert report.exit_code == 0


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(79)
@pytest.mark.parametrize(
    "misdeed", ["exit-1", "lies", "half-file", "elsewhere", "crashes", "other-command", "hangs", "hangs-with-child"]
)
def test_a_misbehaving_claude_fails_nothing_and_the_command_by_hand_is_told(misdeed: str, machine: Machine) -> None:
    machine.claude.misbehave(add_json=misdeed)
    machine.patience = 1.0
    report = reconcile.run(machine.world)
    assert report.lines[-1].status is Status.FAILED
    assert "claude mcp add-json agent-ways " in report.lines[-1].repair
    assert report.exit_code == 0
    machine.claude.misbehave(add_json="")
    machine.patience = 5.0
    if misdeed != "other-command":
        (machine.home / ".claude.json").unlink(missing_ok=True)
    assert statuses(reconcile.run(machine.world))[-1] == ("registration", "done")
    assert reconcile.run(machine.world).all_ok


@pytest.mark.demand("LIFE-5")
@pytest.mark.parametrize("misdeed", ["banner", "denies", "reads-stdin", "slow"])
def test_what_claude_says_does_not_count_only_the_file_does(misdeed: str, machine: Machine) -> None:
    machine.claude.misbehave(add_json=misdeed)
    assert statuses(reconcile.run(machine.world))[-1] == ("registration", "done")


def test_before_an_install_it_names_make_install(tmp_path: Path) -> None:
    machine = Machine(tmp_path, installed=False)
    with pytest.raises(StateError) as raised:
        reconcile.run(machine.world)
    assert "make install" in raised.value.hint


@pytest.mark.demand("LIFE-3")
def test_a_failed_step_rolls_its_own_target_back_and_the_others_go_on(machine: Machine) -> None:
    other = machine.home / "other"
    other.mkdir()
    target_verbs.add(machine.world, str(other))
    target_verbs.disable(machine.world, str(other))
    target_verbs.add(machine.world, str(machine.home / ".claude"))
    target_verbs.disable(machine.world, str(machine.home / ".claude"))
    before = {path: what for path, what in machine.tree().items() if path.startswith("other")}
    targets = machine.world.targets()
    for known in targets:
        targets.put(known.__class__(known.target, enabled=True))

    def broken(name: str) -> None:
        if f"{other}/settings.json" in name:
            (other / "settings.json").mkdir()
            raise OSError(5, "made up")

    machine.step = broken
    report = reconcile.run(machine.world)
    assert report.exit_code == 1
    (other / "settings.json").rmdir()
    after = {path: what for path, what in machine.tree().items() if path.startswith("other")}
    assert {path for path, what in after.items() if "->" in what} == set()
    assert set(before) <= set(after)
    assert set(made(machine)) >= {"bin/ways"}, "the other target was done"
    machine.step = lambda _: None
    reconcile.run(machine.world)
    assert reconcile.run(machine.world).all_ok


KILLED: dict[str, Callable[[Machine], Report]] = {
    "reconcile": lambda machine: reconcile.run(machine.world, force=True),
    "disable": lambda machine: target_verbs.disable(machine.world, str(machine.home / ".claude")),
    "uninstall": lambda machine: uninstall.run(machine.world),
}


@pytest.mark.demand("LIFE-3", "LIFE-4", "LIFE-9")
@pytest.mark.parametrize("verb", KILLED)
def test_killed_before_any_step_a_second_run_converges(verb: str, tmp_path: Path) -> None:
    """`_exit` in a child that stops where the kill would: nothing of ours runs any more, on disk is what was done."""

    def fresh(name: str) -> Machine:
        machine = Machine(tmp_path / name)
        put_there(machine.home / ".claude" / "bin" / "ways", "file")
        machine.settings.write_text('{"permissions": {"allow": ["Bash(ls)"]}}\n')
        if verb != "reconcile":
            reconcile.run(machine.world, force=True)
        return machine

    whole = fresh("whole")
    KILLED[verb](whole)
    for number in range(100):
        machine = fresh(f"killed-{number}")
        if not _killed_at(machine, number, KILLED[verb]):
            break
        KILLED[verb](machine)
        assert _comparable(machine) == _comparable(whole), f"killed before step {number}"
    assert number > 5


def _killed_at(machine: Machine, number: int, act: Callable[[Machine], Report]) -> bool:
    """Whether the step of that number came, before which the child was gone."""
    count = 0

    def step(_: str) -> None:
        nonlocal count
        if count == number:
            os._exit(77)
        count += 1

    child = os.fork()
    if child == 0:
        machine.step = step
        try:
            act(machine)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77


def _comparable(machine: Machine) -> dict[str, str]:
    home = str(machine.home)
    return {
        path: what.replace(home, "~")
        for path, what in machine.tree().items()
        if not path.endswith((".local/share/agent-ways/lock", "ledger.json")) and "backups" not in path
    }


@pytest.mark.demand("LIFE-3", "LIFE-5")
@pytest.mark.parametrize("misdeed", ["slow", "hangs-after"])
def test_killed_while_claude_runs_for_us_a_second_run_converges(misdeed: str, machine: Machine) -> None:
    """The kill takes `ways` alone: the `claude` that it called goes on, and may write later."""
    machine.claude.misbehave(add_json=misdeed)
    with subprocess.Popen(["ways", "reconcile"], env=machine.env, stdout=subprocess.DEVNULL) as running:
        until(machine.claude.folder, lambda: machine.claude.calls)
        running.kill()
    until(str(machine.home), lambda: "agent-ways" in read_text(machine.home / ".claude.json"))
    machine.claude.misbehave(add_json="")
    reconcile.run(machine.world)
    assert reconcile.run(machine.world).all_ok
    assert list(servers(machine.home / ".claude.json")) == ["agent-ways"]
    for process in left_running(machine):
        os.kill(process, signal.SIGKILL)


def read_text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def left_running(machine: Machine) -> list[int]:
    """Processes of the fake `claude`, which in its hang would outlive the test."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdecimal() and machine.claude.folder.encode() in Path("/proc", name, "cmdline").read_bytes():
                found.append(int(name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]
