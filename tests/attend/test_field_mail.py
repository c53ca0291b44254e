"""What was met in the field with mail between sessions, played on the bus with made-up sessions and real processes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import instances, layout
from agent_ways.attend.drain import drain
from agent_ways.claude.identity import identify
from tests.attend.test_flat import put_history
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


@pytest.mark.demand("ATT-6", "ATT-2")
@pytest.mark.field_report(44)
def test_a_session_whose_record_of_ours_was_deleted_while_it_lives_is_reached_and_registered_anew(world: World) -> None:
    before, writer = world.session(100, A), world.session(200, B)
    world.send(writer, "before", A)
    os.unlink(layout.instance(world.bus.root, before.key))
    sent = world.send(writer, "meanwhile", A)
    assert [(one.tray, one.live) for one in sent.recipients] == [(A, "alive")]
    after = world.arrive(100)
    assert after.session == A
    assert [one.session for one in instances.read_all(world.bus) if one.session == A] == [A]
    assert world.bodies(A) == ["before", "meanwhile"]
    assert len(world.claim(after)) == 2


@pytest.mark.demand("ATT-10", "ATT-9")
@pytest.mark.field_report(45)
def test_the_first_drain_before_ten_thousand_old_signals_is_a_count_and_not_a_flood(world: World) -> None:
    put_history(world, 10_000)
    world.client(100, A)
    for number in range(60):
        world.send(None, f"{number} " + "x" * 2000, A)
    found = drain(world.bus, world.identity(100), again=False)
    assert found is not None
    answer = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": found.text}}
    assert len(json.dumps(answer)) < 10_000
    assert 0 < len(found.whole) + len(found.named) <= 10
    assert len(found.whole) + len(found.named) + found.left == 50
    assert f"{found.left} more wait" in found.text
    assert "from before this session are not shown" in found.text


@pytest.mark.demand("ID-2", "ATT-9")
@pytest.mark.field_report(45)
def test_a_drain_of_a_session_that_does_not_resolve_leaves_the_tree_byte_for_byte(world: World) -> None:
    world.session(100, A)
    world.send(None, "hello", A)
    world.table.add(300, parent=1)
    unresolved = identify({"HOME": world.home, "CLAUDE_CODE_SESSION_ID": A}, world.table, 300)
    assert (unresolved.resolved, unresolved.session) == (False, A)
    before = world.tree(but=())
    assert drain(world.bus, unresolved, again=False) is None
    assert world.tree(but=()) == before
