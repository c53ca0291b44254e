from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import aliases, directory, instances, intake, layout, names, rooms, trays
from agent_ways.base.errors import RefusedError
from agent_ways.claude.identity import Identity
from tests.attend.world import WEB, A, B, C, World

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
def test_nothing_is_written_for_an_identity_that_is_not_proven(world: World) -> None:
    hint = Identity(config_dir=world.config, session=A, source="environment", reason="no record")
    with pytest.raises(RefusedError, match="no record"):
        instances.register(world.bus, hint)
    assert not os.path.exists(world.bus.root)


@pytest.mark.demand("ATT-6")
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


def test_a_live_session_that_never_registered_can_be_named(world: World) -> None:
    world.client(100, A, "/p/x")
    (known,) = directory.known_sessions(world.bus)
    assert (known.key, known.session, known.live, known.project) == (None, A, "alive", "/p/x")
    world.client(200, B, entrypoint="sdk-cli")
    assert len(directory.known_sessions(world.bus)) == 1
    world.send(None, "before it registered", A)
    world.arrive(100)
    assert world.bodies(A) == ["before it registered"]


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


def test_every_project_has_a_nickname_of_its_own_while_there_are_any() -> None:
    taken: set[str] = set()
    for number in range(len(names.NICKNAMES)):
        name = names.nickname(f"/p/{number}", taken)
        assert name not in taken
        taken.add(name)
    assert names.nickname("/p/one-more", taken) in taken
    assert len(names.NICKNAMES) == len({name.lower() for name in names.NICKNAMES}) >= 190


def test_ordinals_go_on_after_omega() -> None:
    assert [names.ordinal(number) for number in (0, 23, 24)] == ["alpha", "omega", "25"]


@pytest.mark.demand("ATT-2")
def test_an_alias_has_one_holder_survives_restarts_and_keeps_mail_while_unheld(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    assert intake.take_alias(world.bus, one, "@captain") == 0
    with pytest.raises(RefusedError, match="held by"):
        intake.take_alias(world.bus, other, "captain")
    world.send(other, "first", "@captain")
    assert world.bodies(A) == ["first"]
    world.end(100)
    world.send(other, "second", "captain")
    assert world.bodies(A) == ["first"]
    world.session(101, A)
    assert world.bodies(A) == ["first", "second"]
    world.end(101)
    world.send(other, "third", "captain")
    assert intake.take_alias(world.bus, other, "captain") == 3
    assert world.bodies(B) == ["first", "second", "third"]
    assert world.bodies(A) == []
    assert aliases.held_by(world.bus, other.key) == ["captain"]


def test_an_alias_that_was_let_go_stays_known(world: World) -> None:
    one = world.session(100, A)
    intake.take_alias(world.bus, one, "captain")
    assert aliases.drop(world.bus, one, "@Captain")
    assert not aliases.drop(world.bus, one, "captain")
    sent = world.send(None, "later", "@captain")
    assert "kept for who holds it next" in sent.notes[0]


@pytest.mark.demand("ATT-2")
def test_mail_to_a_project_waits_for_its_next_session(world: World) -> None:
    world.send(None, "welcome", WEB)
    one = world.session(100, A)
    other = world.session(200, B)
    assert (world.bodies(one.session), world.bodies(other.session)) == (["welcome"], [])


@pytest.mark.demand("ATT-2")
def test_a_note_to_self_goes_to_the_first_session_that_asks(world: World) -> None:
    writer = world.session(100, A)
    world.send(writer, "go on with the tests", "self")
    assert world.bodies(A) == []
    one, other = world.session(200, B), world.session(300, C)
    assert [slip.why for slip in intake.take_self(world.bus, one)] == [trays.SELF]
    assert intake.take_self(world.bus, other) == []
    assert world.bodies(B) == ["go on with the tests"]


def test_channels_are_made_listed_left_and_dissolved(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    rooms.create(world.bus, "#deploy", "rollouts")
    assert intake.join(world.bus, one, "Deploy")
    assert not intake.join(world.bus, one, "deploy")
    assert intake.join(world.bus, other, "#new-one")
    assert [(one.name, one.description, len(one.members)) for one in rooms.channels(world.bus)] == [
        ("deploy", "rollouts", 1),
        ("new-one", "", 1),
    ]
    world.send(other, "hello deploy", "#deploy")
    assert world.bodies(A) == ["hello deploy"]
    assert rooms.leave(world.bus, one.key, "deploy")
    assert not rooms.leave(world.bus, one.key, "deploy")
    assert rooms.dissolve(world.bus, "deploy").description == "rollouts"
    assert [one.name for one in rooms.channels(world.bus)] == ["new-one"]
    assert os.listdir(layout.channels(world.bus.root)) == ["new-one"]
    with pytest.raises(RefusedError):
        rooms.create(world.bus, "new-one")
