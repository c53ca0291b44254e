"""What was met in the field with keeping a cache warm, played over the judge."""

from __future__ import annotations

import pytest

from agent_ways.claude.cache import HOUR
from tests.keepalive.simulator import MIN, H, S
from tests.keepalive.test_days import day


@pytest.mark.demand("KA-3", "ID-7")
@pytest.mark.field_report(46)
def test_without_evidence_of_the_tier_nothing_is_pushed_and_the_reason_is_said() -> None:
    world = day()
    world.tier = ""
    world.do(5 * MIN, world.types).run(9 * H)
    assert (world.pushes, world.rule()) == ([], "unknown")
    assert world.answer()
    world.tier = HOUR
    world.types()
    world.run(10 * H)
    assert world.kinds() == ["ping"]


@pytest.mark.demand("KA-3", "KA-4")
@pytest.mark.field_report(47)
def test_a_push_that_starts_no_turn_is_no_refresh_and_is_not_repeated_without_end() -> None:
    world = day()
    world.swallowing = {"channel", "inbox_socket"}
    world.run(20 * H)
    assert len(world.pushes) == 2
    assert world.record.pings == 0
    assert world.record.ping is not None
    assert world.record.ping.state != "proven"


@pytest.mark.demand("KA-9", "KA-3")
@pytest.mark.field_report(53)
def test_a_compaction_of_the_clients_own_near_the_hour_starts_over_and_no_turn_is_pushed_onto() -> None:
    world = day(conduits=())
    world.do(54 * MIN, world.compact).run(54 * MIN)
    world.usable = ("channel",)
    world.run(3 * H)
    assert (world.pushes, world.rule()) == ([], "unknown")
    world.turn_lasts = 55 * MIN  # the simulator raises where a session that is not idle is pushed into
    world.types()
    world.run(3 * H + 54 * MIN)
    assert (world.pushes, world.rule()) == ([], "busy")
    world.turn_lasts = 4 * S
    world.run(3 * H + 58 * MIN)
    assert world.kinds() == ["ping"]
