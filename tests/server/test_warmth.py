"""Keepalive in the server: armed it pings and wraps, unarmed it does nothing (KA-1 to KA-8). Times scaled down."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import sending
from agent_ways.attend.bus import open_bus
from agent_ways.server.warmth import FASTER, changed_file
from tests.server.serving import SERVER
from tests.support.fake_client import FLAGGED, FakeClient, Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FAST = {FASTER: "300"}
"""An hour's cache lives 12 s, a five-minute one 1 s."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Callable[..., FakeClient]]:
    opened: list[FakeClient] = []

    def make(**plan: Any) -> FakeClient:
        client = FakeClient(tmp_path, Plan(server=SERVER, server_env=FAST, **plan))
        opened.append(client)
        client.wait_handshake()
        return client

    yield make
    for client in opened:
        client.close()


def arm(client: FakeClient, window: str = "8h", armed: str = "true") -> None:
    """Write the config as `ways keepalive on` does, and tell running servers."""
    folder = os.path.join(client.plan.home, ".config", "agent-ways")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.toml"), "w", encoding="utf-8") as file:
        file.write(f'[keepalive]\narmed = {armed}\nwindow = "{window}"\n')
    state = os.path.join(client.plan.home, ".local", "state", "agent-ways")
    os.makedirs(state, exist_ok=True)
    with open(changed_file(state), "w", encoding="utf-8"):
        pass


def status(client: FakeClient) -> dict[str, Any]:
    result = client.call_tool("keepalive_status")
    assert result["isError"] is False, result
    found: dict[str, Any] = result["structuredContent"]
    return found


def keepalive_events(client: FakeClient) -> list[str]:
    return [one.kind for one in client.shown if any("[agent-ways keepalive " in text for text in one.texts)]


@pytest.mark.demand("KA-3", "KA-4")
@pytest.mark.parametrize(("argv", "kind"), [(FLAGGED, "channel"), (("claude",), "peer")])
def test_an_armed_idle_session_is_pinged_before_its_cache_expires(
    session: Callable[..., FakeClient], argv: tuple[str, ...], kind: str
) -> None:
    client = session(argv=argv, cache="1h")
    arm(client)
    client.type("hello")
    client.wait_status("idle")
    woken = client.wait_shown(lambda shown: "keepalive ping" in shown.texts[0], timeout=30)
    assert woken.kind == kind
    assert "one word ok" in woken.texts[0]
    client.wait_status("idle", count=2)
    found = status(client)
    assert found["armed"] is True
    assert found["pings"]["sent"] == 1
    assert found["cache"]["tier"] == "1h"
    assert found["conduit"]["name"] == ("channel" if kind == "channel" else "inbox_socket")


@pytest.mark.demand("KA-1")
def test_unarmed_nothing_is_sent_and_nothing_recorded(session: Callable[..., FakeClient]) -> None:
    client = session(argv=FLAGGED, cache="5m")
    client.type("hello")
    client.wait_status("idle")
    found = status(client)
    assert found["armed"] is False
    assert found["next"]["action"] == "stop"
    assert found["cache"]["tier"] == "5m"
    assert keepalive_events(client) == []
    assert not os.path.exists(os.path.join(client.plan.home, ".local", "state", "agent-ways", "keepalive"))


@pytest.mark.demand("KA-1")
def test_arming_takes_effect_in_a_running_session_and_so_does_disarming(session: Callable[..., FakeClient]) -> None:
    client = session(argv=FLAGGED, cache="1h")
    client.type("hello")
    client.wait_status("idle")
    assert status(client)["armed"] is False
    arm(client)
    client.wait_shown(lambda shown: "keepalive ping" in shown.texts[0], timeout=30)
    arm(client, armed="false")
    assert status(client)["armed"] is False
    assert status(client)["next"]["action"] == "stop"


@pytest.mark.demand("KA-6", "KA-7", "KA-8")
def test_a_closed_window_brings_one_wrap_and_then_quiet_until_the_operator_types(
    session: Callable[..., FakeClient],
) -> None:
    client = session(argv=FLAGGED, cache="1h")
    arm(client, window="4s")
    client.type("hello")
    client.wait_status("idle")
    woken = client.wait_shown(lambda shown: "keepalive wrap" in shown.texts[0], timeout=30)
    assert "attend_send" in woken.texts[0]
    client.wait_status("idle", count=2)
    end = client.start_server()
    client.wait_event("channel_open", lambda event: event["key"] == end)
    found = status(client)
    assert found["quiet"] is True
    assert found["next"]["action"] == "stop"

    bus = open_bus({"HOME": client.plan.home})
    person = sending.human_sender(bus, "me", client.plan.project)
    signal = sending.send(bus, person, None, "not now", to=[client.session_id]).signal
    client.ask("ping")
    assert [one for one in client.shown if signal.id in one.texts[0]] == []
    client.type("back again")
    client.wait_shown(lambda shown: any(signal.id in text for text in shown.texts))
    assert status(client)["quiet"] is False
    wraps = [one for one in client.shown if any("keepalive wrap" in text for text in one.texts)]
    assert len(wraps) == 1


@pytest.mark.demand("KA-1")
@pytest.mark.parametrize("text", ["[keepalive]\narmed = 5\n", "nonsense [", ""])
def test_a_config_that_makes_no_sense_is_named_and_arms_nothing(session: Callable[..., FakeClient], text: str) -> None:
    client = session()
    arm(client)
    with open(os.path.join(client.plan.home, ".config", "agent-ways", "config.toml"), "w", encoding="utf-8") as file:
        file.write(text)
    found = status(client)
    assert found["armed"] is False
    assert bool(found["notes"]) is bool(text)
    assert json.dumps(found)
