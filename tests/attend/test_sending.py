from __future__ import annotations

import pytest

from agent_ways.attend import inbox
from agent_ways.attend.inbox import Filter, Viewer
from agent_ways.base.errors import UsageError
from tests.attend.world import WEB, A, B, C, World


@pytest.mark.demand("ATT-5")
@pytest.mark.field_report(43)
def test_a_reply_reaches_the_right_one_of_two_sessions_in_one_directory_also_after_clear_and_resume(
    world: World,
) -> None:
    one, other, third = world.session(100, A), world.session(200, B), world.session(300, C)
    question = world.send(one, "question", third.name).signal
    world.client(100, "dddddddd-0000-4000-8000-00000000000d")  # /clear
    world.arrive(100)
    world.reply(third, "after clear", question.id)
    assert world.bodies("dddddddd-0000-4000-8000-00000000000d") == ["after clear"]
    world.end(100)
    sent = world.reply(third, "while away", question.id)
    assert "kept until it is resumed" in sent.notes[0]
    world.client(101, "dddddddd-0000-4000-8000-00000000000d")
    assert world.arrive(101).name == one.name
    assert world.bodies("dddddddd-0000-4000-8000-00000000000d") == ["after clear", "while away"]
    assert world.bodies(other.session) == []


@pytest.mark.demand("ATT-5")
def test_a_reply_without_an_id_answers_the_last_delivery_and_asks_where_that_is_several(world: World) -> None:
    one, other, third = world.session(100, A), world.session(200, B), world.session(300, C)
    with pytest.raises(UsageError, match="nothing to answer"):
        world.reply(third, "what?")
    first = world.send(one, "first", C).signal
    with pytest.raises(UsageError, match=f"there is: {first.id} from {one.name}"):
        world.reply(third, "what?")
    world.claim(third)
    assert world.reply(third, "to one").signal.re == first.id
    world.send(one, "second", C)
    world.send(other, "third", C)
    world.claim(third)
    with pytest.raises(UsageError, match="came from 2 senders"):
        world.reply(third, "whom?")


def test_a_reply_to_a_person_goes_to_the_person_and_nobody_answers_themselves(world: World) -> None:
    one = world.session(100, A)
    asked = world.send(None, "do it", A).signal
    assert world.reply(one, "done", asked.id).signal.to == ("operator",)
    with pytest.raises(UsageError, match="from a person"):
        world.reply(None, "to me", asked.id)
    own = world.send(one, "mine", WEB).signal
    with pytest.raises(UsageError, match="own"):
        world.reply(one, "to me", own.id)
    inbox.read_by_operator(world.bus, inbox.listing(world.bus, Viewer(world.bus, None), Filter()).items)
    assert world.reply(None, "thank you").signal.to == (A,)
    world.send(None, "a note to myself", "operator")
    inbox.read_by_operator(world.bus, inbox.listing(world.bus, Viewer(world.bus, None), Filter()).items)
    assert world.reply(None, "thank you again").signal.to == (A,)


@pytest.mark.parametrize("claimed", ["", "a b", "x" * 129, "\n", "é"])
def test_nobody_speaks_for_what_is_no_id(world: World, claimed: str) -> None:
    with pytest.raises(UsageError):
        world.send(None, "x", on_behalf_of=claimed)


@pytest.mark.demand("ATT-1", "ATT-11")
@pytest.mark.field_report(62)
def test_order_holds_when_the_clock_steps_back_an_hour_between_two_sends(world: World) -> None:
    who, other = world.session(100, A), world.session(200, B)
    world.send(other, "first", A)
    world.clock._wall -= 3600
    second = world.send(other, "second", A).signal
    world.reply(who, "answer", second.id)
    world.clock._wall += 7200
    world.send(other, "third", A)
    assert world.bodies(A) == ["first", "second", "third"]
    page = inbox.listing(world.bus, Viewer(world.bus, who), Filter())
    assert [item.signal.body for item in page.items] == ["third", "second", "first"]
    assert second.at < world.bus.now_ms() - 3_600_000
    talk = inbox.thread(world.bus, Viewer(world.bus, who), second.id)
    assert [item.signal.body for item in talk.items] == ["second", "answer"]


@pytest.mark.demand("ATT-2")
@pytest.mark.field_report(17)
def test_a_session_never_receives_its_own_words_also_after_clear(world: World) -> None:
    one = world.session(100, A)
    world.session(200, B)
    world.client(100, C)
    moved = world.arrive(100)
    world.send(moved, "to all")
    world.send(moved, "to the project", WEB)
    assert world.bodies(C) == world.bodies(A) == []
    assert world.bodies(B) == ["to all", "to the project"]
    assert one.key == moved.key
