"""Whole days, played over the judge: what a person gets from keepalive."""

from __future__ import annotations

import pytest

from agent_ways.claude.cache import FIVE_MINUTES
from agent_ways.keepalive.situation import Settings
from tests.keepalive.simulator import EPOCH, MIN, H, S, World


def day(**more: object) -> World:
    """A session in which the operator typed once, at true time 10 s."""
    world = World(**more)  # type: ignore[arg-type]  # keywords of World
    return world.do(10 * S, world.types)


@pytest.mark.demand("KA-3", "KA-6")
def test_an_armed_idle_session_is_pinged_each_last_quarter_and_wrapped_once_after_eight_hours() -> None:
    world = day().run(30 * H)
    assert world.kinds() == ["ping"] * 10 + ["wrap"]
    times = [at for at, _, _ in world.delivered]
    gaps = [later - earlier for earlier, later in zip([10 * S, *times], times, strict=False)]
    assert all(45 * MIN <= gap <= 46 * MIN for gap in gaps[:10])
    assert 0 <= times[-1] - 10 * S - 8 * H < MIN
    assert world.record.pings == 10
    assert world.rule() == "wrapped"


@pytest.mark.demand("KA-1")
def test_unarmed_nothing_is_looked_at_pushed_or_written() -> None:
    world = day(settings=Settings()).run(30 * H)
    assert (world.pushes, world.records, world.rule()) == ([], {}, "off")


@pytest.mark.demand("KA-1")
def test_arming_and_disarming_take_effect_in_a_running_session() -> None:
    world = day(settings=Settings())

    def arm(armed: bool) -> None:
        world.settings = Settings(armed=armed)

    world.do(20 * MIN, lambda: arm(True)).do(60 * MIN, lambda: arm(False)).run(9 * H)
    assert world.kinds() == ["ping"]
    assert world.record.armed is False


@pytest.mark.demand("KA-7")
def test_without_a_conduit_nothing_is_recorded_so_a_relaunch_still_has_its_wrap() -> None:
    world = day(conduits=())
    world.run(7 * H + 50 * MIN)
    assert (world.records, world.rule()) == ({}, "no-conduit")
    world.gets_mail()  # something else keeps it warm
    world.usable = ("channel",)
    world.restart()
    world.run(9 * H)
    assert world.kinds() == ["wrap"]


@pytest.mark.demand("KA-6")
def test_an_expired_cache_is_never_woken_and_the_answer_says_why_there_was_no_wrap() -> None:
    world = day(conduits=()).run(7 * H)
    world.usable = ("channel",)
    world.run(9 * H)
    assert (world.pushes, world.rule()) == ([], "expired")
    assert "no wrap is sent" in world.answer()


@pytest.mark.demand("KA-5")
def test_on_the_five_minute_tier_pings_end_after_about_45_minutes_and_there_is_no_wrap() -> None:
    world = day(tier=FIVE_MINUTES).run(50 * MIN)
    assert world.rule() == "spent"
    world.run(30 * H)
    assert world.kinds() == ["ping"] * 12
    assert 44 * MIN < world.delivered[-1][0] < 58 * MIN
    assert world.rule() == "expired"


@pytest.mark.demand("KA-5")
@pytest.mark.parametrize("limit", [0, 99, 100, 350, 2000])
def test_the_spend_limit_is_the_operators(limit: int) -> None:
    settings = Settings(armed=True, window_ms=90 * 24 * H, limit_hour=limit)
    assert day(settings=settings).run(40 * H).kinds() == ["ping"] * (limit // 100)


@pytest.mark.demand("KA-9")
@pytest.mark.field_report(55)
@pytest.mark.parametrize("window", [0, -1, -8 * H])
def test_a_window_without_a_length_is_never_open(window: int) -> None:
    world = day(settings=Settings(armed=True, window_ms=window)).run(9 * H)
    assert (world.pushes, world.rule()) == ([], "no-window")


@pytest.mark.demand("KA-9", "KA-5")
@pytest.mark.field_report(55)
def test_a_window_of_ten_years_ends_by_the_spend_limit() -> None:
    world = day(settings=Settings(armed=True, window_ms=3650 * 24 * H)).run(60 * H)
    assert world.kinds() == ["ping"] * 20


@pytest.mark.demand("KA-6")
@pytest.mark.field_report(55)
@pytest.mark.parametrize("offset", [-1, 0, 1, 30 * S])
def test_a_prompt_at_the_very_moment_the_window_closes_decides_by_who_is_first(offset: int) -> None:
    world = day()
    world.do(10 * S + 8 * H + offset, world.types).run(24 * H)
    wraps = [at for at, kind, _ in world.delivered if kind == "wrap"]
    assert len(wraps) in (1, 2)
    assert wraps[-1] >= 16 * H + offset
    assert len(wraps) == 1 or wraps[0] - (10 * S + 8 * H) <= offset


@pytest.mark.demand("KA-6")
@pytest.mark.field_report(55)
def test_a_prompt_typed_while_the_wrap_is_in_flight_opens_a_window_of_its_own() -> None:
    world = day().run(8 * H + 5 * S)
    while "wrap" not in world.kinds():
        world.run(world.true + 100)
    world.types()
    wrapped = world.true
    world.run(wrapped + 8 * H - MIN)
    assert world.kinds().count("wrap") == 1
    assert world.record.wrap is None
    world.run(wrapped + 9 * H)
    assert world.kinds().count("wrap") == 2


@pytest.mark.demand("KA-6", "ID-8")
def test_the_same_prompt_twice_in_a_row_still_moves_the_window() -> None:
    world = day()
    world.do(6 * H, lambda: world.types(same=True)).run(30 * H)
    assert 14 * H <= world.delivered[-1][0] < 14 * H + 2 * MIN
    assert world.kinds().count("wrap") == 1


@pytest.mark.demand("KA-6")
def test_after_the_wrap_mail_is_held_until_the_operator_types() -> None:
    world = day()
    for hour in range(1, 20):
        world.do(hour * H + 5 * MIN, world.gets_mail)
    world.do(15 * H, world.types).run(20 * H)
    given = {at // H: given for at, given in world.mail}
    assert all(given[hour] for hour in range(1, 8))
    assert not any(given[hour] for hour in range(9, 15))
    assert all(given[hour] for hour in range(15, 20))


@pytest.mark.demand("KA-4")
def test_a_cold_answer_stops_it_until_the_operator_types() -> None:
    world = day()
    world.run(30 * MIN)
    world.cache_lost = True
    world.run(46 * MIN)
    world.cache_lost = False
    world.run(6 * H)
    assert (world.kinds(), world.rule()) == (["ping"], "stopped")
    assert "cold" in world.answer()
    world.do(6 * H, world.types).run(7 * H)
    assert world.kinds() == ["ping", "ping"]


@pytest.mark.demand("KA-3")
def test_an_event_that_a_conduit_swallows_is_tried_once_on_the_next_and_that_conduit_is_left_alone() -> None:
    world = day()
    world.swallowing = {"channel"}
    world.run(9 * H)
    assert [conduit for _, _, conduit in world.pushes] == ["channel"] + ["inbox_socket"] * 11
    assert world.pushes[1][0] - world.pushes[0][0] < 8 * S
    assert world.kinds() == ["ping"] * 10 + ["wrap"]


@pytest.mark.demand("KA-3")
@pytest.mark.field_report(47)
def test_where_no_conduit_delivers_there_are_two_tries_and_then_quiet_with_the_reason() -> None:
    world = day()
    world.swallowing = {"channel", "inbox_socket"}
    world.run(50 * MIN)
    assert [conduit for _, _, conduit in world.pushes] == ["channel", "inbox_socket"]
    assert "left no trace" in world.answer()
    world.run(20 * H)
    assert len(world.pushes) == 2


@pytest.mark.demand("KA-3")
def test_a_conduit_that_takes_nothing_is_passed_over_at_once() -> None:
    world = day()
    world.refusing = {"channel"}
    world.run(47 * MIN)
    assert [conduit for _, _, conduit in world.pushes] == ["channel", "inbox_socket"]
    assert world.pushes[1][0] - world.pushes[0][0] < S


@pytest.mark.demand("KA-6", "KA-7")
def test_a_wrap_that_a_conduit_swallows_is_given_once_by_the_next() -> None:
    world = day().run(7 * H + 59 * MIN)
    world.swallowing = {"channel"}
    world.run(20 * H)
    assert [(kind, conduit) for _, kind, conduit in world.pushes[-2:]] == [
        ("wrap", "channel"),
        ("wrap", "inbox_socket"),
    ]
    assert world.kinds().count("wrap") == 1


@pytest.mark.demand("KA-7")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_between_the_intent_and_the_trace_never_sends_the_wrap_twice(when: str) -> None:
    world = day().run(7 * H + 59 * MIN)
    world.crash_next = when
    world.run(20 * H)
    assert world.crashed
    assert world.kinds().count("wrap") == (1 if when == "after" else 0)
    assert world.record.wrap is not None
    assert world.record.wrap.state == ("proven" if when == "after" else "lost")
    assert world.rule() == "wrapped"
    if when == "before":
        assert "not known" in world.answer()
    world.types()
    world.run(40 * H)
    assert world.kinds().count("wrap") == (2 if when == "after" else 1)


@pytest.mark.demand("KA-3")
@pytest.mark.field_report(91)
def test_an_open_dialog_is_never_pushed_at_and_the_wrap_waits_for_its_end() -> None:
    world = day().run(8 * H - 2 * MIN)
    world.dialog = True
    world.run(8 * H + 20 * MIN)
    assert world.rule() == "busy"
    world.dialog = False
    world.run(9 * H)
    assert world.kinds().count("wrap") == 1


@pytest.mark.demand("KA-3")
def test_a_client_that_is_stopped_as_the_push_arrives_is_not_taken_for_a_conduit_that_failed() -> None:
    world = day().run(30 * MIN)
    world.stops_at_push = True
    world.run(52 * MIN)
    assert (world.stopped, world.rule(), len(world.pushes)) == (True, "in-flight", 1)
    world.continues()
    world.run(3 * H)
    assert {conduit for _, _, conduit in world.pushes} == {"channel"}
    assert world.record.pings == len(world.pushes) == 3


@pytest.mark.demand("KA-4")
def test_an_answer_that_never_comes_spends_the_stretchs_ping() -> None:
    world = day().run(30 * MIN)
    world.api_down = True
    world.run(6 * H)
    assert world.kinds() == ["ping"]
    assert world.rule() == "expired"


@pytest.mark.demand("KA-9")
@pytest.mark.field_report(52)
def test_a_night_asleep_is_an_expired_cache_not_a_burst_of_pings() -> None:
    world = day()
    world.do(40 * MIN, lambda: world.suspend(3 * H)).run(12 * H)
    assert (world.pushes, world.rule()) == ([], "expired")


@pytest.mark.demand("KA-9")
@pytest.mark.field_report(52)
def test_where_no_clock_counts_sleep_a_jump_of_the_wall_clock_is_taken_for_sleep() -> None:
    world = day()
    world.steady_known = False
    world.do(40 * MIN, lambda: world.step_clock(3 * H)).run(12 * H)
    assert world.pushes == []


@pytest.mark.demand("KA-9")
@pytest.mark.parametrize("back", [-2 * MIN, -30 * MIN, -5 * H, -400 * 24 * H])
@pytest.mark.parametrize("at", [S, 10 * S + 500, 20 * MIN, 44 * MIN, 50 * MIN])
def test_a_wall_clock_that_is_set_back_changes_no_push_by_more_than_a_tick(back: int, at: int) -> None:
    plain = day().run(20 * H).delivered
    world = day()
    world.do(at, lambda: world.step_clock(back)).run(20 * H)
    assert world.kinds() == [kind for _, kind, _ in plain]
    assert all(abs(a - b) <= MIN for (a, _, _), (b, _, _) in zip(world.delivered, plain, strict=True))


@pytest.mark.demand("KA-9")
def test_a_request_that_left_before_the_clock_was_set_back_in_its_own_turn_is_as_old_as_it_is() -> None:
    world = day(tier=FIVE_MINUTES).run(MIN)
    world.turn_lasts = 2 * MIN
    world.types()
    world.step_clock(-2 * MIN)
    world.turn_lasts = 4 * S
    world.run(10 * MIN)  # the simulator raises where an expired cache is woken
    assert world.delivered
    assert world.delivered[0][0] - MIN < 5 * MIN


@pytest.mark.demand("KA-9")
def test_a_clock_that_is_put_right_after_a_virtual_machine_was_paused_counts_as_time_that_passed() -> None:
    world = day()
    world.do(40 * MIN, lambda: world.step_clock(3 * H)).run(12 * H)
    assert (world.pushes, world.rule()) == ([], "expired")


@pytest.mark.demand("KA-3", "KA-9")
def test_a_ping_without_an_answer_is_the_stretchs_only_one_also_where_the_clock_was_set_back() -> None:
    world = day().run(MIN)
    world.step_clock(-46 * MIN)
    world.api_down = True
    world.run(2 * H)
    assert world.kinds() == ["ping"]


@pytest.mark.demand("KA-9", "ID-8")
def test_a_prompt_typed_after_the_clock_was_set_back_a_little_opens_its_own_window() -> None:
    world = day().run(MIN)
    world.step_clock(-2 * MIN)
    world.run(2 * MIN)
    world.types()
    world.run(20 * H)
    assert 2 * MIN <= world.delivered[-1][0] - 8 * H < 4 * MIN
    assert world.kinds().count("wrap") == 1


@pytest.mark.demand("KA-9")
def test_a_clock_set_back_and_a_restart_do_not_make_an_old_cache_look_young() -> None:
    world = day().run(20 * MIN)
    world.step_clock(-15 * MIN)
    world.restart()
    world.run(H)
    assert [at // MIN for at, _, _ in world.delivered] == [45]


@pytest.mark.demand("KA-9", "ID-8")
def test_a_prompt_of_the_future_does_not_silence_a_session_for_ever() -> None:
    world = World()
    world.step_clock(10 * 365 * 24 * H)
    world.do(10 * S, world.types)
    world.do(60 * S, lambda: world.step_clock(-10 * 365 * 24 * H)).run(8 * H + 2 * MIN)
    assert world.kinds().count("wrap") == 1
    world.types()
    world.run(10 * H)
    assert world.record.operator_ms == EPOCH + 8 * H + 2 * MIN
    assert "ping" in world.kinds()[world.kinds().index("wrap") :]


@pytest.mark.demand("KA-9")
def test_a_machine_whose_clock_is_before_2020_is_served_all_the_same() -> None:
    world = World()
    world.step_clock(-EPOCH + 40 * 24 * H)
    world.do(10 * S, world.types).run(20 * H)
    assert world.kinds() == ["ping"] * 10 + ["wrap"]


@pytest.mark.demand("KA-9", "KA-7")
@pytest.mark.field_report(49)
def test_a_restart_at_any_minute_of_the_window_changes_no_push_by_more_than_a_tick() -> None:
    plain = day(leap=True).run(10 * H).delivered
    assert len(plain) == 11
    for minute in range(8 * 60 + 2):
        world = day(leap=True)
        world.do(minute * MIN + 7 * S, world.restart).run(10 * H)
        assert world.kinds() == [kind for _, kind, _ in plain], minute
        assert all(abs(a - b) <= MIN for (a, _, _), (b, _, _) in zip(world.delivered, plain, strict=True)), minute


@pytest.mark.demand("KA-9", "KA-7")
@pytest.mark.field_report(49)
def test_a_restart_every_minute_changes_no_push_by_more_than_a_tick() -> None:
    plain = day().run(10 * H).delivered
    world = day()
    for minute in range(1, 600):
        world.do(minute * MIN, world.restart)
    world.run(10 * H)
    assert world.kinds() == [kind for _, kind, _ in plain]


@pytest.mark.demand("KA-7")
def test_two_servers_of_one_session_push_each_event_once() -> None:
    world = day()
    world.do(3 * S, world.start_server).do(4 * H, world.start_server).run(20 * H)
    assert world.kinds() == ["ping"] * 10 + ["wrap"]


@pytest.mark.demand("KA-9")
@pytest.mark.field_report(38)
def test_clear_begins_anew_and_nothing_is_sent_before_the_next_prompt() -> None:
    world = day()
    world.do(3 * H, world.clear).run(12 * H)
    assert set(world.kinds()) == {"ping"}
    assert all(at < 3 * H for at, _, _ in world.delivered)
    world.types()
    world.run(22 * H)
    assert world.kinds().count("wrap") == 1


@pytest.mark.demand("KA-9")
@pytest.mark.field_report(53)
def test_after_a_compaction_the_cache_is_not_known_until_the_next_turn() -> None:
    world = day()
    world.do(44 * MIN, world.compact).run(4 * H)
    assert (world.pushes, world.rule()) == ([], "unknown")


@pytest.mark.demand("KA-9")
@pytest.mark.field_report(46)
def test_a_switch_of_the_tier_is_followed_from_the_next_write_on() -> None:
    world = day().run(50 * MIN)
    world.tier = FIVE_MINUTES
    world.types()
    world.run(57 * MIN)
    assert [at // MIN for at, _, _ in world.delivered] == [45, 53]


@pytest.mark.demand("KA-2")
def test_a_session_at_rest_is_looked_at_once_a_minute_and_written_a_few_times_a_day() -> None:
    world = day().run(10 * H)
    assert world.saves <= 3 * len(world.delivered) + 5
