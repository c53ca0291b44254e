from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.attend import addresses, trays
from agent_ways.attend.addresses import ALIVE, DEAD, UNKNOWN, Directory, Known
from agent_ways.base.errors import UsageError
from tests.attend.world import WEB, A, B, C, D

FERN = Known(
    key="k1", session=A, name="Fern-alpha", nickname="Fern", project=WEB, host="north", live=ALIVE, listens=True
)
FERN2 = Known(key="k2", session=B, name="Fern-beta", nickname="Fern", project=WEB, host="north", live=ALIVE)
OAK = Known(
    key="k3", session=D, sessions=(C, D), name="Oak-alpha", nickname="Oak", project="/p/api", host="south", live=DEAD
)
SOMEWHERE = Known(
    key="k4",
    session="ffff0000-1",
    name="Reed-alpha",
    nickname="Reed",
    project="/p/x",
    host="east",
    live=UNKNOWN,
    listens=True,
)
EVERYONE = Directory(
    (FERN, FERN2, OAK, SOMEWHERE),
    {"captain": "k1", "cook": "k3", "nobody": None},
    {"deploy": ("k1", "k3"), "quiet": ()},
)


def trays_of(text: str, me: Known | None = None) -> dict[str, str]:
    route = addresses.resolve([addresses.parse(text)], EVERYONE, me, WEB)
    return {one.tray: one.why for one in route.recipients}


@pytest.mark.demand("ATT-2")
@pytest.mark.parametrize(
    ("text", "tray"),
    [
        (A, A),
        ("aaaa", A),
        ("Fern-beta", B),
        ("fern-BETA", B),
        ("@captain", A),
        ("captain", A),
        ("CAPTAIN", A),
        ("Oak", D),
        (C, D),
        ("Reed@east", "ffff0000-1"),
    ],
)
def test_a_session_is_meant_by_id_prefix_name_or_alias(text: str, tray: str) -> None:
    if text == "CAPTAIN":
        assert trays_of(text) == {A: trays.DIRECT}
    else:
        assert trays_of(text) == {tray: trays.DIRECT}


@pytest.mark.demand("ATT-2")
def test_everybody_is_who_listens_and_is_not_known_to_be_dead() -> None:
    assert trays_of("*") == {A: trays.OPEN, "ffff0000-1": trays.OPEN}
    assert trays_of("*", FERN) == {"ffff0000-1": trays.OPEN}
    route = addresses.resolve([], EVERYONE, FERN, WEB)
    assert (route.to, route.room) == (("*",), "open")


@pytest.mark.demand("ATT-2")
def test_a_channel_is_its_members_but_for_the_sender_also_dead_ones() -> None:
    assert trays_of("#deploy", FERN) == {D: trays.CHANNEL}
    assert trays_of("#Deploy") == {A: trays.CHANNEL, D: trays.CHANNEL}
    route = addresses.resolve([addresses.parse("#quiet")], EVERYONE, FERN, WEB)
    assert not route.recipients
    assert "nobody else is in #quiet" in route.notes[0]


@pytest.mark.demand("ATT-2")
def test_a_path_is_the_live_sessions_there_and_else_waits_for_the_next() -> None:
    assert trays_of(WEB) == {A: trays.DIRECT, B: trays.DIRECT}
    assert trays_of(WEB + "/") == {A: trays.DIRECT, B: trays.DIRECT}
    assert trays_of(WEB, FERN) == {B: trays.DIRECT}
    (tray,) = trays_of("/p/api")
    assert tray.startswith("+project.api-")
    route = addresses.resolve([addresses.parse("/p/api")], EVERYONE, None, WEB)
    assert route.notes == ("no live session in /p/api; kept for the next one there",)


@pytest.mark.demand("ATT-2")
def test_an_alias_that_no_live_session_holds_keeps_its_mail() -> None:
    assert trays_of("@cook") == {"+alias.cook": trays.DIRECT}
    assert trays_of("@nobody") == {"+alias.nobody": trays.DIRECT}


@pytest.mark.demand("ATT-2")
def test_operator_and_self_have_trays_of_their_own() -> None:
    assert trays_of("operator") == {"+operator": trays.DIRECT}
    (tray,) = trays_of("self")
    assert tray.startswith("+self.web-")
    assert trays_of("self") == {tray: trays.SELF}


@pytest.mark.demand("ATT-2")
@pytest.mark.field_report(64)
@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("Fern", "fits 2 sessions: Fern-alpha", "one of them whole"),
        ("Fern-gamma", "there is no session", "Fern-alpha"),
        ("Okk-alpha", "there is no session", "Oak-alpha"),
        ("zzzzzzzz", "there is no session", "attend peers"),
        ("aaa", "there is no session", ""),
        ("#deplo", "there is no channel", "#deploy"),
        ("#nowhere", "there is no channel", "channels create nowhere"),
        ("@captian", "nobody has ever held", "@captain"),
    ],
)
def test_an_unknown_or_ambiguous_address_is_refused_with_near_matches(text: str, says: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        trays_of(text)
    assert says in error.value.message
    assert hint in error.value.hint


@pytest.mark.demand("ATT-2")
@pytest.mark.parametrize("text", [A, "Fern-alpha", "@captain", "aaaa"])
def test_a_session_can_not_write_to_itself(text: str) -> None:
    with pytest.raises(UsageError, match="this session itself") as error:
        trays_of(text, FERN)
    assert "self" in error.value.hint


def test_several_addresses_reach_each_tray_once_for_the_strongest_reason() -> None:
    words = ["#deploy", "*", "Fern-alpha", A, "/p/x"]
    route = addresses.resolve([addresses.parse(text) for text in words], EVERYONE, None, WEB)
    assert {one.tray: one.why for one in route.recipients} == {
        A: trays.DIRECT,
        D: trays.CHANNEL,
        "ffff0000-1": trays.DIRECT,
    }
    assert route.to == ("#deploy", "*", A, "/p/x")
    assert route.room == "#deploy"
    assert set(route.rooms) == {"open", "channel.deploy", f"tray.{A}", "tray.ffff0000-1"}


@pytest.mark.demand("ATT-2", "ATT-6")
@pytest.mark.field_report(64)
def test_a_dead_or_unseen_session_s_mail_is_kept_and_said_so() -> None:
    dead = addresses.resolve([addresses.parse("Oak-alpha")], EVERYONE, None, WEB)
    assert dead.notes == ("no live session: Oak-alpha has ended; kept until it is resumed",)
    unseen = addresses.resolve([addresses.parse("Reed-alpha")], EVERYONE, None, WEB)
    assert "can not be seen from here" in unseen.notes[0]


@pytest.mark.demand("ATT-5")
def test_a_reply_reaches_a_session_by_the_id_it_has_now_and_one_that_nobody_knows_any_more() -> None:
    assert addresses.reply_to(C, EVERYONE).tray == D
    gone = addresses.reply_to("eeeeeeee-0000", EVERYONE)
    assert (gone.tray, gone.live) == ("eeeeeeee-0000", DEAD)
    with pytest.raises(UsageError):
        addresses.reply_to("../x", EVERYONE)


def test_an_id_that_a_live_session_has_now_is_not_the_one_that_had_it() -> None:
    had = Known(key="k8", session=B, sessions=(A, B), live=DEAD)
    assert Directory((had, FERN)).by_session(A) == FERN
    assert Directory((had,)).by_session(A) == had


@pytest.mark.demand("ATT-2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a b",
        "./x",
        "~/x",
        "a/b",
        "#",
        "@",
        "#a b",
        "#-a",
        "#self",
        "@operator",
        "x\n",
        "x\0",
        "\udc80",
        "#é",
        "#" + "x" * 65,
    ],
)
def test_an_address_that_can_be_none_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(UsageError):
        addresses.parse(text)


@given(text=st.text(max_size=30))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        address = addresses.parse(text)
        addresses.resolve([address], EVERYONE, FERN, WEB)
    except UsageError:
        return
    assert "\0" not in address.text
    assert address.kind != addresses.CHANNEL or "/" not in address.text


@given(
    words=st.lists(st.text("abcdef", min_size=1, max_size=8), max_size=6),
    word=st.text("abcdef", min_size=1, max_size=8),
)
def test_near_matches_are_known_words_and_the_word_itself_comes_first(words: list[str], word: str) -> None:
    found = addresses.near_matches(word, words)
    assert set(found) <= set(words)
    if word in words:
        assert word in found or len(found) == 3
