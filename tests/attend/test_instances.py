from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import directory, instances, layout, trays
from agent_ways.base.errors import RefusedError
from agent_ways.claude.identity import Identity
from tests.attend.world import A, B, C, World

if TYPE_CHECKING:
    from agent_ways.attend.signals import Note


@pytest.mark.demand("ATT-6")
def test_sessions_of_a_project_share_a_nickname_and_have_ordinals(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    elsewhere = world.session(300, C, "/home/person/api")
    assert one.nickname == other.nickname != elsewhere.nickname
    assert (one.name, other.name) == (f"{one.nickname}-alpha", f"{one.nickname}-beta")
    assert elsewhere.name.endswith("-alpha")


@pytest.mark.demand("ATT-6")
def test_a_cleared_session_keeps_its_name_and_its_mail(world: World) -> None:
    before, writer = world.session(100, A), world.session(200, B)
    world.send(writer, "to the old id", A)
    world.client(100, C)  # /clear: the same process, a new id
    world.send(writer, "to the new id before it came", C)
    after = world.arrive(100)
    assert (after.key, after.name) == (before.key, before.name)
    assert after.sessions == (A, C)
    world.send(writer, "to the old id again", A)
    assert world.bodies(C) == ["to the old id", "to the new id before it came", "to the old id again"]


@pytest.mark.demand("ATT-6", "ID-2")
def test_a_slow_writer_that_still_knows_the_old_id_reaches_the_cleared_session(world: World) -> None:
    world.session(100, A)
    world.client(100, C)
    world.arrive(100)
    sent = world.send(None, "late", C)
    assert trays.move(world.bus, trays.Slip(C, sent.signal.id, trays.DIRECT), A)
    assert world.bodies(C) == ["late"]


@pytest.mark.demand("ATT-6")
def test_a_resumed_session_is_itself_under_its_new_process(world: World) -> None:
    before, writer = world.session(100, A), world.session(200, B)
    world.end(100)
    sent = world.send(writer, "while you were away", A)
    assert sent.notes == (f"no live session: {before.name} has ended; kept until it is resumed",)
    after = world.session(101, A)
    assert (after.key, after.name) == (before.key, before.name)
    assert world.bodies(A) == ["while you were away"]


@pytest.mark.demand("ATT-6")
def test_an_old_id_resumed_beside_the_process_that_left_it_is_somebody_new(world: World) -> None:
    first = world.session(100, A)
    world.client(100, B)
    cleared = world.arrive(100)
    resumed = world.session(200, A)
    assert cleared.key == first.key
    assert resumed.key != first.key
    assert resumed.name != cleared.name
    world.send(None, "for the one that has it now", A)
    assert world.bodies(A) == ["for the one that has it now"]
    assert world.bodies(B) == []
    assert world.arrive(100).session == B


@pytest.mark.demand("ATT-6")
def test_resume_inside_a_process_takes_up_the_other_conversation(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    world.end(200)
    world.client(100, B)  # /resume B in the first process
    now = world.arrive(100)
    assert now.key == other.key
    left = instances.read(world.bus, one.key)
    assert left is not None
    assert left.client is None
    world.client(100, A)  # and back
    assert world.arrive(100).key == one.key


@pytest.mark.demand("ATT-6")
def test_a_name_is_kept_a_week_for_the_dead_and_then_given_away(world: World) -> None:
    first = world.session(100, A)
    world.end(100)
    assert world.session(200, B).ordinal == 1
    world.clock._wall += instances.NAME_KEPT / 1000 + 1
    assert world.session(300, C).ordinal == first.ordinal
    assert world.session(101, A).ordinal not in (0, 1)


@pytest.mark.demand("ATT-4")
def test_registering_again_writes_nothing(world: World) -> None:
    world.session(100, A, reason="sent")
    before = world.tree()
    world.arrive(100, "sent")
    assert world.tree() == before


@pytest.mark.demand("ID-2")
@pytest.mark.field_report(45)
def test_nothing_is_written_for_an_identity_that_is_not_proven(world: World) -> None:
    hint = Identity(config_dir=world.config, session=A, source="environment", reason="no record")
    with pytest.raises(RefusedError, match="no record"):
        instances.register(world.bus, hint)
    assert not os.path.exists(world.bus.root)


@pytest.mark.demand("ATT-6")
@pytest.mark.field_report(68)
def test_liveness_is_proven_when_asked(world: World) -> None:
    one = world.session(100, A)
    assert instances.now_of(world.bus, one) == ("alive", A)
    os.unlink(os.path.join(world.config, "sessions", "100.json"))
    assert instances.now_of(world.bus, one)[0] == "unknown"
    world.end(100)
    assert instances.liveness(world.bus, one) == "dead"
    world.table.add(100, start="another process")
    assert instances.liveness(world.bus, one) == "dead"


@pytest.mark.demand("ATT-6", "ATT-7")
def test_what_another_host_owns_is_unknown_and_left_alone(world: World) -> None:
    mine = world.session(100, A)
    there = World(world.home, host="south", boot="boot-2")
    seen = {one.session: one.live for one in directory.known_sessions(there.open())}
    assert seen == {A: "unknown"}
    there.client(900, B)
    other = there.session(900, B)
    assert other.name != mine.name
    assert other.host == "south"
    found = instances.read(world.bus, mine.key)
    assert found is not None
    assert found.client == mine.client


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize(
    "content", [b"", b'{"v":1', b"[]", b'{"v":1,"key":"x"}', b'{"v":99}', b'{"v":1,"sessions":["../x"]}']
)
def test_a_damaged_record_is_passed_over_with_a_note_and_a_live_session_registers_anew(
    world: World, content: bytes
) -> None:
    one = world.session(100, A)
    with open(layout.instance(world.bus.root, one.key), "wb") as file:
        file.write(content)
    notes: list[Note] = []
    assert not instances.read_all(world.bus, notes)
    assert len(notes) == 1
    assert world.arrive(100).session == A


def test_a_worktree_belongs_to_its_project() -> None:
    assert instances.project_of("/p/web/.claude/worktrees/fix-1/src") == "/p/web"
    assert instances.project_of("/p/web") == "/p/web"
    assert instances.project_of("/.claude/worktrees/x") == "/.claude/worktrees/x"
