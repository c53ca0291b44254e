from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.claude.idle import Idle, idle, unanswered
from agent_ways.claude.records import SessionRecord, parse
from agent_ways.claude.transcript import Row, Rows, tail
from tests.support.transcripts import (
    NOON,
    SESSION,
    assistant,
    interruption,
    lines,
    tool_result,
    tool_use,
    transcripts,
    typed,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.demand("ID-9")
FIXTURES = os.path.join(os.path.dirname(__file__), "fixtures")
BOTH = pytest.mark.parametrize("version", ["2.1.285", "2.1.332"])


def real(version: str, case: str, name: str = "transcript.jsonl") -> Rows:
    rows = tail(os.path.join(FIXTURES, version, case, name))
    assert len(rows) > 1
    return rows


def real_record(version: str, case: str, name: str) -> SessionRecord:
    with open(os.path.join(FIXTURES, version, case, f"record-{name}.json"), "rb") as file:
        found = parse(file.read(), "/home/person/.claude")
    assert found is not None
    return found


def record(status: str | None = "idle", **more: Any) -> SessionRecord:
    return SessionRecord(pid=1, session=SESSION, config_dir="/home/person/.claude", status=status, **more)


def rows_of(*raws: dict[str, Any]) -> Rows:
    return Rows(tuple(Row(raw, line) for line, raw in enumerate(raws)))


@BOTH
def test_the_real_client_at_rest_is_idle(version: str) -> None:
    found = idle(real_record(version, "typed", "idle"), real(version, "typed"))
    assert found == Idle(True, "the session's record says idle")


@BOTH
def test_the_real_client_at_work_is_not_idle(version: str) -> None:
    found = idle(real_record(version, "tool-call", "busy"), real(version, "tool-call"))
    assert found == Idle(False, "the session is busy")


@BOTH
def test_the_real_client_at_a_permission_prompt_is_not_idle_and_says_for_what_it_waits(version: str) -> None:
    found = idle(real_record(version, "permission-wait", "waiting"), real(version, "permission-wait"))
    assert found == Idle(False, "the session is waiting for: permission prompt")


@pytest.mark.field_report(91)
@BOTH
@pytest.mark.parametrize("case", ["tool-call", "permission-wait"])
def test_between_a_call_of_the_real_client_and_its_result_a_record_that_says_idle_is_not_believed(
    version: str, case: str
) -> None:
    rows = real(version, case).rows
    answers = [row for row in rows if row.type == "assistant"]
    calls = [row for row in answers if row.raw["message"]["content"][0]["type"] == "tool_use"]
    assert calls
    for call in calls:
        at = call.at or 0
        name = call.raw["message"]["content"][0]["name"]
        seen = Rows(tuple(row for row in rows if row.at is not None and row.at <= at))
        assert idle(record(), seen) == Idle(False, f"a tool call has no result yet: {name}")
    assert idle(record(), Rows(rows))


@BOTH
@pytest.mark.parametrize(
    "case", ["typed", "channel-midturn", "inbox-midturn", "interrupt", "compact", "resume", "subagent", "monitor"]
)
def test_no_finished_transcript_of_the_real_client_has_a_call_without_result(version: str, case: str) -> None:
    assert unanswered(real(version, case)) == ""


def test_a_session_without_a_transcript_yet_is_judged_by_its_record() -> None:
    assert idle(record(), None)
    assert idle(record("shell"), Rows(absent=True))
    assert not idle(record("busy"), None)


@pytest.mark.parametrize(
    ("status", "waiting_for", "reason"),
    [
        (None, None, "the session's record names no status"),
        ("", None, "the session's record names no status"),
        ("busy", None, "the session is busy"),
        ("waiting", "dialog open", "the session is waiting for: dialog open"),
        ("waiting", None, "the session is waiting"),
        ("dreaming", None, "the session is dreaming"),
    ],
)
def test_any_other_status_is_not_idle_with_that_reason(
    status: str | None, waiting_for: str | None, reason: str
) -> None:
    assert idle(record(status, waiting_for=waiting_for), rows_of()) == Idle(False, reason)


def test_a_transcript_that_can_not_be_read_leaves_idleness_unproven(tmp_path: Path) -> None:
    found = idle(record(), tail(str(tmp_path)))
    assert not found
    assert str(tmp_path) in found.reason


def test_one_open_call_of_several_is_enough_whatever_the_order_of_lines() -> None:
    rows = [
        tool_result("b", NOON + 3),
        typed("one", NOON),
        assistant("msg_1", NOON + 1, [tool_use("a", "Read")]),
        assistant("msg_1", NOON + 2, [tool_use("b", "Bash"), tool_use("c", "Edit")]),
        tool_result("a", NOON + 4),
    ]
    assert unanswered(rows_of(*rows)) == "Edit"
    assert unanswered(rows_of(*reversed(rows))) == "Edit"
    assert unanswered(rows_of(*rows, tool_result("c", NOON + 5))) == ""


def test_a_call_in_an_earlier_row_of_the_newest_answer_is_open_too() -> None:
    rows = rows_of(
        assistant("msg_1", NOON, [tool_use("a", "Bash")]),
        assistant("msg_1", NOON + 1, [tool_use("b", "Read")]),
        tool_result("b", NOON + 2),
    )
    assert unanswered(rows) == "Bash"


def test_a_call_is_settled_by_an_interruption_or_a_later_answer_and_not_by_a_prompt() -> None:
    call = assistant("msg_1", NOON, [tool_use("a", "Bash")])
    assert unanswered(rows_of(call, typed("a prompt", NOON + 1))) == "Bash"
    assert unanswered(rows_of(interruption(NOON - 1), call)) == "Bash"
    assert unanswered(rows_of(call, interruption(NOON + 1))) == ""
    assert unanswered(rows_of(assistant("msg_2", NOON + 1), call)) == ""


def test_a_call_that_a_killed_client_left_open_does_not_hold_the_one_that_resumed() -> None:
    rows = rows_of(typed("one", NOON), assistant("msg_1", NOON + 1, [tool_use("a", "Bash")]))
    assert not idle(record(started_at=NOON), rows)
    assert idle(record(started_at=NOON + 60_000), rows)


def test_a_subagents_calls_and_results_do_not_matter() -> None:
    main = assistant("msg_1", NOON, [tool_use("a", "Bash")])
    side = assistant("msg_2", NOON + 1, [tool_use("b", "Read")], isSidechain=True)
    assert unanswered(rows_of(side)) == ""
    assert unanswered(rows_of(main, side, tool_result("a", NOON + 2, isSidechain=True))) == "Bash"


@given(raws=transcripts, status=st.sampled_from([None, "", "idle", "shell", "busy", "waiting", "x"]))
def test_idle_needs_both_a_status_at_rest_and_no_open_call(raws: list[dict[str, Any]], status: str | None) -> None:
    rows = rows_of(*raws)
    found = idle(record(status), rows)
    assert found.reason
    assert found.state == (status in {"idle", "shell"} and not unanswered(rows))


@given(raws=transcripts)
def test_a_new_open_call_always_holds_and_its_result_always_frees(
    tmp_path_factory: pytest.TempPathFactory, raws: list[dict[str, Any]]
) -> None:
    late = NOON + 2 * 86_400_000
    path = tmp_path_factory.mktemp("i") / "t.jsonl"
    asked = [*raws, assistant("msg_new", late, [tool_use("toolu_new", "Bash")])]
    path.write_bytes(lines(asked))
    assert not idle(record(), tail(str(path)))
    path.write_bytes(lines([*asked, tool_result("toolu_new", late + 1)]))
    assert idle(record(), tail(str(path)))
