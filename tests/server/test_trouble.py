"""Trouble with our own files passes: what was asked of the server meanwhile is done when it has (CON-1, KA-3)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import bus as buses
from agent_ways.attend import instances, layout, sending
from agent_ways.server.warmth import FASTER, changed_file
from tests.server.serving import SERVER
from tests.support.fake_client import FLAGGED, FakeClient, Plan
from tests.support.until import until

if TYPE_CHECKING:
    from pathlib import Path

SOON = (
    *SERVER[:-1],
    SERVER[-1].replace(
        "main([])",
        "import agent_ways.server.stdio as stdio\nstdio.QUIET_AFTER_LIST = 0.0\n"
        "import agent_ways.server.inbound as inbound\ninbound.AFTER_TROUBLE = 0.2\n"
        "import agent_ways.server.warmth as warmth\nwarmth.WITHOUT_WATCH = 0.2\nmain([])",
    ),
)
"""The server that opens events at once, and looks again soon after trouble."""


def nothing_failed(client: FakeClient) -> bool:
    """Whether every module lives, after the server has looked at all that came before this."""
    client.ask("ping")
    client.ask("ping")
    found = client.call_tool("ways_status")["structuredContent"]["modules"]
    assert found["failed"] == []
    return "attend" in found["live"]


@pytest.mark.demand("CON-1", "SRV-4")
@pytest.mark.parametrize("folder", ["instances", "whole bus"])
def test_mail_wakes_a_session_whose_bus_could_not_be_written_at_first(folder: str, tmp_path: Path) -> None:
    plan = Plan(server=SOON, argv=FLAGGED, home=str(tmp_path / "home"))
    bus = buses.open_bus({"HOME": plan.home})
    blocked = layout.instances(bus.root) if folder == "instances" else bus.root
    os.makedirs(os.path.dirname(blocked))
    with open(blocked, "w", encoding="utf-8"):
        pass  # a file where a folder belongs
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        client.type("hello")
        client.wait_status("idle")
        assert nothing_failed(client)
        row = {"type": "permission-mode", "permissionMode": "default", "sessionId": client.session_id}
        client.append_transcript(row)
        os.unlink(blocked)
        until(layout.instances(bus.root), lambda: instances.read_all(bus))
        person = sending.human_sender(bus, "me", client.plan.project)
        signal = sending.send(bus, person, None, "still there?", to=[client.session_id]).signal
        client.wait_shown(lambda shown: any(signal.id in text for text in shown.texts), timeout=20)
        assert nothing_failed(client)


@pytest.mark.demand("KA-3", "SRV-4")
@pytest.mark.parametrize("error", ["StateError('the disk is full')", "LockHeldError('held')", "OSError(24, 'files')"])
def test_a_session_is_kept_warm_once_the_record_of_that_can_be_written(error: str, tmp_path: Path) -> None:
    sign = tmp_path / "failed"
    failing = (
        "from agent_ways.base.errors import LockHeldError, StateError\nfrom agent_ways.keepalive.store import Store\n"
        f"change = Store.change\ndef fail(*given):\n    Store.change = change\n    open({str(sign)!r}, 'w').close()\n"
        f"    raise {error}\nStore.change = fail\nmain([])"
    )
    server = (*SOON[:-1], SOON[-1].replace("main([])", failing))
    plan = Plan(server=server, argv=FLAGGED, cache="5m", home=str(tmp_path / "home"), server_env={FASTER: "300"})
    state = tmp_path / "home" / ".local" / "state" / "agent-ways"
    config = tmp_path / "home" / ".config" / "agent-ways"
    for folder in (state, config):
        folder.mkdir(parents=True)
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        (config / "config.toml").write_text('[keepalive]\narmed = true\nwindow = "8h"\n')
        with open(changed_file(str(state)), "w", encoding="utf-8"):
            pass
        client.type("hello")
        client.wait_shown(lambda shown: "keepalive ping" in shown.texts[0], timeout=30)
        assert sign.exists()
        assert nothing_failed(client)
