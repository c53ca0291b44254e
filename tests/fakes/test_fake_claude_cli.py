"""The fake `claude` command: what the client's own does, and each misdeed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.fake_claude_cli import FakeClaudeCommand

if TYPE_CHECKING:
    from pathlib import Path

Toy = tuple[str, ...]
ENTRY = {"type": "stdio", "command": "/opt/ways/bin/ways-mcp"}


class World:
    """A home, a fake on PATH, and a way to call it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.home.mkdir()
        self.command = FakeClaudeCommand(root / "bin")
        self.project = root / "proj"
        self.project.mkdir()

    def run(
        self, *words: str, env: dict[str, str] | None = None, timeout: float = 20, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        base = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        return subprocess.run(
            [self.command.path, *words],
            env={**base, **(env or {})},
            cwd=self.project,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def add(self, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("mcp", "add-json", "agent-ways", json.dumps(ENTRY), "--scope", "user", env=env)

    def remove(self) -> subprocess.CompletedProcess[str]:
        return self.run("mcp", "remove", "agent-ways", "--scope", "user")

    def file(self, name: str = ".claude.json") -> Any:
        return json.loads((self.home / name).read_text())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_adding_stores_the_entry_with_args_and_says_so(world: World) -> None:
    done = world.add()
    assert (done.returncode, done.stdout) == (0, "Added stdio MCP server agent-ways to user config\n")
    assert world.file()["mcpServers"] == {"agent-ways": {**ENTRY, "args": []}}
    assert stat.S_IMODE((world.home / ".claude.json").stat().st_mode) == 0o600
    assert os.listdir(world.home) == [".claude.json"]


def test_adding_twice_is_refused_without_overwriting(world: World) -> None:
    world.add()
    done = world.add()
    assert (done.returncode, done.stderr) == (1, "MCP server agent-ways already exists in user config\n")


def test_removing_takes_exactly_that_entry(world: World) -> None:
    (world.home / ".claude.json").write_text('{"theme":"dark","mcpServers":{"other":{"command":"x"}}}')
    world.add()
    assert world.remove().returncode == 0
    assert world.file() == {"theme": "dark", "mcpServers": {"other": {"command": "x"}}}
    again = world.remove()
    assert (again.returncode, again.stderr) == (1, 'No MCP server named "agent-ways" in user scope\n')


@pytest.mark.parametrize(
    ("config_dir", "place"),
    [
        (None, ".claude.json"),
        ("", ".claude.json"),
        (".claude", ".claude/.claude.json"),
        ("other", "other/.claude.json"),
    ],
)
def test_the_global_file_is_where_the_client_has_it(world: World, config_dir: str | None, place: str) -> None:
    env = {} if config_dir is None else {"CLAUDE_CONFIG_DIR": str(world.home / config_dir) if config_dir else ""}
    world.add(**env)
    assert "agent-ways" in world.file(place)["mcpServers"]


def test_a_legacy_file_is_written_in_place_of_the_global_one(world: World) -> None:
    (world.home / ".claude").mkdir()
    (world.home / ".claude" / ".config.json").write_text("{}")
    world.add()
    assert "agent-ways" in world.file(".claude/.config.json")["mcpServers"]
    assert not (world.home / ".claude.json").exists()


def test_a_symbolic_link_stays_one_and_the_mode_is_kept(world: World) -> None:
    real = world.home / "real.json"
    real.write_text("{}")
    real.chmod(0o640)
    (world.home / ".claude.json").symlink_to(real)
    world.add()
    assert (world.home / ".claude.json").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.parametrize("version", ["2.1.332", "2.1.285"])
def test_a_broken_global_file_is_left_or_replaced_as_that_version_does(tmp_path: Path, version: str) -> None:
    world = World(tmp_path)
    world.command = FakeClaudeCommand(tmp_path / "bin", version=version)
    (world.home / ".claude.json").write_text('{"mcpServers":')
    assert world.add().returncode == 1
    text = (world.home / ".claude.json").read_text()
    assert (text == '{"mcpServers":') == (version == "2.1.332")
    assert "agent-ways" not in text


@pytest.mark.parametrize("text", ["{", '{"type":"stdio","command":""}', "[]"])
def test_an_invalid_entry_is_refused(world: World, text: str) -> None:
    done = world.run("mcp", "add-json", "agent-ways", text, "-s", "user")
    assert done.returncode == 1
    assert done.stderr.startswith("Invalid configuration")


def test_a_name_in_two_scopes_needs_the_scope_named(world: World) -> None:
    world.add()
    world.run("mcp", "add-json", "agent-ways", json.dumps(ENTRY))
    done = world.run("mcp", "remove", "agent-ways")
    assert done.returncode == 1
    assert "multiple scopes" in done.stderr


def test_get_and_list_start_the_server_as_a_health_check(world: World, toy: Toy) -> None:
    entry = {"type": "stdio", "command": toy[0], "args": list(toy[1:])}
    broken = {"type": "stdio", "command": "/nowhere/ways-mcp"}
    world.run("mcp", "add-json", "fine", json.dumps(entry), "-s", "user")
    world.run("mcp", "add-json", "broken", json.dumps(broken), "-s", "user")
    assert "Status: ✔ Connected" in world.run("mcp", "get", "fine").stdout
    listed = world.run("mcp", "list")
    assert listed.returncode == 0
    assert " - ✔ Connected" in listed.stdout
    assert " - ✘ Failed to connect" in listed.stdout
    assert world.run("mcp", "get", "missing").returncode == 1


def test_parallel_calls_all_keep_their_entry(world: World) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(world.home)}
    words = [
        [world.command.path, "mcp", "add-json", f"s{number}", json.dumps(ENTRY), "-s", "user"] for number in range(6)
    ]
    running = [subprocess.Popen(each, env=env, stdout=subprocess.DEVNULL) for each in words]
    assert [process.wait(timeout=20) for process in running] == [0] * 6
    # Without a lock around reading and writing, the last would win: the client keeps all six (seen).
    assert sorted(world.file()["mcpServers"]) == [f"s{number}" for number in range(6)]


def test_every_call_is_written_down(world: World) -> None:
    world.add(CLAUDE_CONFIG_DIR=str(world.home / "x"))
    [call] = world.command.calls
    assert call["argv"][:3] == ["mcp", "add-json", "agent-ways"]
    assert call["env"]["CLAUDE_CONFIG_DIR"] == str(world.home / "x")


def test_the_version_is_told(world: World) -> None:
    assert world.run("--version").stdout == "2.1.332 (Claude Code)\n"


# ---- misdeeds


def test_a_liar_says_added_and_removed_and_does_neither(world: World) -> None:
    world.command.misbehave(add_json="lies")
    assert world.add().returncode == 0
    assert not (world.home / ".claude.json").exists()
    world.command.misbehave(add_json="", remove="lies")
    world.add()
    assert world.remove().returncode == 0
    assert "agent-ways" in world.file()["mcpServers"]


def test_a_denier_does_it_and_says_that_it_failed(world: World) -> None:
    world.command.misbehave(add_json="denies")
    assert world.add().returncode == 1
    assert "agent-ways" in world.file()["mcpServers"]


@pytest.mark.parametrize("how", ["hangs", "hangs-after"])
def test_a_hanger_never_ends(world: World, how: str) -> None:
    world.command.misbehave(add_json=how)
    process = subprocess.Popen(
        [world.command.path, "mcp", "add-json", "agent-ways", json.dumps(ENTRY), "-s", "user"],
        env={"PATH": os.environ["PATH"], "HOME": str(world.home)},
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    process.kill()
    process.wait()
    assert (world.home / ".claude.json").exists() == (how == "hangs-after")


def test_banners_surround_the_answer(world: World) -> None:
    world.command.misbehave(add_json="banner")
    done = world.add()
    assert done.returncode == 0
    assert "Added stdio" in done.stdout
    assert len(done.stdout.splitlines()) == 3
    assert "agent-ways" in world.file()["mcpServers"]


def test_one_that_writes_elsewhere_leaves_the_global_file_alone(world: World) -> None:
    world.command.misbehave(add_json="elsewhere")
    assert world.add().returncode == 0
    assert not (world.home / ".claude.json").exists()


def test_half_a_file_is_no_json(world: World) -> None:
    world.command.misbehave(add_json="half-file")
    world.add()
    with pytest.raises(json.JSONDecodeError):
        world.file()


def test_another_command_can_be_stored_and_others_entries_wiped(world: World) -> None:
    (world.home / ".claude.json").write_text('{"mcpServers":{"other":{"command":"x"}}}')
    world.command.misbehave(add_json="other-command")
    world.add()
    assert world.file()["mcpServers"]["agent-ways"]["command"] == "/opt/old/ways-mcp"
    world.command.misbehave(remove="wipes")
    world.remove()
    assert world.file()["mcpServers"] == {}


def test_statuses_and_crashes_are_as_asked_also_by_the_environment(world: World) -> None:
    assert world.add(FAKE_CLAUDE="add-json=exit-7").returncode == 7
    assert world.add(FAKE_CLAUDE="add-json=crashes").returncode < 0
    assert not (world.home / ".claude.json").exists()
