"""`ways` in the hands of a person who has the real client: every way to name a config dir, sessions that write
at the same time, permissions as the client takes them, and a home that is as it was before.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.ways.layout import Layout, layout_of
from agent_ways.ways.ledger import Ledger
from tests.e2e.home import STATUS_TOOL
from tests.e2e.waiting import until
from tests.ways.support import install_by_hand

if TYPE_CHECKING:
    from tests.e2e.lab import Lab

MINE = {"env": {"KEEP": "1"}, "permissions": {"allow": ["Bash(ls)"], "deny": []}, "model": "opus"}


@dataclass
class Person:
    """Somebody with the client and an installation in a home of their own."""

    lab: Lab

    def __post_init__(self) -> None:
        self.layout: Layout = layout_of(self.lab.env)
        ledger = Ledger(self.layout)
        ledger.make_folder(self.layout.data)
        ledger.make_folder(self.layout.bin)
        install_by_hand(self.layout)

    @property
    def env(self) -> dict[str, str]:
        env = self.lab.env
        return {**env, "PATH": f"{self.layout.bin}:{env['PATH']}"}

    def ways(self, *words: str, **more: str) -> dict[str, Any]:
        """What `ways` answers, which must be an answer."""
        ran = subprocess.run(
            [os.path.join(self.layout.bin, "ways"), *words, "--json"],
            env={**self.env, **more},
            cwd=self.lab.home.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.stderr == "", ran.stderr
        answer: dict[str, Any] = json.loads(ran.stdout)
        return answer

    def claude(self, *words: str, **more: str) -> str:
        """What the client's own command says."""
        ran = subprocess.run(
            [self.lab.client.executable, *words],
            env={**self.env, **more},
            cwd=self.lab.home.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        return ran.stdout + ran.stderr

    def tree(self) -> dict[str, str]:
        """Files and links in the home, but what Python caches and what the client itself makes at each call."""
        found = {}
        for path in sorted(Path(self.lab.home.home).rglob("*")):
            name = str(path.relative_to(self.lab.home.home))
            if "__pycache__" in path.parts or name.startswith((".cache", ".npm")) or "/backups" in name:
                continue
            found[name] = f"-> {path.readlink()}" if path.is_symlink() else path.read_text() if path.is_file() else ""
        return found


@pytest.fixture
def person(lab: Lab) -> Person:
    return Person(lab)


def read(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


def write(path: str, content: object) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)


def statuses(answer: dict[str, Any]) -> set[str]:
    return {line["status"] for line in answer["lines"]}


# -- which file ---------------------------------------------------------------------------------------------------

# How CLAUDE_CONFIG_DIR is set, the config dir that is meant, and the file that the client then reads.
PLACES = {
    "not set": (None, "{home}/.claude", "{home}/.claude.json"),
    "empty": ("", "{home}/.claude", "{home}/.claude.json"),
    "another dir": ("{home}/work", "{home}/work", "{home}/work/.claude.json"),
    "the default dir": ("{home}/.claude", "{home}/.claude", "{home}/.claude/.claude.json"),
    "a trailing slash": ("{home}/work/", "{home}/work", "{home}/work/.claude.json"),
    "a dir that is missing": ("{home}/no/such", "{home}/no/such", "{home}/no/such/.claude.json"),
    "a symbolic link": ("{home}/link", "{home}/link", "{home}/real/.claude.json"),
    "a legacy file": (None, "{home}/.claude", "{home}/.claude/.config.json"),
}


@pytest.mark.demand("LIFE-5", "LIFE-9")
@pytest.mark.parametrize("how", PLACES)
def test_the_client_finds_the_server_however_its_config_dir_is_named(how: str, person: Person) -> None:
    home = person.lab.home.home
    named, config_dir, file = (text and text.format(home=home) for text in PLACES[how])
    assert config_dir
    assert file
    more = {} if named is None else {"CLAUDE_CONFIG_DIR": named}
    os.makedirs(f"{home}/work")
    os.makedirs(f"{home}/real")
    os.symlink(f"{home}/real", f"{home}/link")
    mine = {"type": "stdio", "command": "/bin/true", "args": ["x"]}
    write(file, {**(read(file) if os.path.exists(file) else {}), "theirs": [1, {"a": None}]})
    person.claude("mcp", "add-json", "mine", json.dumps(mine), "--scope", "user", **more)  # its own migrations are over
    before = read(file)
    assert before["mcpServers"] == {"mine": mine}
    report = person.ways("reconcile", **more)
    assert statuses(report) == {"done"}, report
    entry = {"type": "stdio", "command": f"{config_dir}/bin/ways-mcp", "args": []}
    assert read(file) == {**before, "mcpServers": {"mine": mine, "agent-ways": entry}}
    checked = person.claude("mcp", "get", "agent-ways", **more)
    assert "Connected" in checked, checked
    assert person.ways("reconcile", **more)["lines"][0]["status"] == "ok"
    assert statuses(person.ways("target", "disable", config_dir, **more)) == {"done"}
    assert read(file) == before


@pytest.mark.demand("LIFE-5")
@pytest.mark.parametrize("value", ["work", "~/work", "./work"])
def test_a_config_dir_that_is_another_in_each_folder_is_refused(value: str, person: Person) -> None:
    before = person.tree()
    answer = person.ways("reconcile", CLAUDE_CONFIG_DIR=value)
    assert answer["error"]["code"] == "usage"
    assert person.tree() == before


# -- at the same time ---------------------------------------------------------------------------------------------


@pytest.mark.demand("LIFE-3", "LIFE-5")
def test_six_reconciles_at_once_register_once(person: Person) -> None:
    with ThreadPoolExecutor(6) as pool:
        reports = list(pool.map(lambda _: person.ways("reconcile"), range(6)))
    assert sorted(statuses(report) == {"ok"} for report in reports) == [False, *[True] * 5]
    assert set(person.lab.home.registered()) == {"agent-ways"}
    assert statuses(person.ways("reconcile")) == {"ok"}


@pytest.mark.demand("LIFE-5")
def test_a_session_that_writes_at_the_same_time_loses_nothing_and_neither_do_we(person: Person) -> None:
    lab = person.lab
    person.ways("reconcile")
    session = lab.start()
    directory = lab.home.config_dir
    for round_ in range(3):
        since = len(lab.api.answers)
        session.terminal.type(f"round {round_}")
        person.ways("target", "disable", directory)
        assert lab.home.registered() == {}
        person.ways("target", "enable", directory)
        session.turn_with(f"round {round_}", since=since)
        assert set(lab.home.registered()) == {"agent-ways"}
    session.exit()
    assert set(lab.home.registered()) == {"agent-ways"}
    assert read(lab.home.global_config)["projects"][lab.home.project]["hasTrustDialogAccepted"]
    assert statuses(person.ways("reconcile")) == {"ok"}


# -- permissions as the client takes them -------------------------------------------------------------------------


def called(person: Person, tool: str, *, allow: list[str], deny: list[str] | None = None) -> str:
    """What became of one call in print mode: ran, asked (which print mode answers with no), or gone."""
    write(f"{person.lab.home.config_dir}/settings.json", {"permissions": {"allow": allow, "deny": deny or []}})
    since = len(person.lab.api.answers)
    person.lab.claude("-p", f"CALL:{tool}:{{}}", "--permission-mode", "default")
    for answer in person.lab.api.answers[since:]:
        for text in _results(answer.request.body):
            if "haven't granted" in text:
                return "asked"
            return "gone" if "No such tool available" in text else "ran"
    raise AssertionError("the tool was not called")


def _results(body: Any) -> list[str]:
    texts = []
    for message in body.get("messages", []):
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                texts += [json.dumps(block.get("content"), ensure_ascii=False)]
    return texts


@pytest.mark.demand("LIFE-4")
def test_each_tool_is_allowed_by_its_own_entry_and_a_prefix_rule_does_what_is_written_down(person: Person) -> None:
    """What docs/how-to/install.md says of taking permissions away, seen on the client."""
    person.ways("reconcile")
    allow = read(f"{person.lab.home.config_dir}/settings.json")["permissions"]["allow"]
    peers = "mcp__agent-ways__attend_peers"
    assert {STATUS_TOOL, peers} <= set(allow)
    assert called(person, STATUS_TOOL, allow=allow) == "ran"
    assert called(person, peers, allow=[entry for entry in allow if entry != peers]) == "asked"
    assert called(person, peers, allow=["mcp__agent-ways__attend_*"]) == "ran"
    assert called(person, STATUS_TOOL, allow=["mcp__agent-ways__attend_*"]) == "asked"
    assert called(person, peers, allow=allow, deny=["mcp__agent-ways__attend_*"]) == "gone"
    assert called(person, STATUS_TOOL, allow=allow, deny=["mcp__agent-ways__attend_*"]) == "ran"


@pytest.mark.demand("LIFE-4", "ATT-8")
def test_the_monitor_runs_the_sensor_loop_without_asking_and_nothing_else(person: Person) -> None:
    person.ways("reconcile")
    session = person.lab.start(PATH=person.env["PATH"])
    since = len(person.lab.api.answers)
    answer = session.call("Monitor", {"command": "attend run", "description": "attend", "timeout_ms": 60000})
    assert "Monitor started" in answer.text
    session.terminal.type('CALL:Monitor:{"command":"attend status","description":"other","timeout_ms":60000}')
    session.terminal.until("a question", lambda screen: "attend status" in screen and "Do you want" in screen)
    session.terminal.press("Escape")
    assert since < len(person.lab.api.answers)


# -- the whole way ------------------------------------------------------------------------------------------------


@pytest.mark.demand("LIFE-1", "LIFE-4", "LIFE-7", "LIFE-9")
def test_from_install_to_uninstall_the_home_is_as_it_was(lab: Lab) -> None:
    settings = f"{lab.home.config_dir}/settings.json"
    write(settings, MINE)
    person = Person.__new__(Person)
    person.lab, person.layout = lab, layout_of(lab.env)
    lab.claude("mcp", "list")  # what the client makes by itself is there before
    before = person.tree()
    with open(settings, encoding="utf-8") as file:
        text = file.read()
    person.__post_init__()
    assert statuses(person.ways("reconcile")) == {"done"}
    doctor = person.ways("doctor")
    assert statuses(doctor) == {"ok"}, doctor
    session = lab.start("--dangerously-load-development-channels=server:agent-ways", PATH=person.env["PATH"])
    until("the marker of its server", lab.home.markers)
    shown = person.ways("status")
    assert [one["session"] for one in shown["sessions"]] == [session.id]
    assert shown["sessions"][0]["conduits"]["channel"]["state"] != "no"
    assert not shown["sessions"][0]["old"]
    doctor = person.ways("doctor")
    assert statuses(doctor) == {"ok"}, doctor
    session.exit()
    planned = person.ways("uninstall", "--dry-run", "--purge")
    done = person.ways("uninstall", "--purge")
    assert done["exit_code"] == 0, done
    assert sorted(line["text"] for line in planned["lines"]) == sorted(line["text"] for line in done["lines"])
    with open(settings, encoding="utf-8") as file:
        assert file.read() == text
    after = person.tree()
    assert lab.home.registered() == {}
    places = (".local/", ".config", ".claude/bin", ".claude/hooks", ".claude/skills", ".claude/settings")
    others = (".local/share", ".local/share/applications")  # the client's own link handler
    left = {path for path in set(after) ^ set(before) if path.startswith(places)}
    assert {path for path in left if path not in others and not path.startswith(others[1])} == set()
    assert set(before) <= set(after)
