from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base.errors import StateError
from agent_ways.base.process import Process, ProcTable, process_table
from agent_ways.claude.identity import Identity, identify
from tests.support.fake_proc import FakeTable, ProcTree

if TYPE_CHECKING:
    from pathlib import Path

    from agent_ways.base.process import ProcessTable

A, B = "aaaaaaaa-0000-4000-8000-000000000000", "bbbbbbbb-0000-4000-8000-000000000000"
OWN, CLAUDE = 500, 100


class World:
    """A config dir, a process table and an environment, as a server sees them."""

    def __init__(self, config: Path) -> None:
        self.config = str(config)
        self.sessions = config / "sessions"
        self.sessions.mkdir(parents=True)
        self.table = FakeTable()
        self.env = {"HOME": "/none", "CLAUDE_CONFIG_DIR": self.config, "CLAUDE_CODE_ENTRYPOINT": "cli"}

    def record(self, pid: int, session: str = A, **changes: Any) -> None:
        raw = {"pid": pid, "sessionId": session, "procStart": str(pid * 10), "entrypoint": "cli", **changes}
        (self.sessions / f"{pid}.json").write_text(json.dumps(raw))

    def identify(self, anchor: Process | None = None, table: ProcessTable | None = None) -> Identity:
        return identify(self.env, table or self.table, OWN, anchor)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "config")


def unresolved(found: Identity, word: str) -> bool:
    """Nothing proven, nothing to write under, and a reason that says so."""
    return (
        not found.resolved
        and found.record is None
        and found.claude_process is None
        and found.disagreement is None
        and word in (found.reason or "")
    )


@pytest.mark.demand("ID-1")
def test_a_direct_child_of_claude_is_of_its_session(world: World) -> None:
    world.table.chain(OWN, CLAUDE)
    world.record(CLAUDE)
    found = world.identify()
    assert found.resolved
    assert (found.session, found.source, found.reason, found.disagreement) == (A, "record", None, None)
    assert found.claude_process == world.table.look(CLAUDE)
    assert found.record is not None
    assert found.record.config_dir == found.config_dir == world.config


@pytest.mark.demand("ID-1")
@pytest.mark.field_report(41)
@pytest.mark.parametrize("depth", range(1, 17))
def test_claude_is_found_among_the_first_fifteen_processes_own_one_included(world: World, depth: int) -> None:
    """Depth 1 is the process itself."""
    pids = [OWN, *range(400, 400 - depth + 1, -1)]
    world.table.chain(*pids)
    world.record(pids[-1])
    found = world.identify()
    assert len(pids) == depth
    assert found.resolved == (depth <= 15)
    assert found.resolved or unresolved(found, "No ancestor")


@pytest.mark.demand("ID-1")
@given(st.sets(st.integers(0, 19), max_size=6), st.integers(1, 20))
def test_the_nearest_ancestor_with_a_record_is_the_one(
    tmp_path_factory: pytest.TempPathFactory, with_record: set[int], depth: int
) -> None:
    world = World(tmp_path_factory.mktemp("world"))
    pids = [OWN, *range(400, 400 - depth + 1, -1)]
    world.table.chain(*pids)
    reached = [at for at in sorted(with_record) if at < min(depth, 15)]
    for at in with_record:
        if at < depth:
            world.record(pids[at], f"session-{at}")
    assert world.identify().session == (f"session-{reached[0]}" if reached else None)


@pytest.mark.demand("ID-1")
def test_a_stale_record_of_a_nearer_pid_is_passed_over(world: World) -> None:
    world.table.chain(OWN, 300, CLAUDE)
    world.record(300, B, procStart="1")
    world.record(CLAUDE)
    assert world.identify().session == A


@pytest.mark.demand("ID-1")
@pytest.mark.field_report(41)
@pytest.mark.parametrize("parent", [0, 1, 300, OWN, -1])
def test_a_chain_that_ends_or_turns_in_a_circle_is_unresolved(world: World, parent: int) -> None:
    world.table.add(OWN, 300)
    world.table.add(300, parent)
    assert unresolved(world.identify(), "No ancestor")


@pytest.mark.demand("ID-1", "ID-4")
@pytest.mark.field_report(41)
def test_claude_may_be_the_first_process_of_a_container(world: World) -> None:
    world.table.add(OWN, 1)
    world.table.add(1, 0)
    world.record(1)
    assert world.identify().claude_process == Process(pid=1, parent=0, start="10")


@pytest.mark.demand("ID-4")
def test_without_a_process_table_nothing_resolves_and_it_says_so(world: World) -> None:
    world.record(CLAUDE)
    assert unresolved(world.identify(), "can not be read")


@pytest.mark.demand("ID-4")
def test_a_parent_that_can_not_be_seen_ends_the_chain(world: World) -> None:
    world.table.add(OWN, CLAUDE)
    world.record(CLAUDE)
    assert unresolved(world.identify(), "No ancestor")


@pytest.mark.demand("ID-2")
@pytest.mark.parametrize("hint", [A, "", "../x", "a b"])
def test_the_environments_id_is_a_hint_and_no_proof_where_it_is_an_id(world: World, hint: str) -> None:
    world.table.chain(OWN, 300)
    world.env["CLAUDE_CODE_SESSION_ID"] = hint
    found = world.identify()
    assert unresolved(found, "No ancestor")
    assert (found.session, found.source) == ((A, "environment") if hint == A else (None, None))


@pytest.mark.demand("ID-2")
def test_after_clear_the_record_counts_and_the_disagreement_is_told(world: World) -> None:
    world.table.chain(OWN, CLAUDE)
    world.env["CLAUDE_CODE_SESSION_ID"] = A
    world.record(CLAUDE, A)
    assert world.identify().disagreement is None
    world.record(CLAUDE, B)
    found = world.identify()
    assert (found.session, found.source) == (B, "record")
    assert found.disagreement is not None
    assert A in found.disagreement
    assert B in found.disagreement
    assert found.disagreement.endswith(".")


@pytest.mark.demand("ID-1", "SRV-9")
def test_each_call_looks_afresh(world: World) -> None:
    world.table.chain(OWN, CLAUDE)
    assert not world.identify().resolved
    for session in (A, B):
        world.record(CLAUDE, session)
        assert world.identify().session == session
    (world.sessions / f"{CLAUDE}.json").unlink()
    assert not world.identify().resolved


@pytest.mark.demand("SRV-11")
def test_a_health_check_inside_a_live_session_is_not_part_of_it(world: World) -> None:
    world.table.chain(OWN, 300, 200, CLAUDE)
    world.record(CLAUDE)
    world.env.update(CLAUDE_CODE_ENTRYPOINT="sdk-cli", CLAUDE_CODE_SESSION_ID=B)
    found = world.identify()
    assert unresolved(found, "entrypoint sdk-cli")
    assert (found.session, found.source) == (B, "environment")


@pytest.mark.demand("SRV-11")
@pytest.mark.parametrize(
    ("environment", "record", "resolves"),
    [
        ("cli", "cli", True),
        ("sdk-cli", "sdk-cli", True),
        (None, "cli", True),
        ("", "cli", True),
        ("cli", None, True),
        ("sdk-cli", None, False),
        ("sdk-cli", "cli", False),
        ("cli", "sdk-cli", False),
        ("other", "cli", False),
    ],
)
def test_an_entrypoint_that_differs_from_the_records_is_unresolved(
    world: World, environment: str | None, record: str | None, resolves: bool
) -> None:
    world.table.chain(OWN, CLAUDE)
    world.record(CLAUDE, entrypoint=record)
    del world.env["CLAUDE_CODE_ENTRYPOINT"]
    if environment is not None:
        world.env["CLAUDE_CODE_ENTRYPOINT"] = environment
    assert world.identify().resolved == resolves


@pytest.mark.demand("ID-5")
def test_a_session_of_print_mode_resolves_as_an_sdk_session(world: World) -> None:
    world.table.chain(OWN, 300, 200, CLAUDE)
    world.record(CLAUDE)
    world.record(300, B, entrypoint="sdk-cli")
    world.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
    found = world.identify()
    assert found.session == B
    assert found.record is not None
    assert found.record.is_sdk


@pytest.mark.demand("SRV-11")
def test_our_own_handshake_is_no_session_and_has_no_id(world: World) -> None:
    world.table.chain(OWN, CLAUDE)
    world.record(CLAUDE)
    world.env.update(AGENT_WAYS_HANDSHAKE="1", CLAUDE_CODE_SESSION_ID=A)
    found = world.identify()
    assert unresolved(found, "handshake")
    assert (found.session, found.source) == (None, None)


@pytest.mark.demand("SRV-8")
def test_a_launcher_that_exits_leaves_the_server_with_its_session(world: World) -> None:
    world.table.chain(OWN, 300, CLAUDE)
    world.record(CLAUDE)
    anchor = world.identify().claude_process
    world.table.end(300)
    assert not world.identify().resolved
    assert world.identify(anchor) == Identity(
        config_dir=world.config, session=A, source="record", record=world.identify(anchor).record, claude_process=anchor
    )
    world.record(CLAUDE, B)
    assert world.identify(anchor).session == B


@pytest.mark.demand("SRV-8")
def test_an_anchor_that_died_is_no_anchor_also_when_its_pid_is_used_again(world: World) -> None:
    world.table.chain(OWN, 300, CLAUDE)
    world.record(CLAUDE)
    anchor = world.identify().claude_process
    world.table.end(300)
    world.table.end(CLAUDE)
    assert unresolved(world.identify(anchor), "has ended")
    world.table.add(CLAUDE, start="7777")
    world.record(CLAUDE, B, procStart="7777")
    assert unresolved(world.identify(anchor), "has ended")


@pytest.mark.demand("SRV-8", "ID-1")
def test_a_server_adopted_by_an_outer_session_stays_with_its_own_or_with_none(world: World) -> None:
    """An outer Claude runs an inner one in a shell that adopts orphans; the inner one's launcher exits, then it."""
    world.table.chain(OWN, 300, 200, 150, CLAUDE)
    world.record(CLAUDE, A)
    world.record(200, B)
    anchor = world.identify().claude_process
    assert anchor == world.table.look(200)
    world.table.end(300, adopter=150)
    assert world.identify(anchor).session == B
    world.table.end(200, adopter=150)
    assert unresolved(world.identify(anchor), "has ended")


@pytest.mark.demand("ID-1")
def test_an_anchor_still_in_the_chain_changes_nothing(world: World) -> None:
    world.table.chain(OWN, 300, CLAUDE)
    world.record(CLAUDE)
    assert world.identify(world.table.look(CLAUDE)) == world.identify()
    assert world.identify(world.table.look(300)) == world.identify()


@pytest.mark.demand("ID-1")
def test_a_pid_that_changes_hands_between_two_looks_never_resolves(world: World) -> None:
    world.table.chain(OWN, CLAUDE)
    world.record(CLAUDE, procStart="7777")

    class Changing(FakeTable):
        """Each look at Claude's pid finds another process."""

        starts = iter(["1000", "7777", "1000"])

        def look(self, pid: int) -> Process | None:
            return Process(pid=pid, parent=1, start=next(self.starts)) if pid == CLAUDE else world.table.look(pid)

    assert unresolved(world.identify(table=Changing()), "No ancestor")


def test_without_home_and_config_dir_it_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_ways.base.paths._home_of_user", lambda: "")
    with pytest.raises(StateError):
        identify({}, world.table, OWN)


@given(st.dictionaries(st.integers(0, 12), st.integers(-1, 12)), st.sets(st.integers(0, 12)), st.integers(0, 12))
def test_any_made_up_table_ends_in_a_record_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, parents: dict[int, int], with_record: set[int], pid: int
) -> None:
    world = World(tmp_path_factory.mktemp("world"))
    for child, parent in parents.items():
        world.table.add(child, parent)
    for number in with_record:
        world.record(number, f"session-{number}")
    found = identify(world.env, world.table, pid)
    assert found.resolved != bool(found.reason)
    if found.record is not None:
        assert found.record.pid in with_record & set(parents)


AWKWARD = [b"2.1.332", b"claude)", b"a b) S 1 (c", b"new\nline", b"node", b""]


@pytest.mark.demand("ID-4")
@pytest.mark.field_report(41)
def test_names_in_proc_do_not_matter_only_the_record_does(tmp_path: Path, world: World) -> None:
    tree = ProcTree(tmp_path / "proc")
    pids = [OWN, 400, 300, 200, 150, CLAUDE]
    for pid, parent, name in zip(pids, [*pids[1:], 1], AWKWARD, strict=True):
        tree.add(pid, parent, name=name)
    world.record(CLAUDE)
    assert world.identify(table=ProcTable(str(tree.root))).session == A


CHAIN = """
import os, sys
from agent_ways.base.process import process_table
from agent_ways.claude.identity import identify
def down(depth):
    if depth:
        child = os.fork()
        if child:
            sys.exit(os.waitpid(child, 0)[1] != 0)
        return down(depth - 1)
    found = identify(os.environ, process_table(), os.getpid())
    print(found.session, found.source, found.claude_process and found.claude_process.pid, flush=True)
sys.stdin.readline()
down(int(sys.argv[1]))
"""


@pytest.mark.demand("ID-1", "ID-4")
@pytest.mark.field_report(41)
@pytest.mark.parametrize("depth", [0, 1, 7, 14, 15])
def test_real_processes_find_their_real_ancestor(world: World, depth: int) -> None:
    env = {**os.environ, **world.env, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHAIN), str(depth)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    ) as process:
        live = process_table().look(process.pid)
        assert live is not None
        world.record(process.pid, procStart=live.start)
        said, _ = process.communicate("\n", timeout=30)
    assert said.split() == ([A, "record", str(process.pid)] if depth < 15 else ["None", "None", "None"])


@pytest.mark.demand("ID-4")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a pid namespace is made for it")
def test_in_a_pid_namespace_that_sees_the_outer_proc_nothing_resolves(world: World) -> None:
    world.record(1)
    env = {**os.environ, **world.env, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    words = ["unshare", "--pid", "--fork", sys.executable, "-c", CHAIN, "0"]
    said = subprocess.run(words, input="\n", env=env, check=True, capture_output=True, text=True, timeout=30).stdout
    assert said.split() == ["None", "None", "None"]
