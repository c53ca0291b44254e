"""A channel that swallows what is pushed: nothing is called seen, and the next way brings it once.

With the feature's flag off the client shows no dialog, loads no channel and says nothing, whatever the launch flag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.attend.mail import TOOL, Mail
from tests.e2e.lab import CHANNEL_FLAG
from tests.e2e.waiting import until

if TYPE_CHECKING:
    from tests.e2e.lab import Lab


@pytest.mark.demand("CON-1", "CON-2", "SRV-12")
def test_a_push_that_the_client_swallows_is_never_called_seen_and_the_socket_brings_it(lab: Lab, ways_mcp: str) -> None:
    lab.home.seed(channels_feature=False)
    mail = Mail.set_up(lab, ways_mcp)
    session = lab.start(*CHANNEL_FLAG)
    session.say("SAY:here")
    signal = mail.send(session, "do you hear me?")
    until("the push", lambda: mail.state(signal) == "pushed")
    assert mail.shown(signal) == 0
    assert mail.wait_seen(signal) == "peer"
    assert mail.shown(signal) == 1
    told = session.call(f"{TOOL}status").value["conduits"]
    assert told["channel"]["state"] == "no"
    assert "two pushes in a row left no trace" in told["channel"]["reason"]
