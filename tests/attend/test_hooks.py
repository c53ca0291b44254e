"""The client's hooks: what a session is told at its start, what the guards refuse, and that none of them ever harms."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import guards, headers, instances, intake, trays
from agent_ways.attend.drain import drain
from agent_ways.attend.start import session_start
from agent_ways.attend.verbs.caller import COMMAND, Caller
from tests.attend.frontends.callers import call, person, serve
from tests.attend.test_drain import ATTEND
from tests.attend.world import WEB, A, B, World
from tests.support import transcripts as rows
from tests.support.fake_client import FakeClient, Plan
from tests.support.transcripts import NOON
from tests.support.until import until

if TYPE_CHECKING:
    from pathlib import Path

PROJECTED = os.path.abspath("src/agent_ways/projected")
ROOT = "/home/person/.local/state/agent-ways/attend"
HOME = "/home/person"


def start(world: World, pid: int = 10, source: str = "startup", **env: str) -> str:
    bus = world.open()
    bus = type(bus)(
        bus.root,
        owner=bus.owner,
        table=bus.table,
        env={**bus.env, **env},
        config_dirs=bus.config_dirs,
        clock=bus.clock,
        monotonic=bus.monotonic,
    )
    return session_start(Caller(bus, world.identity(pid), COMMAND, WEB), source)


def register_server(world: World) -> None:
    with open(os.path.join(world.home, ".claude.json"), "w", encoding="utf-8") as file:
        json.dump({"mcpServers": {"agent-ways": {"command": "x"}}}, file)


@pytest.mark.demand("ATT-14")
def test_a_session_that_nothing_wakes_is_told_of_the_loop_and_of_its_name(world: World) -> None:
    world.client(10, A)
    text = start(world)
    [me] = instances.read_all(world.bus)
    assert f"You are {me.name}" in text
    assert "start `attend run` once with the Monitor tool" in text
    assert len(text) < 1000
    assert "\x1b" not in text


@pytest.mark.demand("ATT-14")
@pytest.mark.parametrize("by", ["flag", "socket"])
def test_where_a_pushing_conduit_may_live_there_is_nothing_to_do(world: World, by: str) -> None:
    world.client(10, A)
    register_server(world)
    world.table.arguments[10] = (
        "claude",
        *(["--dangerously-load-development-channels", "server:agent-ways"] * (by == "flag")),
    )
    text = start(world, CLAUDE_CODE_MESSAGING_SOCKET="/tmp/x.sock" if by == "socket" else "")
    assert "nothing to start or poll" in text
    assert "attend run" not in text


@pytest.mark.demand("ATT-14")
@pytest.mark.parametrize("by", ["flag", "socket"])
def test_a_conduit_that_is_switched_off_wakes_nobody(world: World, by: str) -> None:
    world.client(10, A)
    register_server(world)
    if by == "flag":
        world.table.arguments[10] = ("claude", "--dangerously-load-development-channels", "server:agent-ways")
        text = start(world, DISABLE_TELEMETRY="1")
    else:
        with open(os.path.join(world.home, ".claude", "settings.json"), "w", encoding="utf-8") as file:
            json.dump({"crossSessionInbound": "hold"}, file)
        text = start(world, CLAUDE_CODE_MESSAGING_SOCKET="/tmp/x.sock")
    assert "attend run" in text


@pytest.mark.demand("ATT-14")
def test_the_flag_without_a_registered_server_wakes_nobody(world: World) -> None:
    world.client(10, A)
    world.table.arguments[10] = ("claude", "--dangerously-load-development-channels", "server:agent-ways")
    assert "attend run" in start(world)


@pytest.mark.demand("ATT-2", "ATT-14")
def test_notes_to_self_are_shown_once_to_the_first_that_starts(world: World) -> None:
    old = world.session(10, A)
    serve(world, A, 90)
    world.send(old, "I stopped at step 3", "self")
    world.end(10)
    world.client(20, B)
    text = start(world, 20)
    assert "Left for you by an earlier session" in text
    assert "I stopped at step 3" in text
    [shown] = headers.read_back(text)[0]
    world.client(30, "cccccccc-0000-4000-8000-000000000003")
    assert "I stopped" not in start(world, 30)
    world.write(B, rows.hook_context(text, NOON, "SessionStart"))
    world.clock.advance(1)
    assert drain(world.bus, world.identity(20), again=False) is None
    assert trays.waiting(world.bus.root, B) == []
    [receipt] = [one for one in call(person(world), "show", id_=shown)["receipts"] if one["session"] == B] or [None]
    assert receipt is None or receipt["state"] == "seen"


@pytest.mark.demand("ATT-2", "CON-1")
def test_a_note_shown_at_a_start_is_not_shown_again_before_the_transcript_can_tell(world: World) -> None:
    old = world.session(10, A)
    world.send(old, "I stopped at step 3", "self")
    world.end(10)
    world.client(20, B)
    text = start(world, 20)
    world.clock.advance(3600)
    world.write(B, rows.typed("the first prompt, an hour later", NOON))
    assert drain(world.bus, world.identity(20), again=False) is None
    world.write(B, rows.hook_context(text, NOON, "SessionStart"))
    assert drain(world.bus, world.identity(20), again=False) is None
    assert trays.waiting(world.bus.root, B) == []


@pytest.mark.demand("ATT-2", "CON-1")
def test_a_note_shown_at_a_start_that_came_to_nothing_is_left_for_the_resumed_session(world: World) -> None:
    old = world.session(10, A)
    world.send(old, "I stopped at step 3", "self")
    world.end(10)
    world.client(20, B)
    start(world, 20)
    world.end(20)
    world.client(21, B)
    assert "I stopped at step 3" in start(world, 21, "resume") + str(drain(world.bus, world.identity(21), again=False))


@pytest.mark.demand("ATT-6", "ATT-14")
@pytest.mark.parametrize("source", ["clear", "resume"])
def test_the_start_follows_clear_and_resume(world: World, source: str) -> None:
    me = world.session(10, A)
    world.send(None, "to the old id", A)
    if source == "clear":
        world.client(10, B)
    else:
        world.end(10)
        world.client(11, A)
    text = start(world, 10 if source == "clear" else 11, source)
    assert f"You are {me.name}" in text
    assert "1 unread" in text


@pytest.mark.demand("ATT-14", "ID-5")
@pytest.mark.parametrize("case", ["sdk", "nobody", "compact"])
def test_nothing_is_said_or_written_where_nothing_begins(world: World, case: str) -> None:
    world.client(10, A, **({"entrypoint": "sdk-cli"} if case == "sdk" else {}))
    before = world.tree()
    assert start(world, 4711 if case == "nobody" else 10, "compact" if case == "compact" else "startup") == ""
    assert world.tree() == before


@pytest.mark.demand("ATT-13")
@pytest.mark.parametrize(
    "command",
    [
        "attend run",
        "  attend   run --sensor messages",
        "cd /x && attend run",
        "nohup attend run &",
        "FOO=1 ~/.local/bin/attend run > log 2>&1 &",
        "(attend run)",
        "timeout 60 attend run",
        "echo hi; exec '/usr/bin/attend' run",
    ],
)
def test_the_loop_from_bash_is_refused_with_the_repair(command: str) -> None:
    said = guards.run({"tool_name": "Bash", "tool_input": {"command": command}})
    assert "Monitor" in said
    assert "attend run" in said


@pytest.mark.demand("ATT-13")
@pytest.mark.parametrize(
    "command",
    [
        "attend run --help",
        "echo attend run",
        "attend inbox",
        "git commit -m 'attend run'",
        "grep 'attend run' x",
        "run attend",
        "",
    ],
)
def test_what_only_mentions_the_loop_is_let_go(command: str) -> None:
    assert guards.run({"tool_name": "Bash", "tool_input": {"command": command}}) == ""
    assert guards.run({"tool_name": "Monitor", "tool_input": {"command": "attend run"}}) == ""


@pytest.mark.demand("ATT-13")
@pytest.mark.parametrize(
    "call_of",
    [
        {"tool_name": "Read", "tool_input": {"file_path": f"{ROOT}/signals/2026-11-30/x.json"}},
        {"tool_name": "Edit", "tool_input": {"file_path": "~/.local/state/agent-ways/attend/x"}},
        {"tool_name": "Grep", "tool_input": {"path": ROOT, "pattern": "x"}},
        {"tool_name": "Write", "cwd": f"{ROOT}/..", "tool_input": {"file_path": "attend/x"}},
        {"tool_name": "Bash", "tool_input": {"command": f"cat {ROOT}/signals/*/*.json"}},
        {"tool_name": "Bash", "tool_input": {"command": 'rm -r "$HOME/.local/state/agent-ways/attend"'}},
    ],
)
def test_the_bus_by_hand_is_refused_with_the_verbs(call_of: dict[str, Any]) -> None:
    said = guards.files(call_of, ROOT, HOME)
    assert "attend_inbox" in said
    assert "attend send" in said


@pytest.mark.demand("ATT-13")
@pytest.mark.parametrize(
    "call_of",
    [
        {"tool_name": "Read", "tool_input": {"file_path": f"{ROOT}-notes.md"}},
        {"tool_name": "Bash", "tool_input": {"command": "attend inbox"}},
        {"tool_name": "Read", "tool_input": {}},
        {"tool_name": "Read"},
        {"tool_name": "WebFetch", "tool_input": {"url": ROOT}},
        {},
    ],
)
def test_other_files_and_odd_calls_are_let_go(call_of: dict[str, Any]) -> None:
    assert guards.files(call_of, ROOT, HOME) == ""
    assert guards.run(call_of) == ""


class Target:
    """A config dir as it is installed: the folder of hooks and the command, both as links."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "config dir"
        (self.folder / "hooks").mkdir(parents=True)
        (self.folder / "bin").mkdir()
        (self.folder / "hooks" / "agent-ways").symlink_to(f"{PROJECTED}/hooks")
        self.command = self.folder / "bin" / "attend"
        (folder / "start.py").write_text(ATTEND[-1])
        words = " ".join(f'"{word}"' for word in (*ATTEND[:3], f"{folder}/start.py"))
        self.command.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        self.command.chmod(0o755)
        self.env = {"HOME": str(folder), "PATH": os.environ["PATH"]}

    def run(self, script: str, given: str) -> tuple[int, str, str]:
        ran = subprocess.run(
            [str(self.folder / "hooks" / "agent-ways" / script)],
            env=self.env, input=given, capture_output=True, text=True, errors="surrogateescape", timeout=60,
            check=False,
        )  # fmt: skip
        return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.demand("ATT-13")
def test_the_guard_scripts_exit_0_or_2_and_nothing_else(tmp_path: Path) -> None:
    target = Target(tmp_path)
    bad = json.dumps({"tool_name": "Bash", "tool_input": {"command": "attend run"}})
    code, out, err = target.run("attend-guard-run.sh", bad)
    assert (code, out) == (2, "")
    assert "Monitor" in err
    root = f"{tmp_path}/.local/state/agent-ways/attend"
    code, out, err = target.run(
        "attend-guard-files.sh", json.dumps({"tool_name": "Read", "tool_input": {"file_path": root}})
    )
    assert (code, out) == (2, "")
    assert "attend_inbox" in err
    for script in ("attend-guard-run.sh", "attend-guard-files.sh"):
        for given in (
            "",
            "{",
            "[]",
            "null",
            '{"tool_name": 5, "tool_input": []}',
            '{"tool_name": "Bash"}',
            "\udc80\udcff",
        ):
            assert target.run(script, given) == (0, "", "")


@pytest.mark.demand("ATT-13", "ATT-14")
@pytest.mark.parametrize("trouble", ["missing", "broken", "old"])
def test_a_missing_broken_or_older_command_never_holds_up_a_session(tmp_path: Path, trouble: str) -> None:
    target = Target(tmp_path)
    target.env["PATH"] = "/usr/bin:/bin"
    if trouble == "missing":
        target.command.unlink()
    else:
        target.command.write_text(
            "#!/bin/sh\n" + ("exec /nowhere\n" if trouble == "broken" else "echo no such verb >&2; exit 2\n")
        )
    for script in ("attend-session-start.sh", "attend-guard-run.sh", "attend-guard-files.sh"):
        code, out, _ = target.run(script, json.dumps({"tool_name": "Bash", "tool_input": {"command": "attend run"}}))
        assert (code, out) == (0, "")


@pytest.mark.demand("ATT-14")
def test_the_session_start_script_answers_a_session_in_the_clients_form(tmp_path: Path) -> None:
    target = Target(tmp_path)
    with FakeClient(tmp_path / "c", Plan()) as client:
        ran = client.spawn([str(target.folder / "hooks" / "agent-ways" / "attend-session-start.sh")], timeout=30)
    assert ran["code"] == 0, ran
    answer = json.loads(ran["stdout"])["hookSpecificOutput"]
    assert answer["hookEventName"] == "SessionStart"
    assert answer["additionalContext"].startswith("[attend] You are ")


@pytest.mark.demand("ATT-14")
def test_a_record_that_comes_after_the_hook_began_is_waited_for(tmp_path: Path) -> None:
    target = Target(tmp_path)
    with FakeClient(tmp_path / "c", Plan(write_record=False, session_id=A)) as client:
        given = f"{tmp_path}/given"
        os.mkfifo(given)
        started = tmp_path / "started"
        script = f"touch {started}; '{target.folder}/hooks/agent-ways/attend-session-start.sh' < {given}"
        client._number += 1
        order = {"n": client._number, "do": "spawn", "argv": ["sh", "-c", script], "env": {}}
        client._control.sendall(json.dumps(order).encode() + b"\n")
        until(str(tmp_path), started.exists)
        with open(given, "w", encoding="utf-8") as fifo:
            json.dump({"session_id": client.session_id, "source": "startup"}, fifo)
        client.write_record()
        answer = client._number - 1
        while answer not in client._events.answers:
            client._pump(time.monotonic() + 30, "the hook's answer")
        ran = client._events.answers[answer]["value"]
    assert json.loads(ran["stdout"])["hookSpecificOutput"]["additionalContext"].startswith("[attend] You are ")


def test_every_hook_script_can_be_run_and_needs_nothing_but_sh() -> None:
    names = sorted(os.listdir(f"{PROJECTED}/hooks"))
    assert names == ["attend-drain.sh", "attend-guard-files.sh", "attend-guard-run.sh", "attend-session-start.sh"]
    for name in names:
        path = f"{PROJECTED}/hooks/{name}"
        assert os.access(path, os.X_OK)
        subprocess.run(["sh", "-n", path], check=True, timeout=20)


def test_a_start_takes_in_the_mail_of_its_project(world: World) -> None:
    world.send(None, "for whoever comes", WEB)
    world.client(10, A)
    assert "1 unread" in start(world)
    assert intake.take_in(world.bus, instances.read_all(world.bus)[0]) == 0
