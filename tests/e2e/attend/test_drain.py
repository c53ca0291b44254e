"""Where nothing wakes a session, the Stop hook shows what waits at the end of its next turn, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.attend.mail import NO_SOCKET, TOOL, Mail
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.clients import Client
    from tests.e2e.lab import Session


@pytest.fixture(scope="module")
def asleep(client: Client, ways_mcp: str) -> Iterator[tuple[Mail, Session]]:
    """A session without the launch flag whose client binds no inbox socket."""
    with Lab(client) as lab:
        mail = Mail.set_up(lab, ways_mcp)
        session = lab.start(**NO_SOCKET)
        yield mail, session


@pytest.mark.demand("CON-6", "ATT-9")
def test_a_message_to_an_idle_session_waits_and_send_says_that_nothing_wakes_it(asleep: tuple[Mail, Session]) -> None:
    mail, session = asleep
    sent = mail.run("send", "--to", session.id, "--", "for later")
    mail.ids.append(sent["id"])
    assert "nothing wakes" in sent["note"]
    assert [one["state"] for one in sent["recipients"]] == ["queued"]
    assert (mail.state(sent["id"]), mail.shown(sent["id"])) == ("queued", 0)


@pytest.mark.demand("ATT-9", "CON-1")
def test_the_end_of_the_next_turn_shows_it_once(asleep: tuple[Mail, Session]) -> None:
    mail, session = asleep
    (signal,) = mail.ids
    since = len(mail.lab.api.requests)
    session.terminal.type("SAY:first")
    shown = mail.lab.api.wait("the drain", lambda one: one.is_turn and one.mentions(f"[attend signal {signal} "))
    assert shown not in mail.lab.api.requests[: since + 1]
    assert mail.wait_seen(signal) == "hook"
    assert mail.shown(signal) == 1


@pytest.mark.demand("ATT-14")
def test_the_session_was_told_at_its_start_how_it_is_reached(asleep: tuple[Mail, Session]) -> None:
    mail, _ = asleep
    (first, *_) = [one for one in mail.lab.api.requests if one.is_turn]
    assert first.mentions("No conduit of agent-ways wakes this session")
    assert first.mentions("start `attend run` once with the Monitor tool")


@pytest.mark.demand("ATT-9")
def test_more_than_one_round_shows_are_shown_in_the_same_turn_each_once(asleep: tuple[Mail, Session]) -> None:
    mail, session = asleep
    many = [mail.send(session, f"number {number}") for number in range(12)]
    session.terminal.type("SAY:again")
    last = f"[attend signal {many[-1]} "
    mail.lab.api.wait("the last one", lambda one: one.is_turn and one.mentions(last))
    for signal in many:
        assert mail.wait_seen(signal) == "hook"
    assert [mail.shown(signal) for signal in many] == [1] * 12


@pytest.mark.demand("CON-2", "CON-6", "ATT-9")
@pytest.mark.parametrize("policy", ["hold", "refuse"])
def test_where_the_clients_own_setting_keeps_messages_out_nothing_is_pushed_against_it(
    lab: Lab, ways_mcp: str, policy: str
) -> None:
    mail = Mail.set_up(lab, ways_mcp, crossSessionInbound=policy)
    session = lab.start()
    session.say("SAY:here")
    signal = mail.send(session, "held?")
    assert session.call(f"{TOOL}status").value["conduits"]["inbox_socket"]["state"] == "no"
    assert mail.wait_seen(signal) == "hook"
    assert mail.shown(signal) == 1
