"""A client that is killed or ended with a message on its way: resumed, its model is given the message."""

from __future__ import annotations

import os
import signal as signals

import pytest

from tests.e2e.attend.mail import Mail
from tests.e2e.lab import CHANNEL_FLAG, Lab
from tests.e2e.waiting import until

FLAGS = {"channel": CHANNEL_FLAG, "peer": ()}


@pytest.mark.demand("CON-1", "ATT-6")
@pytest.mark.parametrize("kind", FLAGS)
def test_killed_right_after_the_push_nothing_is_lost_and_at_most_one_is_repeated(
    lab: Lab, ways_mcp: str, kind: str
) -> None:
    mail = Mail.set_up(lab, ways_mcp)
    session = lab.start(*FLAGS[kind])
    session.say("SAY:here")
    signal = mail.send(session, "SAY:are you there?")
    lab.api.wait("the push", lambda one: one.is_turn and one.mentions(f"signal {signal} "))
    session.kill(signals.SIGKILL)
    session_id = next(one.session for one in lab.api.requests if one.is_turn)
    kept = any(row["type"] == "user" and signal in str(row.get("message")) for row in lab.home.transcript(session_id))
    assert kept or mail.state(signal) != "seen"
    meanwhile = mail.send(session_id, "sent to the dead")
    resumed = lab.start("--resume", session_id, *FLAGS[kind])
    assert resumed.id == session_id
    mail.wait_seen(signal)
    mail.wait_seen(meanwhile)
    # Given again only where the client had asked the model and its own transcript knew nothing of it yet.
    conversation = "\n".join(resumed.say("SAY:and now").request.texts())
    assert [conversation.count(f"[attend signal {one} ") for one in (signal, meanwhile)] == [1, 1]


@pytest.mark.demand("CON-1", "SRV-8")
@pytest.mark.parametrize("kind", FLAGS)
def test_when_its_server_is_killed_the_end_of_the_next_turn_shows_what_was_not_given(
    lab: Lab, ways_mcp: str, kind: str
) -> None:
    mail = Mail.set_up(lab, ways_mcp)
    session = lab.start(*FLAGS[kind])
    session.say("SAY:here")
    (server,) = session.servers(ways_mcp)
    pushed = mail.send(session, "SAY:given by the server")
    lab.api.wait("the push", lambda one: one.is_turn and one.mentions(f"signal {pushed} "))
    os.kill(server.pid, signals.SIGKILL)
    session.wait_at_rest()
    after = mail.send(session, "sent when it was gone")
    assert mail.state(after) == "queued"
    session.terminal.type("SAY:one more turn")
    lab.api.wait("the drain", lambda one: one.is_turn and one.mentions(f"signal {after} "))
    session.wait_at_rest()
    session.terminal.type("SAY:and one whose end looks for the proof")
    for signal in (pushed, after):
        mail.wait_seen(signal)
        assert mail.shown(signal) == 1


@pytest.mark.demand("CON-1", "ATT-6")
def test_mail_to_an_ended_session_is_kept_and_given_once_when_it_is_resumed(lab: Lab, ways_mcp: str) -> None:
    mail = Mail.set_up(lab, ways_mcp)
    session = lab.start()
    session.say("SAY:here")
    name = session.id
    session.exit()
    sent = mail.run("send", "--to", name, "--", "while you were away")
    assert sent["recipients"][0]["state"] == "no live session; kept"
    resumed = lab.start("--resume", name)
    assert resumed.id == name
    assert mail.wait_seen(sent["id"]) in ("peer", "hook")
    assert mail.shown(sent["id"]) == 1


@pytest.mark.demand("CON-1", "ATT-6")
def test_in_a_session_that_takes_up_another_conversation_mail_follows_the_conversation(lab: Lab, ways_mcp: str) -> None:
    mail = Mail.set_up(lab, ways_mcp)
    session = lab.start()
    session.say("SAY:the first talk")
    first = session.id
    session.clear()
    session.say("SAY:the second talk")
    second = session.id
    session.terminal.type(f"/resume {first}")
    until("the first conversation again", lambda: session.id == first, instead=session.terminal.screen)
    session.wait_at_rest()
    signal = mail.send(first, "to the first talk")
    mail.wait_seen(signal)
    assert mail.shown(signal) == 1
    assert second != first
