from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.claude.prompts import history_ms, in_history, in_transcript, is_interruption, last_prompt_ms, newest
from agent_ways.claude.transcript import Row, Rows, tail
from tests.support.transcripts import (
    NOON,
    SESSION,
    assistant,
    channel_event,
    entry,
    history_row,
    hook_context,
    interruption,
    json_values,
    junk_lines,
    lines,
    notification,
    peer_message,
    queued,
    stop_feedback,
    texts,
    tool_result,
    transcripts,
    typed,
    user,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.demand("ID-8")
FIXTURES = os.path.join(os.path.dirname(__file__), "fixtures")
BOTH = pytest.mark.parametrize("version", ["2.1.285", "2.1.332"])
OTHER = "00000000-0000-4000-8000-00000000ffff"


def real(version: str, case: str, name: str = "transcript.jsonl") -> Rows:
    rows = tail(os.path.join(FIXTURES, version, case, name))
    assert len(rows) > 1
    return rows


def session_of(rows: Rows) -> str:
    return str(next(row.raw["sessionId"] for row in rows if row.type == "user"))


def of(*raws: dict[str, Any]) -> int | None:
    return in_transcript([Row(raw) for raw in raws])


def history(folder: Path, data: bytes) -> str:
    (folder / "history.jsonl").write_bytes(data)
    return str(folder)


@BOTH
@pytest.mark.parametrize("case", ["typed", "tool-call", "resume", "compact", "interrupt"])
def test_history_and_transcript_of_the_real_client_agree_on_the_last_prompt(version: str, case: str) -> None:
    rows = real(version, case)
    told = history_ms(os.path.join(FIXTURES, version, case), session_of(rows))
    shown = in_transcript(rows)
    assert told is not None
    assert shown is not None
    assert abs(told - shown) < 50
    assert last_prompt_ms(told, rows) == max(told, shown)


@BOTH
def test_a_prompt_repeated_word_for_word_is_in_the_real_clients_transcript_alone(version: str) -> None:
    rows = real(version, "typed")
    typed_at = sorted(row.at or 0 for row in rows if row.origin == "human")
    assert len(typed_at) == 3
    first_two = [row for row in rows if (row.at or 0) < typed_at[2]]
    with open(os.path.join(FIXTURES, version, "typed", "history.jsonl"), encoding="utf-8") as file:
        assert len(file.readlines()) == 2
    assert in_transcript(first_two) == typed_at[1]


@BOTH
@pytest.mark.parametrize(
    "case", ["channel-idle", "channel-midturn", "inbox-idle", "inbox-midturn", "stop-block", "stop-context", "monitor"]
)
def test_what_woke_the_real_client_without_a_person_does_not_move_the_clock(version: str, case: str) -> None:
    rows = real(version, case)
    first = min(row.at or 0 for row in rows if row.origin == "human")
    assert in_transcript(rows) == first
    assert max(row.at or 0 for row in rows) > first + 200


@BOTH
def test_an_interruption_of_the_real_client_is_an_act_of_the_operator(version: str) -> None:
    rows = real(version, "permission-wait")
    found = [row.at for row in rows if is_interruption(row)]
    assert [in_transcript(rows)] == found


@BOTH
def test_commands_that_the_real_client_answers_itself_are_in_its_history_alone(version: str) -> None:
    rows = real(version, "shell-and-slash")
    shell = [row for row in rows if "<bash-input>" in str(row.raw.get("message"))]
    assert len(shell) == 1
    assert in_transcript(shell) is None
    first = min(row.at or 0 for row in rows if row.origin == "human")
    with open(os.path.join(FIXTURES, version, "shell-and-slash", "history.jsonl"), "rb") as file:
        assert f'"timestamp":{first}'.encode() not in file.readline()


@BOTH
def test_after_a_clear_of_the_real_client_each_session_has_its_own_prompts(version: str) -> None:
    folder = os.path.join(FIXTURES, version, "clear")
    before, after = real(version, "clear", "transcript-1.jsonl"), real(version, "clear", "transcript-2.jsonl")
    old, new = history_ms(folder, session_of(before)), history_ms(folder, session_of(after))
    assert old is not None
    assert new is not None
    assert old < new
    assert old > (in_transcript(before) or 0) + 500


@pytest.mark.parametrize(
    "raw",
    [
        user("no origin", NOON),
        user("odd origin", NOON, {"kind": ["human"]}),
        typed("a subagent's", NOON, isSidechain=True),
        channel_event("x", NOON),
        peer_message("x", NOON),
        notification("x", NOON),
        queued("x", NOON, {"kind": "channel", "server": "agent-ways"}),
        queued("x", NOON, {}),
        stop_feedback("x", NOON),
        hook_context("x", NOON),
        tool_result("toolu_1", NOON),
        tool_result("toolu_1", NOON, "[Request interrupted by user]"),
        assistant("m", NOON, origin={"kind": "human"}),
        interruption(NOON, isSidechain=True),
        interruption(NOON, "[Request interrupted by user] and more"),
        interruption(NOON, "[Request interrupted by a peer]"),
        interruption(NOON, origin={"kind": "peer"}),
        user([{"type": "text", "text": "[Request interrupted by user]"}, {"type": "text", "text": "x"}], NOON),
        {**typed("no time", NOON), "timestamp": "yesterday"},
        entry("attachment", NOON, attachment={"type": "file", "origin": {"kind": "human"}}),
    ],
)
def test_what_no_person_did_is_no_prompt(raw: dict[str, Any]) -> None:
    assert of(raw) is None
    assert of(typed("one", NOON - 5), raw) == NOON - 5


@pytest.mark.parametrize(
    "raw",
    [
        typed("x", NOON),
        queued("typed while a tool ran", NOON, {"kind": "human"}),
        interruption(NOON),
        interruption(NOON, "[Request interrupted by user for tool use]"),
        user("[Request interrupted by user]", NOON),
    ],
)
def test_what_a_person_did_is_a_prompt(raw: dict[str, Any]) -> None:
    assert of(raw) == NOON
    assert of(raw, typed("earlier, written later", NOON - 5)) == NOON


@given(found=st.lists(st.none() | st.integers(0, 2**44), max_size=6))
def test_the_clock_moves_only_forward(found: list[int | None]) -> None:
    clock: int | None = None
    for at in found:
        moved = newest(clock, at)
        assert moved == clock if at is None else moved is not None and moved >= max(at, clock or 0)
        clock = moved
    assert (clock is None) == all(at is None for at in found)


def test_a_history_cut_off_or_gone_is_no_new_prompt(tmp_path: Path) -> None:
    full = lines([history_row("one", NOON), history_row("two", NOON + 9)])
    clock = last_prompt_ms(history_ms(history(tmp_path, full), SESSION), ())
    assert clock == NOON + 9
    clock = last_prompt_ms(history_ms(history(tmp_path, full[:100]), SESSION), (), clock)
    assert clock == NOON + 9
    (tmp_path / "history.jsonl").unlink()
    assert last_prompt_ms(history_ms(str(tmp_path), SESSION), (), clock) == NOON + 9
    assert last_prompt_ms(history_ms(str(tmp_path), SESSION), ()) is None


@pytest.mark.field_report(51)
@given(
    rows=st.lists(st.tuples(texts, st.integers(1, 2**43), st.sampled_from([SESSION, OTHER, None])), max_size=8),
    junk=st.lists(junk_lines, max_size=3),
)
def test_only_rows_that_name_the_session_count(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, str | None]], junk: list[bytes]
) -> None:
    data = lines(history_row(*row) for row in rows) + b"".join(line + b"\n" for line in junk)
    folder = history(tmp_path_factory.mktemp("h"), data + f'{{"sessionId":"{SESSION}","timestamp":9'.encode())
    assert history_ms(folder, SESSION) == max((at for _, at, session in rows if session == SESSION), default=None)
    assert history_ms(folder, "") is None


@pytest.mark.field_report(51)
@given(at=json_values, session=json_values)
def test_a_history_row_with_values_of_other_types_is_nobodys_or_timeless(at: Any, session: Any) -> None:
    odd = {"sessionId": session, "timestamp": at, "display": SESSION}
    found = in_history([odd, {"sessionId": SESSION, "timestamp": at}], SESSION)
    assert found == (at if type(at) is int and at > 0 else None)


@pytest.mark.field_report(50)
@pytest.mark.parametrize("text", ["🦢" * 2250, "日本語" * 1000, "é" * 4500, "a" * 9000])
def test_a_nine_thousand_byte_line_on_any_border_of_reading_is_read(tmp_path: Path, text: str) -> None:
    ours = lines([history_row(text, NOON)])
    assert len(ours) > 9000
    for window in (4096, 64 << 10, 512 << 10):
        for into in (1, 2, 3, 4500, len(ours) - 1, len(ours)):
            rest = lines([history_row("x" * 400, NOON + 5, OTHER)])
            after = rest * ((window - into) // len(rest))
            after += lines([{"pad": "p" * max(0, window - into - len(after) - 11)}])
            assert history_ms(history(tmp_path, rest * 50 + ours + after), SESSION) == NOON


@pytest.mark.field_report(51)
def test_a_long_history_is_read_only_at_its_end(tmp_path: Path) -> None:
    read: list[int] = []

    def counting(fd: int, count: int, offset: int) -> bytes:
        data = os.pread(fd, count, offset)
        read.append(len(data))
        return data

    path = tmp_path / "history.jsonl"
    with open(path, "wb") as file:
        file.truncate(200 << 20)
        file.seek(200 << 20)
        file.write(b"\n" + lines([history_row("x", NOON)]))
    assert history_ms(str(tmp_path), SESSION, counting) == NOON
    assert sum(read) <= 64 << 10
    read.clear()
    assert history_ms(str(tmp_path), OTHER, counting) is None
    assert sum(read) <= (4 << 20) + (512 << 10) + (64 << 10)


def test_a_history_that_can_not_be_read_is_none(tmp_path: Path) -> None:
    def broken(_fd: int, _count: int, _offset: int) -> bytes:
        raise OSError(5, "Input/output error")

    os.mkfifo(tmp_path / "history.jsonl")
    assert history_ms(str(tmp_path), SESSION) is None
    (tmp_path / "history.jsonl").unlink()
    assert history_ms(history(tmp_path, lines([history_row("x", NOON)])), SESSION, broken) is None
    assert history_ms(str(tmp_path / "\0"), SESSION) is None


@given(raws=transcripts)
def test_rows_of_any_shape_are_judged_and_only_people_move_the_clock(raws: list[dict[str, Any]]) -> None:
    rows = [Row(raw) for raw in raws]
    found = in_transcript(rows)
    human = [row.at for row in rows if row.at is not None and not row.side and row.origin == "human"]
    assert found is None or found in human or any(is_interruption(row) for row in rows)
    shuffled = list(rows)
    random.Random(1).shuffle(shuffled)  # noqa: S311
    assert in_transcript(shuffled) == found
