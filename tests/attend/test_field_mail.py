"""What was met in the field with mail between sessions, played on the bus with made-up sessions and real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attend.world import A, B

if TYPE_CHECKING:
    from tests.attend.world import World


@pytest.mark.demand("ATT-6", "ATT-2")
@pytest.mark.field_report(5)
def test_mail_that_waits_for_a_session_outlives_its_process_and_is_there_once_it_is_resumed(world: World) -> None:
    before, writer = world.session(100, A), world.session(200, B)
    world.send(writer, "while it lives", A)
    world.end(100)
    world.send(writer, "while it is gone", A)
    world.end(200)
    assert world.bodies(A) == ["while it lives", "while it is gone"]
    after = world.session(101, A)
    assert after.key == before.key
    assert world.bodies(A) == ["while it lives", "while it is gone"]
    assert len(world.claim(after)) == 2
