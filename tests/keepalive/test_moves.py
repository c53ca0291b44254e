from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.claude.cache import FIVE_MINUTES, HOUR, CacheEvidence
from agent_ways.keepalive.judge import judge
from agent_ways.keepalive.moves import cost, intend, observe, quiet, refused, remember, withdraw
from agent_ways.keepalive.record import COLD, PROVEN, UNKNOWN, WARM, Record
from agent_ways.keepalive.situation import Proof, Trace, age_ms, operator_seen, sighted
from tests.keepalive.values import ARMED, HOURS, MIN, NOON, OTHER, SESSION, attempt, clock, observed, situation

BASE = Record(session=SESSION, operator_ms=NOON - 51 * MIN, operator_line=10, tries=3)
SHOWN = Proof(kind="channel", at_ms=NOON, line=400)


def answer(read: int, write: int, tier: str = HOUR, fresh: int = 10) -> CacheEvidence:
    return CacheEvidence(tier=tier, context_tokens=read + write + fresh, last_read_tokens=read, last_write_tokens=write)


def with_trace(trace: Trace, record: Record) -> Record:
    assert record.ping is not None
    return observed(situation(NOON + 3_000, traces=((record.ping.id, trace),), operator_ms=NOON - 51 * MIN), record)


@pytest.mark.demand("KA-4")
@pytest.mark.parametrize(("read", "verdict"), [(0, COLD), (24_999, COLD), (25_000, WARM), (50_000, WARM)])
def test_half_of_the_earlier_context_must_have_been_read(read: int, verdict: str) -> None:
    found = with_trace(Trace(arrived=True, proof=SHOWN, answer=answer(read, 500)), BASE.but(ping=attempt()))
    assert found.ping is not None
    assert (found.ping.state, found.ping.verdict, found.ping.read_tokens) == (PROVEN, verdict, read)
    assert bool(found.stopped) == (verdict == COLD)
    assert (found.pings, found.tokens) == (1, 10 + read // 10 + 1_000)


@pytest.mark.demand("KA-4")
def test_an_answer_after_a_compaction_says_nothing_about_the_cache() -> None:
    shown = Trace(arrived=True, proof=SHOWN, answer=answer(0, 4_000), compacted=True)
    found = with_trace(shown, BASE.but(ping=attempt()))
    assert found.ping is not None
    assert (found.ping.verdict, found.stopped) == (UNKNOWN, "")


@pytest.mark.demand("KA-4")
def test_a_cold_answer_that_comes_after_the_operator_typed_stops_nothing() -> None:
    record = BASE.but(ping=attempt(operator_ms=NOON - 9 * HOURS))
    found = with_trace(Trace(arrived=True, proof=SHOWN, answer=answer(0, 50_000)), record)
    assert (found.stopped, found.pings, found.tokens) == ("", 0, 0)


@pytest.mark.demand("KA-7")
def test_a_proof_is_counted_once_however_often_it_is_seen() -> None:
    shown = Trace(arrived=True, proof=SHOWN, answer=answer(50_000, 500))
    once = with_trace(shown, BASE.but(ping=attempt()))
    assert with_trace(shown, once) == once


@pytest.mark.demand("KA-7")
def test_a_late_proof_is_believed_over_an_earlier_doubt() -> None:
    for state in ("lost", "untraced", "arrived"):
        found = with_trace(Trace(arrived=True, proof=SHOWN), BASE.but(ping=attempt("ping", state)))
        assert found.ping is not None
        assert (found.ping.state, found.ping.reason) == (PROVEN, "")


@pytest.mark.demand("KA-7")
def test_after_a_boot_the_wait_for_a_trace_is_over() -> None:
    seen = situation(traces=())
    found = observed(seen, BASE.but(wrap=attempt("wrap", boot="before", owner=OTHER)))
    assert found.wrap is not None
    assert found.wrap.state == "lost"


@pytest.mark.demand("KA-3")
def test_while_the_client_is_stopped_and_for_five_seconds_after_no_trace_proves_nothing() -> None:
    pushed = BASE.but(ping=attempt())
    stopped = situation(NOON + 60_000, stopped=True)
    waiting = observed(stopped, pushed)
    assert waiting.ping == pushed.ping
    memory = remember(None, waiting, stopped)
    for after, state in ((61_000, "intent"), (65_999, "intent"), (66_000, "untraced")):
        running = situation(NOON + after)
        found = observe(waiting, running, ARMED, memory)
        assert found.ping is not None
        assert found.ping.state == state
        memory = remember(memory, found, running)


@pytest.mark.demand("KA-7")
def test_without_a_readable_transcript_a_push_is_shown_and_unproven_and_not_tried_again() -> None:
    found = observed(situation(blind=True), BASE.but(ping=attempt("ping", "intent", NOON - 6_000)))
    assert found.ping is not None
    assert (found.ping.state, found.down) == ("lost", ())
    assert "unproven" in found.ping.reason


@pytest.mark.demand("KA-6")
def test_a_later_prompt_opens_everything_anew_and_an_earlier_one_nothing() -> None:
    used = BASE.but(wrap=attempt("wrap", PROVEN), stopped="cold", pings=3, tokens=99, ping=attempt("ping", PROVEN))
    later = observed(situation(operator_ms=NOON - MIN), used)
    assert (later.wrap, later.stopped, later.tries, later.pings, later.tokens) == (None, "", 0, 0, 0)
    assert later.ping is not None
    earlier = observed(situation(operator_ms=NOON - 52 * MIN), used)
    assert (earlier.wrap, earlier.operator_ms) == (used.wrap, used.operator_ms)
    gone = observed(situation(operator_ms=None), used)
    assert (gone.wrap, gone.operator_ms) == (used.wrap, used.operator_ms)


@pytest.mark.demand("ID-8", "KA-9")
def test_a_later_line_is_a_later_act_though_its_time_is_earlier() -> None:
    wrapped = BASE.but(wrap=attempt("wrap", PROVEN))
    early = NOON - 55 * MIN
    later = observed(situation(history_ms=NOON - 51 * MIN, typed_ms=early, typed_line=11), wrapped)
    assert (later.operator_ms, later.wrap, later.passed_ms) == (early, None, NOON - 51 * MIN)
    again = observed(situation(history_ms=NOON - 51 * MIN, typed_ms=early, typed_line=11), later)
    assert again.operator_ms == early
    unseen = observed(situation(history_ms=NOON + HOURS, typed_ms=early, typed_line=11), wrapped)
    for hours in (0, 2):
        caught_up = situation(NOON + hours * HOURS, history_ms=NOON + HOURS, typed_ms=early, typed_line=11)
        assert observed(caught_up, unseen).operator_ms == early
    same = observed(situation(history_ms=None, typed_ms=NOON - 51 * MIN - 3, typed_line=11), wrapped)
    assert (same.operator_ms, same.operator_line, same.wrap) == (NOON - 51 * MIN, 11, wrapped.wrap)
    unknown = observed(situation(history_ms=None, typed_ms=early), wrapped.but(operator_line=-1))
    assert unknown.wrap == wrapped.wrap


@pytest.mark.demand("ID-8", "KA-9")
def test_a_later_line_of_the_same_time_is_a_later_act_once_the_first_has_its_line() -> None:
    """Somebody sets the clock back by just as long as it was since the last prompt, and types."""
    at = NOON - 51 * MIN
    first = observed(situation(history_ms=at, typed_ms=at, typed_line=11), BASE)
    assert (first.operator_line, first.act_line) == (11, 11)
    wrapped = first.but(wrap=attempt("wrap", PROVEN))
    later = observed(situation(at + MIN, history_ms=at, typed_ms=at, typed_line=12), wrapped)
    assert (later.act_line, later.wrap) == (12, None)
    assert later.operator_sight is not None
    assert later.operator_sight.wall_ms == at + MIN


@pytest.mark.demand("ID-8", "KA-9")
def test_the_line_of_an_act_that_the_history_told_of_first_is_no_other_act() -> None:
    at = NOON - MIN
    told = observed(situation(history_ms=at, typed_ms=NOON - 51 * MIN, typed_line=10), BASE)
    assert (told.operator_ms, told.act_line) == (at, None)
    wrapped = told.but(wrap=attempt("wrap", PROVEN))
    lined = observed(situation(history_ms=at, typed_ms=at - 3, typed_line=11), wrapped)
    assert (lined.operator_ms, lined.act_line, lined.wrap) == (at, 11, wrapped.wrap)


@pytest.mark.demand("ID-8", "KA-9")
def test_a_history_of_the_future_that_was_there_at_the_first_look_is_no_prompt_when_the_clock_catches_up() -> None:
    ahead = NOON + 5 * HOURS
    first = observed(situation(history_ms=ahead, typed_ms=NOON - MIN, typed_line=11), Record(session=SESSION))
    assert (first.operator_ms, first.passed_ms) == (NOON - MIN, ahead)
    for hours in (5, 6):
        caught_up = situation(NOON + hours * HOURS, history_ms=ahead, typed_ms=NOON - MIN, typed_line=11)
        assert observed(caught_up, first).operator_ms == NOON - MIN


@pytest.mark.demand("KA-3")
def test_an_intent_that_was_withdrawn_leaves_the_record_as_it_was() -> None:
    seen = situation()
    for before in (BASE, BASE.but(ping=attempt("ping", PROVEN, NOON - HOURS))):
        after = intend(before, "ping", "00000000000000bb", "channel", seen)
        assert after.tries == before.tries + 1
        assert withdraw(after, before, after, "ping") == before
    after = intend(BASE, "wrap", "00000000000000bb", "channel", seen)
    assert withdraw(after, BASE, after, "wrap") == BASE
    other = after.but(wrap=attempt("wrap", PROVEN))
    assert withdraw(other, BASE, after, "wrap") == other


@pytest.mark.demand("KA-3")
def test_what_a_conduit_refused_may_go_by_the_next_and_that_conduit_is_down() -> None:
    after = intend(BASE, "ping", "00000000000000bb", "channel", situation())
    found = refused(after, after, "ping", "nobody listens there")
    assert found.ping is not None
    assert (found.ping.state, [one.conduit for one in found.down]) == ("untraced", ["channel"])
    assert "nobody listens there" in found.ping.reason


@pytest.mark.demand("KA-6")
def test_a_session_is_quiet_from_the_intent_of_its_wrap_to_the_next_prompt() -> None:
    assert not quiet(None, NOON)
    assert not quiet(BASE, NOON)
    for state in ("intent", "arrived", "proven", "lost", "untraced"):
        wrapped = BASE.but(wrap=attempt("wrap", state))
        assert quiet(wrapped, NOON - 51 * MIN)
        assert quiet(wrapped, NOON - 60 * MIN)
        assert quiet(wrapped, None)
        assert not quiet(wrapped, NOON - 51 * MIN + 1)


@pytest.mark.demand("KA-5")
def test_a_request_costs_what_its_tier_says() -> None:
    assert cost(answer(10_000, 0)) == 1_010
    assert cost(answer(0, 10_000)) == 20_010
    assert cost(answer(0, 10_000, FIVE_MINUTES)) == 12_510
    assert cost(CacheEvidence()) == 0


AGES = st.integers(0, 10**10)


@pytest.mark.demand("KA-9")
@given(AGES, AGES, st.integers(-(10**10), 10**10))
def test_no_step_of_the_wall_clock_makes_a_sighted_stamp_younger(before: int, passed: int, step: int) -> None:
    first = clock()
    sight = sighted(None, NOON - before, first)
    later = clock(NOON + passed + step, steady_ms=(first.steady_ms or 0) + passed)
    found = age_ms(NOON - before, sight, later)
    assert found is not None
    assert found >= before + passed


@pytest.mark.demand("KA-9")
def test_a_stamp_of_the_future_has_no_age_and_does_not_get_one_by_waiting() -> None:
    first = clock()
    sight = sighted(None, NOON + HOURS, first)
    assert age_ms(NOON + HOURS, sight, first) is None
    assert age_ms(NOON + HOURS, sight, clock(NOON + 2 * HOURS)) is None
    assert age_ms(NOON + 4_000, None, first) == 0


@pytest.mark.demand("KA-9")
def test_the_window_of_a_prompt_of_the_future_counts_from_when_it_was_seen() -> None:
    typed = NOON + 100 * HOURS
    first = observed(situation(operator_ms=typed))
    assert first.operator_sight is not None
    assert first.operator_sight.age_ms == 0
    for hours, rule in ((7, "last-quarter"), (8, "close")):
        later = situation(NOON + hours * HOURS, operator_ms=typed)
        assert judge(later, observed(later, first), ARMED).rule == rule


@pytest.mark.demand("ID-8", "KA-9")
def test_the_history_of_another_time_is_left_out_where_the_transcript_knows_better() -> None:
    now = clock()
    assert operator_seen(NOON + HOURS, NOON - MIN, now, None) == NOON - MIN
    assert operator_seen(NOON + HOURS, None, now, None) == NOON + HOURS
    assert operator_seen(NOON - HOURS, NOON - MIN, now, None) == NOON - MIN
    assert operator_seen(NOON - MIN, NOON - HOURS, now, None) == NOON - MIN
    assert operator_seen(NOON - MIN, NOON - HOURS, now, NOON - MIN) == NOON - HOURS
    assert operator_seen(None, None, now, None) is None


@pytest.mark.demand("KA-9")
def test_the_sight_of_a_request_survives_what_is_not_known_for_a_moment() -> None:
    seen = observed(situation())
    assert seen.request_sight is not None
    assert seen.request_sight.stamp_ms == NOON - 50 * MIN
    assert observed(situation(cache=CacheEvidence(reason="busy")), seen).request_sight == seen.request_sight
