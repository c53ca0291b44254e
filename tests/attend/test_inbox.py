from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ways.attend import aliases, inbox, intake, layout, rooms, seen
from agent_ways.attend.inbox import Filter, Item, Viewer
from agent_ways.attend.verbs.reading import read_on_terminal
from agent_ways.base.errors import RefusedError, UsageError
from tests.attend.frontends.callers import call, person, session
from tests.attend.world import WEB, A, B, C, World

if TYPE_CHECKING:
    from agent_ways.attend.instances import Instance


def listed(world: World, who: Instance | None, chosen: Filter | None = None, limit: int = 25) -> list[str]:
    page = inbox.listing(world.bus, Viewer(world.bus, who), chosen or Filter(), limit)
    return [item.signal.body for item in page.items]


@pytest.mark.demand("ATT-3")
def test_an_inbox_is_mail_and_joined_rooms_newest_first_without_one_s_own(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    intake.join(world.bus, other, "deploy")
    world.send(one, "to everybody")
    world.send(one, "to deploy", "#deploy")
    world.send(one, "to you", B)
    world.send(other, "my own", A)
    assert listed(world, other) == ["to you", "to deploy", "to everybody"]
    assert listed(world, one) == ["my own"]
    assert listed(world, None) == ["to deploy", "to everybody"]


@pytest.mark.demand("ATT-3")
def test_an_inbox_pages_by_the_id_to_go_on_from(world: World) -> None:
    who = world.session(100, A)
    for number in range(7):
        world.send(None, str(number), A)
    pages, before = [], None
    for _ in range(4):
        page = inbox.listing(world.bus, Viewer(world.bus, who), Filter(), 3, before)
        pages.append([item.signal.body for item in page.items])
        assert page.total == 7
        before = page.next
        if before is None:
            break
    assert pages == [["6", "5", "4"], ["3", "2", "1"], ["0"]]


@pytest.mark.demand("ATT-3")
def test_filters_narrow_by_room_sender_age_and_text(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    world.send(None, "Straße gesperrt", B)
    world.clock.advance(60)
    world.send(one, "from a session", B)
    world.send(one, "to all")
    assert listed(world, other, Filter(room="direct")) == ["from a session", "Straße gesperrt"]
    assert listed(world, other, Filter(room="open")) == ["to all"]
    assert listed(world, other, Filter(sender="PERS")) == ["Straße gesperrt"]
    assert listed(world, other, Filter(sender=one.name)) == ["to all", "from a session"]
    assert listed(world, other, Filter(sender=A[:4])) == ["to all", "from a session"]
    assert listed(world, other, Filter(text="STRASSE")) == ["Straße gesperrt"]
    assert listed(world, other, Filter(since=world.bus.now_ms() - 1000)) == ["to all", "from a session"]
    page = inbox.listing(world.bus, Viewer(world.bus, other), Filter(text="s"), 1)
    assert page.total == 3 - 1
    assert page.next == page.items[0].signal.id


@pytest.mark.demand("ATT-3", "CON-1")
def test_each_signal_has_its_state_and_proof_and_reading_changes_nothing(world: World) -> None:
    who = world.session(100, A)
    marked, claimed, queued = (world.send(None, text, A).signal for text in ("marked", "claimed", "queued"))
    world.claim(who)
    seen.mark(world.bus, who.key, {marked.id: {"kind": "channel", "session": A, "at": None}})
    latest = world.send(None, "latest", A).signal
    before = world.tree(but=())
    page = inbox.listing(world.bus, Viewer(world.bus, who), Filter())
    states = {item.signal.id: item.state for item in page.items}
    assert states == {marked.id: "seen", claimed.id: "pushed", queued.id: "pushed", latest.id: "queued"}
    assert listed(world, who, Filter(unseen=True)) == ["latest", "queued", "claimed"]
    assert inbox.unseen(world.bus, A) == 4
    inbox.receipts(world.bus, marked)
    inbox.thread(world.bus, Viewer(world.bus, who), marked.id)
    inbox.search(world.bus, Viewer(world.bus, None), Filter(text="l"))
    assert world.tree(but=()) == before
    item = inbox.show(world.bus, Viewer(world.bus, who), marked.id)
    assert isinstance(item, Item)
    assert item.to_json() | {"at": ""} == {
        **marked.to_json(),
        "at": "",
        "state": "seen",
        "proof": {"kind": "channel", "session": A, "at": None},
    }


@pytest.mark.demand("ATT-3")
def test_a_thread_is_the_whole_talk_oldest_first_whoever_looks(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    first = world.send(one, "question", B).signal
    second = world.reply(other, "answer", first.id).signal
    third = world.reply(one, "thanks", second.id).signal
    world.send(one, "something else", B)
    assert (second.thread, third.thread, third.re) == (first.id, first.id, second.id)
    for start in (first, second, third):
        page = inbox.thread(world.bus, Viewer(world.bus, one), start.id)
        assert [item.signal.body for item in page.items] == ["question", "answer", "thanks"]


@pytest.mark.demand("ATT-3")
def test_search_finds_one_s_own_and_the_person_s_everything(world: World) -> None:
    one, other, third = world.session(100, A), world.session(200, B), world.session(300, C, "/p/x")
    world.send(one, "needle between two", B)
    needle = Filter(text="needle")

    def found(who: Instance | None) -> list[str]:
        return [item.signal.body for item in inbox.search(world.bus, Viewer(world.bus, who), needle).items]

    assert found(one) == found(other) == found(None) == ["needle between two"]
    assert found(third) == []


@pytest.mark.demand("ATT-2")
def test_the_person_s_mail_is_read_on_the_terminal(world: World) -> None:
    one = world.session(100, A)
    sent = world.send(one, "please look", "operator").signal
    page = inbox.listing(world.bus, Viewer(world.bus, None), Filter())
    assert [item.state for item in page.items] == ["queued"]
    inbox.read_by_operator(world.bus, page.items)
    (item,) = inbox.listing(world.bus, Viewer(world.bus, None), Filter()).items
    assert (item.state, item.proof and item.proof["kind"]) == ("seen", "terminal")
    assert inbox.receipts(world.bus, sent) == [
        {"session": "operator", "name": "operator", "state": "seen", "proof": item.proof}
    ]
    before = world.tree(but=())
    inbox.read_by_operator(world.bus, page.items)
    assert world.tree(but=()) == before


@pytest.mark.demand("CON-1")
def test_receipts_say_what_became_of_a_signal_for_each_recipient(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    world.client(300, C)
    sent = world.send(None, "all of you", A, B, C).signal
    world.claim(one)
    seen.mark(world.bus, other.key, {sent.id: {"kind": "hook", "session": B, "at": None}})
    found = {one["session"]: one["state"] for one in inbox.receipts(world.bus, sent)}
    assert found == {A: "pushed", B: "seen", C: "queued"}


@pytest.mark.demand("ATT-2", "ATT-3")
@pytest.mark.parametrize("to", ["self", "/home/person/api", "@captain"])
def test_receipts_follow_what_was_kept_to_whoever_took_it_up(world: World, to: str) -> None:
    writer = world.session(100, A)
    if to == "@captain":
        intake.take_alias(world.bus, writer, "captain")
        aliases.drop(world.bus, writer, "captain")
    sent = world.send(writer, "for whoever comes", to).signal
    [kept] = inbox.receipts(world.bus, sent)
    assert (kept["session"], kept["state"]) == (None, "queued")
    assert kept["name"] in ("@captain", "the next session of /home/person/web", "the next session in /home/person/api")
    taker = world.session(200, B, cwd="/home/person/api" if to.startswith("/") else WEB)
    if to == "self":
        intake.take_self(world.bus, taker)
    elif to == "@captain":
        intake.take_alias(world.bus, taker, "captain")
    assert [(one["session"], one["state"]) for one in inbox.receipts(world.bus, sent)] == [(B, "queued")]
    world.claim(taker)
    seen.mark(world.bus, taker.key, {sent.id: {"kind": "hook", "session": B, "at": None}})
    [receipt] = inbox.receipts(world.bus, sent)
    assert (receipt["name"], receipt["state"], receipt["proof"]["kind"]) == (taker.name, "seen", "hook")
    os.unlink(layout.instance(world.bus.root, taker.key))
    assert [one["state"] for one in inbox.receipts(world.bus, sent)] == [None]


@pytest.mark.demand("ATT-2")
def test_a_receipt_of_a_note_that_its_own_writer_took_up_after_clear_is_there(world: World) -> None:
    writer = world.session(100, A)
    sent = world.send(writer, "to myself", "self").signal
    world.client(100, B)
    me = world.arrive(100)
    intake.take_self(world.bus, me)
    assert [(one["session"], one["state"]) for one in inbox.receipts(world.bus, sent)] == [(B, "queued")]


STEPS = st.lists(
    st.sampled_from(
        [
            ("send", sender, to)
            for sender in ("person", "a", "b")
            for to in ("operator", A, B, "*", "#deploy", "self", "@captain", WEB)
        ]
        + [(verb, who, "") for verb in ("join", "leave", "alias", "clear", "take") for who in ("a", "b")]
        + [("look", "person", ""), ("dissolve", "person", "")]
    ),
    max_size=25,
)


@pytest.mark.demand("ATT-2", "ATT-3")
@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_what_is_unseen_is_in_the_inbox_and_is_what_the_count_counts(steps: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        played = Played(World(home))
        for verb, who, to in steps:
            played.step(verb, who, to)
        for who, pid in {"person": 0, **PIDS}.items():
            caller = session(played.world, pid) if pid else person(played.world)
            everything = {one["id"] for one in call(caller, "inbox", limit=200)["signals"]}
            unseen = call(caller, "inbox", unseen=True, limit=200)
            named = {one["id"] for one in unseen["signals"]}
            assert named <= everything
            assert len(named) == len(unseen["signals"]) == unseen["total"] == call(caller, "status")["unseen"]
            if pid:
                assert everything & played.said[who] <= played.kept  # a session never receives its own signal
            else:
                assert played.to_operator <= everything
                assert named == played.to_operator - played.looked


PIDS = {"a": 100, "b": 200}


class Played:
    """A world in which a person and two sessions do things in some order, and what must be true of it then.

    `kept` are signals for whoever comes next, which may be their own sender.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.cleared = 0
        self.to_operator: set[str] = set()
        self.looked: set[str] = set()
        self.said: dict[str, set[str]] = {"person": set(), "a": set(), "b": set()}
        self.kept: set[str] = set()
        world.session(100, A)
        world.session(200, B)
        intake.join(world.bus, world.arrive(100), "deploy")
        intake.take_alias(world.bus, world.arrive(100), "captain")

    def step(self, verb: str, who: str, to: str) -> None:
        try:
            if who == "person" and verb != "send":
                self._person(verb)
            elif verb == "send":
                self._send(who, to)
            else:
                self._session(verb, PIDS[who])
        except (UsageError, RefusedError):
            return  # to oneself, to a channel that is gone, an alias that another holds

    def _person(self, verb: str) -> None:
        if verb == "dissolve":
            rooms.dissolve(self.world.bus, "deploy")
        else:
            read_on_terminal(person(self.world), call(person(self.world), "inbox", limit=200))
            self.looked |= self.to_operator

    def _session(self, verb: str, pid: int) -> None:
        bus, me = self.world.bus, self.world.arrive(pid)
        if verb == "join":
            intake.join(bus, me, "deploy")
        elif verb == "leave":
            rooms.leave(bus, me.key, "deploy")
        elif verb == "alias":
            intake.take_alias(bus, me, "captain")
        elif verb == "take":
            intake.take_self(bus, me)
        else:
            self.cleared += 1
            self.world.client(pid, f"eeeeeeee-0000-4000-8000-{self.cleared:012}")
            self.world.arrive(pid)

    def _send(self, who: str, to: str) -> None:
        sent = self.world.send(self.world.arrive(PIDS[who]) if who in PIDS else None, "x", to).signal.id
        self.said[who].add(sent)
        if to == "operator":
            self.to_operator.add(sent)
        if to in ("self", "@captain", WEB):
            self.kept.add(sent)


@pytest.mark.demand("ATT-2")
def test_a_note_of_the_person_to_themselves_is_in_their_inbox_and_read_by_looking(world: World) -> None:
    caller = person(world)
    call(caller, "send", to=["operator"], body="note to self")
    found = call(caller, "inbox")
    assert [(one["body"], one["state"]) for one in found["signals"]] == [("note to self", "queued")]
    assert call(caller, "inbox", room="direct")["total"] == 1
    assert call(caller, "status")["unseen"] == 1
    read_on_terminal(caller, found)
    assert [one["state"] for one in call(caller, "inbox")["signals"]] == ["seen"]
    assert call(caller, "inbox", unseen=True)["signals"] == []
    assert call(caller, "status")["unseen"] == 0


@pytest.mark.demand("ATT-3")
def test_mail_of_a_channel_that_was_left_is_listed_for_as_long_as_it_waits(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    intake.join(world.bus, other, "deploy")
    world.send(one, "last word", "#deploy")
    rooms.leave(world.bus, other.key, "deploy")
    assert listed(world, other) == listed(world, other, Filter(unseen=True)) == ["last word"]
    assert listed(world, one, Filter(room="#deploy")) == []


@pytest.mark.demand("ATT-2", "ATT-3")
def test_a_room_that_is_none_is_refused_where_one_reads_as_where_one_sends(world: World) -> None:
    rooms.create(world.bus, "deploy")
    with pytest.raises(UsageError) as sent:
        world.send(None, "x", "#deploi")
    with pytest.raises(UsageError) as read:
        inbox.room_named(world.bus, "#deploi")
    assert (read.value.message, read.value.hint) == (sent.value.message, sent.value.hint)
    assert read.value.hint == "Did you mean #deploy?"
    with pytest.raises(UsageError, match="'deploi' is no room") as bare:
        inbox.room_named(world.bus, "deploi")
    assert bare.value.hint == "Did you mean #deploy?"
    for text, meant in {
        "deploy": "#deploy",
        "#Deploy": "#deploy",
        "*": "open",
        "#open": "open",
        "direct": "direct",
    }.items():
        assert inbox.room_named(world.bus, text) == meant


@pytest.mark.demand("ATT-2")
def test_what_was_said_in_a_dissolved_channel_is_read_as_before(world: World) -> None:
    one = world.session(100, A)
    intake.join(world.bus, one, "deploy")
    world.send(one, "it is out", "#deploy")
    rooms.dissolve(world.bus, "deploy")
    for caller in (person(world), session(world, 100)):
        assert call(caller, "search", room="#deploy", text="out")["total"] == 1
    assert [found["body"] for found in call(person(world), "inbox", room="#deploy")["signals"]] == ["it is out"]
    with pytest.raises(UsageError, match="no channel"):
        world.send(None, "x", "#deploy")
