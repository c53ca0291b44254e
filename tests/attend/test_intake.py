from __future__ import annotations

import pytest

from agent_ways.attend import inbox, intake, ledger, rooms, seen, trays
from tests.attend.world import WEB, A, B, C, World


def counted(world: World, key: str) -> int:
    return ledger.read(world.bus, key).counted


@pytest.mark.demand("ATT-10")
def test_a_cold_start_shows_the_newest_mail_whatever_its_age_and_counts_the_rest(world: World) -> None:
    world.client(100, A)
    for number in range(60):
        world.send(None, str(number), A)
    world.clock.advance(40 * 86_400)
    who = world.arrive(100)
    assert world.bodies(A) == [str(number) for number in range(10, 60)]
    assert counted(world, who.key) == 10
    assert inbox.unseen(world.bus, A) == 60
    assert len(inbox.listing(world.bus, inbox.Viewer(world.bus, who), inbox.Filter(unseen=True), 100).items) == 60
    world.arrive(100)
    assert counted(world, who.key) == 10


@pytest.mark.demand("ATT-10")
def test_a_cold_start_shows_room_talk_of_two_minutes_and_counts_the_rest(world: World) -> None:
    other = world.session(200, B)
    for number in range(5):
        world.send(other, f"old {number}")
    world.clock.advance(121)
    world.send(other, "fresh")
    who = world.session(100, A)
    assert world.bodies(A) == ["fresh"]
    assert counted(world, who.key) == 5
    world.send(other, "and then")
    assert world.bodies(A) == ["fresh", "and then"]


@pytest.mark.demand("ATT-10")
def test_a_registered_session_that_is_not_enrolled_is_left_out_of_room_talk(world: World) -> None:
    other = world.session(200, B)
    world.client(100, A)
    who = world.arrive(100)
    assert not who.enrolled
    world.send(other, "talk")
    assert world.bodies(A) == []
    world.arrive(100, "joined")
    assert world.bodies(A) == ["talk"]
    world.arrive(100, "sent")
    assert world.bodies(A) == ["talk"]


@pytest.mark.demand("ATT-10")
def test_a_member_that_was_away_meets_what_is_fresh_and_a_count(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    intake.join(world.bus, one, "deploy")
    world.end(100)
    for number in range(30):
        world.send(other, str(number), "#deploy")
    world.clock.advance(3600)
    world.send(other, "now", "#deploy")
    world.send(other, "to you", A)
    again = world.session(101, A)
    assert world.bodies(A) == ["now", "to you"]
    assert counted(world, again.key) == 30
    assert [slip.why for slip in trays.waiting(world.bus.root, A, held=True)] == ["channel"] * 30


def test_joining_again_does_not_bring_back_what_was_seen(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    intake.join(world.bus, other, "deploy")
    world.send(other, "hello", "#deploy")
    intake.join(world.bus, one, "deploy")
    assert world.bodies(A) == ["hello"]
    (slip,) = world.waiting(A)
    with ledger.open_ledger(world.bus, one.key) as opened:
        seen.mark(world.bus, one.key, {slip.id: {"kind": "hook", "session": A, "at": None}})
        assert ledger.settled(world.bus, opened, [slip]) == []
    rooms.leave(world.bus, one.key, "deploy")
    intake.join(world.bus, one, "deploy")
    assert world.bodies(A) == []


@pytest.mark.demand("ATT-10")
def test_what_is_claimed_is_not_held_back(world: World) -> None:
    who = world.session(100, A)
    for number in range(60):
        world.send(None, str(number), A)
    first = world.claim(who)
    world.end(100)
    world.session(101, A)
    assert len(first) == 60
    assert len(world.waiting(A)) == 60


def test_history_with_one_s_own_words_is_not_counted_as_missed(world: World) -> None:
    one = world.session(100, A)
    world.session(200, B)
    for number in range(3):
        world.send(one, str(number))
    intake.join(world.bus, one, "quiet")
    assert counted(world, one.key) == 0
    world.clock.advance(300)
    assert counted(world, world.session(300, C).key) == 3


@pytest.mark.demand("ATT-10")
def test_who_comes_back_meets_fresh_talk_of_the_open_room_and_no_history(world: World) -> None:
    who, other = world.session(100, A), world.session(200, B)
    before = counted(world, who.key)
    world.end(100)
    for number in range(5):
        world.send(other, f"old {number}")
    world.clock.advance(600)
    world.send(other, "fresh")
    world.session(101, A)
    assert world.bodies(A) == ["fresh"]
    assert counted(world, who.key) == before


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
