from __future__ import annotations

from agent_ways.attend import directory
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
