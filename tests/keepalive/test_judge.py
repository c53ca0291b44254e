from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.claude.cache import FIVE_MINUTES, HOUR, CacheEvidence
from agent_ways.claude.idle import Idle
from agent_ways.keepalive import judge as judging
from agent_ways.keepalive import table
from agent_ways.keepalive.judge import PING, RULES, STOP, WAIT, WRAP, Answer, judge, note
from agent_ways.keepalive.record import Down, Record
from agent_ways.keepalive.situation import Conduits, Settings
from agent_ways.keepalive.words import spell
from tests.keepalive.values import ARMED, HOURS, ME, MIN, NOON, OTHER, SESSION, attempt, cache, observed, situation

if TYPE_CHECKING:
    from agent_ways.base.process import Owner

DOCS = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "explanation", "keepalive.md")


def asked(record: Record | None = None, settings: Settings = ARMED, **found: object) -> Answer:
    seen = situation(**found)  # type: ignore[arg-type]  # by name
    return judge(seen, observed(seen, record, settings), settings)


def of(record: Record | None = None, settings: Settings = ARMED, **found: object) -> tuple[str, str]:
    answer = asked(record, settings, **found)
    return answer.rule, answer.action


PLAIN = Record(session=SESSION, operator_ms=NOON - 51 * MIN, operator_line=10)


@pytest.mark.demand("KA-2")
@pytest.mark.parametrize(
    ("rule", "action", "answer"),
    [
        ("excluded", STOP, lambda: of(excluded="a session of -p or an SDK is never pushed into")),
        ("off", STOP, lambda: of(settings=Settings())),
        ("no-window", STOP, lambda: of(settings=Settings(armed=True, window_ms=0))),
        ("elsewhere", WAIT, lambda: of(elsewhere="the server's channel carries it")),
        ("in-flight", WAIT, lambda: of(PLAIN.but(ping=attempt()))),
        ("never-typed", WAIT, lambda: of(operator_ms=None)),
        ("wrapped", STOP, lambda: of(PLAIN.but(wrap=attempt("wrap", "proven")))),
        ("stopped", STOP, lambda: of(PLAIN.but(stopped="the last ping found the cache cold"))),
        ("no-conduit", WAIT, lambda: of(conduits=Conduits((), "no launch flag"))),
        ("busy", WAIT, lambda: of(idle=Idle(False, "the session is busy"))),
        ("busy", WAIT, lambda: of(stopped=True)),
        ("unknown", WAIT, lambda: of(cache=CacheEvidence(reason="compacted"))),
        ("expired", STOP, lambda: of(cache=cache(60 * MIN))),
        ("close", WRAP, lambda: of(operator_ms=NOON - 8 * HOURS)),
        ("spent", STOP, lambda: of(PLAIN.but(tries=20))),
        ("pinged", WAIT, lambda: of(PLAIN.but(ping=attempt("ping", "proven", NOON - MIN)))),
        ("last-quarter", PING, of),
        ("fresh", WAIT, lambda: of(cache=cache(10 * MIN))),
    ],
)
def test_each_rule_answers_where_it_is_the_first_that_applies(rule: str, action: str, answer: object) -> None:
    assert callable(answer)
    assert answer() == (rule, action)


@pytest.mark.demand("KA-2")
def test_the_rules_of_the_test_above_are_all_there_are() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names)) == 17


@pytest.mark.demand("KA-2")
def test_the_table_in_the_docstring_and_the_documentation_is_drawn_from_the_rules() -> None:
    assert judging.__doc__ is not None
    assert table.plain() in judging.__doc__
    with open(DOCS, encoding="utf-8") as file:
        assert table.markdown() in file.read()


@pytest.mark.demand("KA-3")
@pytest.mark.parametrize("tier", [HOUR, FIVE_MINUTES])
def test_the_last_quarter_begins_and_ends_to_the_millisecond(tier: str) -> None:
    ttl = ARMED.ttl_ms(tier) or 0

    def at(age: int) -> str:
        return of(cache=cache(age, tier=tier))[0]

    assert at(ttl * 3 // 4 - 1) == "fresh"
    assert at(ttl * 3 // 4) == "last-quarter"
    assert at(ttl - 10_001) == "last-quarter"
    assert at(ttl - 10_000) == "expired"


@pytest.mark.demand("KA-3")
@given(st.integers(0, 2 * HOURS), st.sampled_from([HOUR, FIVE_MINUTES]), st.integers(1, 12 * HOURS))
def test_a_wait_ends_where_the_answer_changes_and_not_before(age: int, tier: str, window: int) -> None:
    settings = Settings(armed=True, window_ms=window)
    answer = asked(settings=settings, cache=cache(age, tier=tier), operator_ms=NOON - age)
    if answer.rule == "fresh":
        assert answer.after_ms is not None

        def later(ms: int) -> str:
            then = NOON + ms
            seen = situation(then, cache=cache(age, tier=tier), operator_ms=NOON - age)
            return judge(seen, observed(seen, settings=settings), settings).rule

        assert later(answer.after_ms) in ("last-quarter", "close")
        assert answer.after_ms == 0 or later(answer.after_ms - 1) == "fresh"


@pytest.mark.demand("KA-6")
def test_the_window_closes_at_its_very_millisecond() -> None:
    assert of(operator_ms=NOON - 8 * HOURS + 1)[0] == "last-quarter"
    assert of(operator_ms=NOON - 8 * HOURS)[0] == "close"


@pytest.mark.demand("KA-5")
@pytest.mark.parametrize(("tier", "most"), [(HOUR, 20), (FIVE_MINUTES, 12)])
def test_the_next_ping_must_fit_into_the_limit_of_the_tier(tier: str, most: int) -> None:
    age = (ARMED.ttl_ms(tier) or 0) * 8 // 10
    assert of(PLAIN.but(tries=most - 1), cache=cache(age, tier=tier))[0] == "last-quarter"
    assert of(PLAIN.but(tries=most), cache=cache(age, tier=tier))[0] == "spent"


@pytest.mark.demand("KA-3")
def test_a_conduit_that_was_found_down_by_another_process_is_tried_by_this_one() -> None:
    def chosen(owner: Owner) -> str:
        down = Down(conduit="channel", owner=owner, reason="an event left no trace in 5 s")
        return asked(PLAIN.but(down=(down,))).conduit

    assert (chosen(OTHER), chosen(ME)) == ("channel", "inbox_socket")


@pytest.mark.demand("KA-3")
@pytest.mark.parametrize(("request_after", "rule"), [(-MIN, "pinged"), (0, "pinged"), (1, "last-quarter")])
def test_a_stretch_ends_with_a_request_that_is_newer_than_its_ping(request_after: int, rule: str) -> None:
    ping = attempt("ping", "lost", NOON - 50 * MIN)
    found = of(PLAIN.but(ping=ping), cache=cache(last_request_ms=ping.at_ms + request_after), operator_ms=NOON - HOURS)
    assert found[0] == rule


@pytest.mark.demand("KA-3")
def test_a_second_try_goes_to_the_next_conduit_and_there_is_no_third() -> None:
    once = attempt("ping", "untraced", NOON - 6_000, reason="channel left no trace of it in 5 s")
    answer = asked(PLAIN.but(ping=once))
    assert (answer.action, answer.conduit, answer.event) == (PING, "inbox_socket", once.id)
    twice = once.but(conduits=("channel", "inbox_socket"))
    three = Conduits(("channel", "inbox_socket", "loop"))
    answer = asked(PLAIN.but(ping=twice), conduits=three)
    assert (answer.rule, "left no trace" in answer.reason) == ("pinged", True)
    assert asked(PLAIN.but(ping=once), conduits=Conduits(("channel",))).rule == "pinged"


@pytest.mark.demand("KA-6")
def test_a_second_try_of_the_wrap_does_not_wake_an_expired_cache() -> None:
    failed = attempt("wrap", "untraced", NOON - 6_000, operator_ms=NOON - 8 * HOURS)
    record = PLAIN.but(operator_ms=NOON - 8 * HOURS, wrap=failed)
    assert asked(record, operator_ms=NOON - 8 * HOURS).action == WRAP
    assert asked(record, operator_ms=NOON - 8 * HOURS, cache=cache(HOURS)).rule == "expired"


@pytest.mark.demand("KA-5")
def test_the_five_minute_tier_is_told_of_before_it_surprises() -> None:
    assert "45 min" in note(ARMED, FIVE_MINUTES)
    assert "no wrap" in note(ARMED, FIVE_MINUTES)
    assert note(ARMED, HOUR) == ""
    assert note(ARMED, None) == ""
    assert note(Settings(armed=True, window_ms=40 * MIN), FIVE_MINUTES) == ""


@pytest.mark.demand("KA-9")
@given(st.integers(-(10**14), 10**14), st.integers(-(10**14), 10**14), st.integers(-(10**14), 10**14))
def test_no_clock_and_no_stamp_makes_the_judge_fail(now: int, typed: int, request: int) -> None:
    seen = situation(NOON + now, cache=cache(last_request_ms=NOON + request), operator_ms=NOON + typed)
    answer = judge(seen, observed(seen), ARMED)
    assert answer.reason
    if answer.action == PING:
        assert request <= now + 5_000


def test_durations_are_said_as_a_person_says_them() -> None:
    assert [
        spell(ms) for ms in (-1, 0, 59_999, 45 * MIN, 8 * HOURS, 7 * HOURS + 12 * MIN, 90_000, 10 * 24 * HOURS)
    ] == [
        *("0 s", "0 s", "59 s", "45 min", "8 h", "7 h 12 min", "1 min 30 s", "10 d"),
    ]
    assert spell(24 * HOURS + 30_000) == "1 d"


def test_what_is_pushed_by_this_process_is_awaited_half_as_long_as_what_another_pushed() -> None:
    assert of(PLAIN.but(ping=attempt("ping", "intent", NOON - 6_000)))[0] != "in-flight"
    assert of(PLAIN.but(ping=attempt("ping", "intent", NOON - 6_000, owner=OTHER)))[0] == "in-flight"
    assert of(PLAIN.but(ping=attempt("ping", "intent", NOON - 11_000, owner=OTHER)))[0] != "in-flight"
    assert ME != OTHER
