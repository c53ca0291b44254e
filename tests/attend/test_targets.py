"""Sessions of other config dirs: those of enabled targets are listed and written to, others are not looked for."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import directory, intake, sending, targets
from agent_ways.attend.addresses import ALIVE
from agent_ways.base.errors import UsageError
from agent_ways.claude.identity import identify
from agent_ways.ways import targets as written
from agent_ways.ways.target import Target
from tests.attend.frontends.callers import call, person, serve, session
from tests.attend.test_drain import ATTEND
from tests.attend.world import A, B, C, World
from tests.support.fake_client import FakeClient, Plan

if TYPE_CHECKING:
    from pathlib import Path


def state(world: World) -> str:
    return os.path.dirname(world.bus.root)


def listed(world: World, **dirs: bool) -> dict[str, str]:
    """The list as `ways` itself writes it: config dirs by name, enabled or not; answers their paths."""
    known = written.TargetList(state(world), world.home)
    paths = {name: os.path.join(world.home, name) for name in dirs}
    for name, enabled in dirs.items():
        known.put(written.Known(Target(paths[name], world.home), enabled=enabled))
    return paths


def elsewhere(world: World, config_dir: str, pid: int, session_id: str) -> None:
    """A live client whose session belongs to another config dir."""
    os.makedirs(os.path.join(config_dir, "sessions"), exist_ok=True)
    here, world.config = world.config, config_dir
    world.client(pid, session_id, cwd="/home/person/api", name="night shift")
    world.config = here


@pytest.mark.demand("ID-1")
def test_a_session_of_another_enabled_target_is_listed_addressed_and_live(world: World) -> None:
    world.session(10, A)
    serve(world, A, 90)
    dirs = listed(world, work=True)
    elsewhere(world, dirs["work"], 20, B)
    [peer] = call(session(world, 10), "peers")["peers"]
    assert (peer["session"], peer["status"], peer["client_name"]) == (B, "idle", "night shift")
    assert peer["conduits"]["loop"]["state"] == "no"
    sent = call(session(world, 10), "send", body="hello there", to=[B[:8]])
    assert [(one["session"], one["state"]) for one in sent["recipients"]] == [(B, "queued")]
    assert world.bodies(B) == ["hello there"]
    assert call(person(world), "send", body="to the project", to=["/home/person/api"])["recipients"][0]["session"] == B
    world.end(20)
    assert call(session(world, 10), "peers")["peers"] == []


@pytest.mark.demand("ID-1")
def test_the_sessions_of_a_disabled_target_are_not_read(world: World) -> None:
    dirs = listed(world, work=False)
    elsewhere(world, dirs["work"], 20, B)
    assert directory.known_sessions(world.bus) == ()
    with pytest.raises(UsageError, match="no session"):
        world.send(None, "x", B)
    listed(world, work=True)
    assert [one.live for one in directory.known_sessions(world.bus)] == [ALIVE]


@pytest.mark.demand("ID-1")
def test_the_default_dir_is_left_out_where_it_is_disabled_and_our_own_never_is(world: World) -> None:
    own, default = "/home/person/own", os.path.join(world.home, ".claude")
    off = targets.Targets(disabled=(own, default))
    assert targets.looked_in(off, own, (default, "/home/person/third")) == (own, "/home/person/third")
    assert targets.looked_in(targets.Targets(), own, (default,)) == (own, default)


@pytest.mark.demand("ID-1")
def test_one_folder_by_two_names_is_looked_in_once(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert targets.looked_in(targets.Targets(enabled=(str(link),)), str(real), (str(real),)) == (str(real),)
    assert targets.looked_in(targets.Targets(disabled=(str(link),)), "/own", (str(real),)) == ("/own",)


@pytest.mark.demand("ID-1")
@pytest.mark.parametrize("content", [b"", b'{"v": 1, "targets": [', b"[]", b'{"v": 99}', b"\xff\xfe", None])
def test_a_list_that_can_not_be_read_is_said_and_is_not_fatal(world: World, content: bytes | None) -> None:
    world.session(10, A)
    serve(world, A, 90)
    path = os.path.join(state(world), targets.FILE)
    if content is None:
        os.mkdir(path)
    else:
        with open(path, "wb") as file:
            file.write(content)
    world.client(20, C)
    caller = session(world, 10)
    assert [one["session"] for one in call(caller, "peers")["peers"]] == [C]
    call(caller, "send", body="x", to=[C])
    for who in (caller, person(world)):
        assert any("sessions of other targets are not listed" in note for note in call(who, "status")["notes"])
    assert any(one["subject"] == "targets" for one in call(caller, "doctor")["findings"])


@pytest.mark.demand("ID-1")
def test_entries_that_are_no_dirs_are_passed_over_and_a_missing_list_is_none(world: World) -> None:
    assert targets.read(world.bus.env) == targets.Targets()
    os.makedirs(state(world), exist_ok=True)
    entries = [7, {}, {"config_dir": "relative"}, {"config_dir": "/a\0b"}, {"config_dir": "/x/../y"}]
    with open(os.path.join(state(world), targets.FILE), "w", encoding="utf-8") as file:
        json.dump({"v": 1, "targets": entries}, file)
    assert targets.read(world.bus.env) == targets.Targets(enabled=("/y",))


def test_reader_and_writer_agree_on_file_and_version() -> None:
    assert (targets.FILE, targets.FORMAT) == (written.FILE, written.FORMAT)


@pytest.mark.demand("ID-1")
def test_a_reply_reaches_a_session_of_another_target(world: World) -> None:
    me = world.session(10, A)
    dirs = listed(world, work=True)
    elsewhere(world, dirs["work"], 20, B)
    env = {"HOME": world.home, "CLAUDE_CONFIG_DIR": dirs["work"]}
    other = intake.arrive(world.bus, identify(env, world.table, 20), "sent")
    sent = sending.send(world.bus, sending.session_sender(other), other, "are you there?", to=[A])
    world.claim(me)
    assert world.reply(me, "yes", sent.signal.id).recipients[0].session == B
    assert world.bodies(B) == ["yes"]


@pytest.mark.demand("ID-1")
def test_the_real_command_lists_and_reaches_a_live_client_of_another_target(tmp_path: Path) -> None:
    home, other = str(tmp_path / "home"), str(tmp_path / "work")
    with FakeClient(tmp_path, Plan(home=home, config_dir=other, env={"CLAUDE_CONFIG_DIR": other})) as client:

        def told(*words: str) -> Any:
            env = {"HOME": home, "PATH": os.environ["PATH"]}
            line = [*ATTEND, *words, "--json"]
            done = subprocess.run(line, env=env, check=False, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
            return json.loads(done.stdout)

        assert told("peers")["peers"] == []
        known = written.TargetList(os.path.join(home, ".local", "state", "agent-ways"), home)
        known.put(written.Known(Target(other, home)))
        assert [(one["session"], one["status"]) for one in told("peers")["peers"]] == [(client.session_id, "idle")]
        assert told("send", "--to", client.session_id, "hello")["recipients"][0]["state"] == "queued"
        known.put(written.Known(Target(other, home), enabled=False))
        assert told("peers")["peers"] == []
        assert told("send", "--to", client.session_id, "hello")["error"]["code"]
