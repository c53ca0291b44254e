"""Two sessions that answer whatever comes do not go on for ever."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.attend.mail import TOOL, Mail
from tests.e2e.waiting import until

if TYPE_CHECKING:
    from tests.e2e.lab import Lab

MANY = 10
"""Messages of one session after which it is paced (CON-4)."""


@pytest.mark.demand("CON-4")
def test_after_ten_exchanges_without_an_operator_they_are_paced_and_told_why(lab: Lab, ways_mcp: str) -> None:
    mail = Mail.set_up(lab, ways_mcp, drain=False)
    other = lab.home.add_project("other")
    one = lab.launch()
    two = lab.start(project=other)
    one.wait_connected()
    for session in (one, two):
        session.say("SAY:here")
    lab.api.habits["[attend signal "] = f"CALL:{TOOL}reply:{json.dumps({'body': 'and you?'})}"
    one.terminal.type(f"CALL:{TOOL}send:{json.dumps({'to': [two.id], 'body': 'how are you?'})}")
    lab.api.wait("the note", lambda request: request.is_turn and request.mentions("at most once a minute"))
    # The session that is told so answers once more; the other one may get there too. Then it is quiet.
    for session in (one, two):
        session.wait_at_rest()
    until("a message that waits", lambda: _waiting(mail))
    sent = mail.run("search", "--limit", "200", "--", "you?")["total"]
    assert 2 * MANY <= sent <= 2 * MANY + 4


def _waiting(mail: Mail) -> list[str]:
    return [peer["session"] for peer in mail.run("peers")["peers"] if peer["unseen"]]
