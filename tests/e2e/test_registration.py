"""The product in the hands of `claude mcp`: registered, checked, and not mistaken for a session's server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.clients import Client


@pytest.fixture(scope="module")
def registered(client: Client, ways_mcp: str) -> Iterator[Lab]:
    with Lab(client) as lab:
        lab.register(ways_mcp)
        yield lab


@pytest.mark.demand("LIFE-5")
def test_the_clients_own_command_stores_the_server_as_it_was_given(registered: Lab, ways_mcp: str) -> None:
    assert registered.home.registered() == {"agent-ways": {"type": "stdio", "command": ways_mcp, "args": []}}


@pytest.mark.demand("SRV-2", "SRV-11")
@pytest.mark.parametrize("check", [["mcp", "list"], ["mcp", "get", "agent-ways"]], ids=" ".join)
def test_a_health_check_connects_and_leaves_nothing_behind(registered: Lab, check: list[str]) -> None:
    done = registered.claude(*check)
    assert "Connected" in done.stdout
    assert not os.path.exists(registered.home.state_dir)


@pytest.mark.demand("LIFE-5")
def test_the_clients_own_command_takes_it_away_again(registered: Lab) -> None:
    with Lab(registered.client) as other:
        other.register("/nowhere/ways-mcp")
        done = other.claude("mcp", "remove", "agent-ways", "--scope", "user")
        assert done.returncode == 0
        assert other.home.registered() == {}
