from __future__ import annotations

import pytest

from agent_ways.attend import aliases, intake
from agent_ways.base.errors import RefusedError, UsageError
from tests.attend.world import A, B, World


@pytest.mark.demand("ATT-2")
def test_an_alias_has_one_holder_survives_restarts_and_keeps_mail_while_unheld(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    assert intake.take_alias(world.bus, one, "@captain") == 0
    with pytest.raises(RefusedError, match="held by"):
        intake.take_alias(world.bus, other, "captain")
    world.send(other, "first", "@captain")
    assert world.bodies(A) == ["first"]
    world.end(100)
    world.send(other, "second", "captain")
    assert world.bodies(A) == ["first"]
    world.session(101, A)
    assert world.bodies(A) == ["first", "second"]
    world.end(101)
    world.send(other, "third", "captain")
    assert intake.take_alias(world.bus, other, "captain") == 3
    assert world.bodies(B) == ["first", "second", "third"]
    assert world.bodies(A) == []
    assert aliases.held_by(world.bus, other.key) == ["captain"]


def test_an_alias_that_was_let_go_stays_known(world: World) -> None:
    one = world.session(100, A)
    intake.take_alias(world.bus, one, "captain")
    assert aliases.drop(world.bus, one, "@Captain")
    assert not aliases.drop(world.bus, one, "captain")
    sent = world.send(None, "later", "@captain")
    assert "kept for who holds it next" in sent.notes[0]


@pytest.mark.demand("ATT-2")
@pytest.mark.parametrize("name", ["", "a b", "operator", "self", "é", "../x", "x" * 65, "-x", "a\n"])
def test_an_alias_that_can_not_be_is_refused_and_nothing_is_written(world: World, name: str) -> None:
    one = world.session(100, A)
    before = world.tree()
    with pytest.raises(UsageError):
        aliases.take(world.bus, one, name)
    assert world.tree() == before


def test_a_session_s_own_name_is_no_alias(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    with pytest.raises(UsageError, match="own name"):
        aliases.take(world.bus, one, other.name)
