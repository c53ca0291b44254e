"""What was met in the field with registering a server, played with the fake `claude`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_ways.claude import mcp
from agent_ways.claude.launch import DEVELOPMENT
from agent_ways.claude.mcp import Place
from agent_ways.claude.registration import desired
from agent_ways.ways.commands import reconcile, uninstall
from agent_ways.ways.report import Status
from tests.ways.support import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def files(folder: Path) -> Iterator[Path]:
    """Every file that was written below, not those that a link leads to."""
    for path, _, names in os.walk(folder):
        yield from (Path(path, name) for name in names if not Path(path, name).is_symlink())


@pytest.mark.demand("LIFE-3", "LIFE-5")
@pytest.mark.field_report(13)
def test_a_flag_that_a_person_must_confirm_is_never_added_for_them_and_the_guides_say_so(machine: Machine) -> None:
    shell = machine.home / ".bashrc"
    shell.write_text("alias c=claude\n")
    reconcile.run(machine.world)
    targets = [*files(machine.home / ".claude"), machine.home / ".claude.json", shell]
    assert len(targets) > 2
    assert [path for path in targets if DEVELOPMENT in path.read_text()] == []
    assert DEVELOPMENT not in str(machine.claude.calls)
    for guide in ("install.md", "two-sessions-that-talk.md"):
        text = (ROOT / "docs" / "how-to" / guide).read_text()
        assert DEVELOPMENT in text
        assert "asks about the flag at every start" in " ".join(text.split())


def entry(machine: Machine) -> object:
    """What stands under our name at user scope."""
    return json.loads((machine.home / ".claude.json").read_text())["mcpServers"].get("agent-ways")


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(70)
def test_already_exists_is_no_failure_where_the_file_shows_what_was_wanted(tmp_path: Path) -> None:
    place = Place(config_dir=str(tmp_path / ".claude"), named=False, home=str(tmp_path))
    wanted = {"mcpServers": {"agent-ways": desired("/home/me/.claude/bin/ways-mcp")}}

    def run(_: object) -> mcp.Ran:  # another session registers first
        Path(place.file).write_text(json.dumps(wanted))
        return mcp.Ran(1, "MCP server agent-ways already exists in user config")

    assert mcp.register(place, "/home/me/.claude/bin/ways-mcp", run, {}).state == "added"


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(71)
def test_already_in_an_answer_or_a_path_is_no_success_where_the_file_shows_another_command(tmp_path: Path) -> None:
    home = tmp_path / "already exists"
    home.mkdir()
    place = Place(config_dir=str(home / ".claude"), named=False, home=str(home))
    command = str(home / ".claude" / "bin" / "ways-mcp")
    stale = json.dumps({"mcpServers": {"agent-ways": {"command": "/old/already/ways-mcp", "args": ["--old"]}}})
    for code in (0, 1):
        Path(place.file).write_text(stale)

        def run(step: Sequence[str], code: int = code) -> mcp.Ran:  # another session puts the stale entry back
            Path(place.file).write_text("{}" if step[1] == "remove" else stale)
            return mcp.Ran(code, f"MCP server agent-ways already exists in user config: {command}")

        outcome = mcp.register(place, command, run, {})
        assert outcome.state == "failed"
        assert "claude mcp add-json agent-ways" in outcome.by_hand
        assert Path(place.file).read_text() == stale


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(73)
@pytest.mark.parametrize(
    "text",
    ["", '{"mcpServers": {"agent-', '{"mcpServers": null}', '{"mcpServers": []}', '{"mcpServers": "x"}', "60 MB"],
)
def test_whatever_the_clients_file_is_like_it_is_reported_or_used_and_never_written_by_us(
    machine: Machine, text: str
) -> None:
    path = machine.home / ".claude.json"
    large = json.dumps({"projects": {"/p": {"history": ["x" * 1000] * 60_000}}, "mcpServers": {}})
    content = large if text == "60 MB" else text
    path.write_text(content)
    machine.claude.misbehave(add_json="lies")  # so whatever changes it is our own doing
    for _ in range(2):
        report = reconcile.run(machine.world)
        assert report.exit_code == 0
        assert report.lines[-1].subject == "registration"
        assert report.lines[-1].status is Status.FAILED
        assert path.read_text() == content
    assert [name.name for name in machine.home.iterdir() if name.name.startswith(".claude.json.")] == []


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(73)
def test_an_entry_that_vanishes_between_adding_and_looking_is_reported(tmp_path: Path) -> None:
    place = Place(config_dir=str(tmp_path / ".claude"), named=False, home=str(tmp_path))
    command = "/home/me/.claude/bin/ways-mcp"

    def run(_: object) -> mcp.Ran:  # it is added, and a session writes its own older copy over it
        Path(place.file).write_text(json.dumps({"mcpServers": {"agent-ways": desired(command)}}))
        Path(place.file).write_text(json.dumps({"mcpServers": {}}))
        return mcp.Ran(0, "Added stdio MCP server agent-ways to user config")

    outcome = mcp.register(place, command, run, {})
    assert outcome.state == "failed"
    assert "does not show it" in outcome.reason


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(74)
@pytest.mark.parametrize("content", ["{}", '{"mcpServers": {"agent-ways": {"command": "/old/ways-mcp"}}}'])
def test_a_config_that_is_a_read_only_link_is_another_programs_and_claude_is_not_called(
    machine: Machine, content: str
) -> None:
    store = machine.home / "store" / "claude.json"
    store.parent.mkdir()
    store.write_text(content)
    store.chmod(0o444)
    (machine.home / ".claude.json").symlink_to(store)
    planned = reconcile.run(machine.world, dry_run=True).lines[-1]
    for _ in range(2):
        report = reconcile.run(machine.world)
        assert report.exit_code == 0
        line = report.lines[-1]
        assert (line.subject, line.status, line.text) == ("registration", Status.NOTE, planned.text)
        assert "read-only, so another program manages it" in line.text
        assert f'"command":"{machine.home}/.claude/bin/ways-mcp"' in line.text
    assert machine.claude.calls == []
    assert (machine.home / ".claude.json").is_symlink()
    assert store.read_text() == content
    assert uninstall.run(machine.world).exit_code == 0


@pytest.mark.demand("LIFE-5", "LIFE-9")
@pytest.mark.field_report(74)
def test_our_entry_in_a_read_only_config_is_told_when_it_is_withdrawn(machine: Machine) -> None:
    reconcile.run(machine.world)
    path = machine.home / ".claude.json"
    path.chmod(0o444)
    calls = len(machine.claude.calls)
    assert reconcile.run(machine.world).all_ok
    report = uninstall.run(machine.world)
    told = [line for line in report.lines if line.subject == "registration"]
    assert [line.status for line in told] == [Status.FAILED]
    assert "agent-ways stays there" in told[0].text
    assert len(machine.claude.calls) == calls


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(75)
def test_of_the_clients_file_we_write_no_byte_and_claude_touches_our_key_alone(machine: Machine) -> None:
    path = machine.home / ".claude.json"
    theirs = '{ "numStartups": 7,\n\t"mcpServers": {"other": {"command": "x", "args": []}},  "tips":{"é": [1.50]} }\n'
    path.write_text(theirs)
    before = path.stat()
    machine.claude.misbehave(add_json="lies", remove="lies")
    reconcile.run(machine.world)
    after = path.stat()
    assert path.read_text() == theirs
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    machine.claude.misbehave(add_json="", remove="")
    reconcile.run(machine.world)
    content = json.loads(path.read_text())
    assert content["mcpServers"].pop("agent-ways") == desired(str(machine.home / ".claude" / "bin" / "ways-mcp"))
    assert content == json.loads(theirs)
    uninstall.run(machine.world)
    assert json.loads(path.read_text()) == json.loads(theirs)


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(77)
def test_a_name_in_two_scopes_keeps_no_withdrawal_from_ours(machine: Machine) -> None:
    reconcile.run(machine.world)
    path = machine.home / ".claude.json"
    content = json.loads(path.read_text())
    local = {"mcpServers": {"agent-ways": {"command": "/other/ways-mcp"}}}
    path.write_text(json.dumps({**content, "projects": {str(machine.home): local}}))
    report = uninstall.run(machine.world)
    assert [line.status for line in report.lines if line.subject == "registration"] == [Status.DONE]
    assert entry(machine) is None
    assert json.loads(path.read_text())["projects"] == {str(machine.home): local}
