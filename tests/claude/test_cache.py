from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.claude.cache import CacheEvidence, cache_evidence
from agent_ways.claude.transcript import Row, Rows, tail
from tests.support.transcripts import (
    NOON,
    api_request,
    assistant,
    compact_boundary,
    entry,
    queued,
    tool_result,
    tool_use,
    transcripts,
    typed,
    usage,
    user,
)

pytestmark = pytest.mark.demand("ID-7")
FIXTURES = os.path.join(os.path.dirname(__file__), "fixtures")
BOTH = pytest.mark.parametrize("version", ["2.1.285", "2.1.332"])
S = 1000


def real(version: str, case: str, name: str = "transcript.jsonl") -> Rows:
    rows = tail(os.path.join(FIXTURES, version, case, name))
    assert len(rows) > 1
    return rows


def of(*raws: dict[str, Any]) -> CacheEvidence:
    return cache_evidence([Row(raw, line) for line, raw in enumerate(raws)])


@BOTH
@pytest.mark.parametrize(("case", "tier"), [("typed", "5m"), ("typed-oauth", "1h")])
def test_the_tier_of_the_real_client_follows_its_login(version: str, case: str, tier: str) -> None:
    found = cache_evidence(real(version, case))
    assert (found.tier, found.reason) == (tier, "")
    assert found.last_write_tokens == 200
    assert found.last_read_tokens
    assert found.context_tokens == 10 + found.last_read_tokens + 200


@BOTH
@pytest.mark.parametrize("case", ["typed", "tool-call", "channel-idle", "channel-midturn", "resume", "stop-block"])
def test_the_last_request_of_the_real_client_left_just_before_its_newest_answer(version: str, case: str) -> None:
    rows = real(version, case)
    found = cache_evidence(rows)
    answered = max(row.at or 0 for row in rows if row.type == "assistant")
    assert found.last_request_ms is not None
    assert 0 <= answered - found.last_request_ms < 300
    if version == "2.1.332":
        assert found.last_request_ms == max(row.at or 0 for row in rows if row.type == "api-request")


@BOTH
def test_after_a_compaction_of_the_real_client_nothing_is_known_until_the_next_answer(version: str) -> None:
    rows = real(version, "compact").rows
    compacted = min(
        row.at or 0 for row in rows if row.raw.get("subtype") == "compact_boundary" or "isCompactSummary" in row.raw
    )
    asked_again = max(row.at or 0 for row in rows if row.origin == "human")
    before = cache_evidence(row for row in rows if (row.at or 0) < compacted)
    after = cache_evidence(row for row in rows if (row.at or 0) < asked_again)
    assert before.reason == ""
    assert after == CacheEvidence(reason="the conversation was compacted after its last request")
    assert cache_evidence(rows).reason == ""


@BOTH
def test_a_failed_request_of_the_real_client_refreshes_nothing(version: str) -> None:
    rows = real(version, "api-error").rows
    asked_again = max(row.at or 0 for row in rows if row.origin == "human")
    failed = [row for row in rows if row.at is not None and row.at < asked_again]
    assert any(row.raw.get("isApiErrorMessage") for row in failed)
    assert cache_evidence(failed) == CacheEvidence(reason="no answered request of the main thread is in the transcript")


@BOTH
def test_an_interrupted_request_of_the_real_client_refreshes_nothing(version: str) -> None:
    rows = real(version, "interrupt").rows
    second = next(row.at or 0 for row in rows if "interrupted here" in str(row.raw.get("message")))
    first = cache_evidence(row for row in rows if (row.at or 0) < second)
    assert first.reason == ""
    assert cache_evidence(row for row in rows if (row.at or 0) < second + 3 * S) == first


@BOTH
def test_what_a_subagent_of_the_real_client_asked_is_not_the_sessions_cache(version: str) -> None:
    main = real(version, "subagent").rows
    assert cache_evidence((*main, *real(version, "subagent", "subagent.jsonl").rows)) == cache_evidence(main)
    assert cache_evidence(real(version, "subagent", "subagent.jsonl")).last_request_ms is None


def test_without_request_rows_the_last_entry_before_the_newest_answer_dates_the_request() -> None:
    found = of(
        assistant("msg_2", NOON + 9 * S),
        typed("one", NOON),
        assistant("msg_1", NOON + 2 * S, [tool_use("a")]),
        tool_result("a", NOON + 5 * S),
        entry("system", NOON + 6 * S, subtype="turn_duration"),
        entry("attachment", NOON + 10 * S, attachment={"type": "prompt_snapshot"}),
    )
    assert found.last_request_ms == NOON + 5 * S


def test_a_message_that_came_in_during_an_answer_does_not_date_the_request_by_its_arrival() -> None:
    found = of(
        typed("one", NOON),
        queued("mail", NOON + 3 * S, {"kind": "channel", "server": "agent-ways"}),
        assistant("msg_1", NOON + 9 * S),
    )
    assert found.last_request_ms == NOON


def test_a_request_row_of_the_answer_dates_it_also_when_written_after_and_those_of_others_do_not() -> None:
    found = of(
        typed("one", NOON),
        assistant("msg_1", NOON + 9 * S, requestRef="r1"),
        api_request("r0", NOON + 3 * S),
        api_request("r1", NOON + 2 * S),
        api_request("r9", NOON + 60 * S),
    )
    assert found.last_request_ms == NOON + 2 * S
    asked = (typed("", NOON), assistant("m", NOON + S, requestRef="r"))
    styled = of(*asked, api_request("r", NOON + 7, "repl_main_thread:outputStyle:x"))
    assert styled.last_request_ms == NOON + 7
    subagent = of(*asked, api_request("r", NOON + 7, "agent:custom"))
    assert subagent.last_request_ms == NOON


def test_rows_of_one_message_are_one_answer_dated_by_its_first_and_counted_by_its_fullest() -> None:
    found = of(
        typed("one", NOON),
        assistant("msg_1", NOON + 8 * S, [tool_use("a")], tokens=usage(read=500, write_1h=70, out=900)),
        assistant("msg_1", NOON + 2 * S, tokens=usage(read=500, write_1h=70, out=1)),
        tool_result("b", NOON + 5 * S),
    )
    assert found == CacheEvidence(
        last_request_ms=NOON,
        tier="1h",
        context_tokens=580,
        last_read_tokens=500,
        last_write_tokens=70,
    )


@pytest.mark.parametrize(
    "placeholder",
    [
        assistant("p", NOON + 9 * S, model="<synthetic>"),
        assistant("p", NOON + 9 * S, isApiErrorMessage=True),
        assistant("p", NOON + 9 * S, tokens=usage(fresh=0)),
        assistant("p", NOON + 9 * S, tokens={}),
        assistant("p", NOON + 9 * S, tokens=None),
        assistant("p", NOON + 9 * S, isSidechain=True),
        assistant("", NOON + 9 * S),
        {**assistant("p", NOON + 9 * S), "timestamp": None},
        {**assistant("p", NOON + 9 * S), "message": "text"},
    ],
)
def test_a_placeholder_or_a_subagents_row_is_passed_over(placeholder: dict[str, Any]) -> None:
    real_rows = (typed("one", NOON), assistant("msg_1", NOON + 2 * S, tokens=usage(read=500, write_1h=70)))
    assert of(*real_rows, placeholder) == of(*real_rows)
    assert of(placeholder).last_request_ms is None


@pytest.mark.field_report(46)
@pytest.mark.parametrize(
    ("older", "newer", "requested", "tier"),
    [
        (usage(write_5m=9), usage(write_1h=9), None, "1h"),
        (usage(write_1h=9), usage(write_5m=9), None, "5m"),
        (usage(write_1h=9), usage(read=9), None, "1h"),
        (usage(write_5m=9), usage(write_1h=9, write_5m=1), None, "5m"),
        (usage(write_1h=9), usage(read=9), "5m", "5m"),
        (usage(write_1h=9), usage(write_1h=9), "1h", "1h"),
        (usage(write_5m=9), usage(read=9), "1h", "5m"),
        (usage(read=9), usage(read=9), "1h", None),
        (usage(write_1h=9), usage(read=9), "off", None),
        (usage(write_1h=9), usage(), None, None),
        (usage(write_1h=9), {"cache_creation_input_tokens": 5, "cache_read_input_tokens": 5}, None, None),
        (usage(write_1h=9), usage(write_1h=9), "soon", "1h"),
    ],
)
def test_the_tier_is_that_of_the_newest_write_or_the_shorter_one_or_unknown_with_a_reason(
    older: dict[str, Any], newer: dict[str, Any], requested: str | None, tier: str | None
) -> None:
    more: dict[str, Any] = {} if requested is None else {"promptCacheRequested": requested}
    found = of(
        typed("one", NOON),
        assistant("msg_1", NOON + S, tokens=older),
        typed("two", NOON + 2 * S),
        assistant("msg_2", NOON + 3 * S, tokens=newer, **more),
    )
    assert found.tier == tier
    assert bool(found.reason) == (tier is None)
    assert found.last_request_ms == NOON + 2 * S


@pytest.mark.parametrize(
    "compaction",
    [
        compact_boundary(NOON + 5 * S),
        entry("system", NOON + 5 * S, subtype="microcompact_boundary"),
        user("This session is being continued", NOON + 5 * S, isCompactSummary=True),
        {**compact_boundary(NOON), "timestamp": None},
    ],
)
def test_a_compaction_later_than_the_last_answer_leaves_nothing_known(compaction: dict[str, Any]) -> None:
    first = (typed("one", NOON), assistant("msg_1", NOON + 2 * S))
    assert of(*first, compaction).last_request_ms is None
    assert "compacted" in of(*first, compaction).reason
    later = (*first, compaction, typed("two", NOON + 6 * S), assistant("msg_2", NOON + 7 * S))
    assert of(*later).last_request_ms == NOON + 6 * S


def test_an_answer_whose_question_was_not_read_leaves_its_time_unknown() -> None:
    found = of(assistant("msg_1", NOON))
    assert found.last_request_ms is None
    assert found.reason


@given(raws=transcripts)
def test_rows_of_any_shape_are_judged_and_what_is_not_known_has_a_reason(raws: list[dict[str, Any]]) -> None:
    found = of(*raws)
    assert (found.reason == "") == (found.last_request_ms is not None and found.tier is not None)
    answers = [row.at for raw in raws if (row := Row(raw)).type == "assistant" and not row.side and row.at is not None]
    assert found.last_request_ms is None or found.last_request_ms <= max(answers)


@given(raws=transcripts, order=st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing_that_is_dated(raws: list[dict[str, Any]], order: Any) -> None:
    dated = [Row(raw, line) for line, raw in enumerate(raws) if Row(raw).at is not None]
    mixed = list(dated)
    order.shuffle(mixed)
    assert cache_evidence(mixed) == cache_evidence(dated)
