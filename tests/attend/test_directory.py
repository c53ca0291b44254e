from __future__ import annotations

import pytest

from agent_ways.attend import directory
from agent_ways.base.errors import UsageError
from tests.attend.world import A, B, World


def test_a_live_session_that_never_registered_can_be_named(world: World) -> None:
    world.client(100, A, "/p/x")
    (known,) = directory.known_sessions(world.bus)
    assert (known.key, known.session, known.live, known.project) == (None, A, "alive", "/p/x")
    world.client(200, B, entrypoint="sdk-cli")
    assert len(directory.known_sessions(world.bus)) == 1
    world.send(None, "before it registered", A)
    world.arrive(100)
    assert world.bodies(A) == ["before it registered"]


@pytest.mark.demand("ATT-2")
def test_what_the_client_calls_a_session_names_it_before_and_after_it_registers_and_follows_a_rename(
    world: World,
) -> None:
    """`attend peers` shows a session by that name in the second before it registers."""
    world.client(100, A, "/p/x", name="x-fc")
    world.send(None, "early", "x-fc")
    me = world.arrive(100)
    assert me.name != "x-fc"
    world.send(None, "late", "x-fc")
    world.client(100, A, "/p/x", name="release")
    world.send(None, "later", "Release")
    assert world.bodies(A) == ["early", "late", "later"]
    with pytest.raises(UsageError, match="there is no session x-fc"):
        world.send(None, "gone", "x-fc")
    world.client(200, B, "/p/y", name=me.name)
    world.arrive(200)
    world.send(None, "our own names come first", me.name)
    assert world.bodies(A)[-1] == "our own names come first"
