from __future__ import annotations

import os
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from agent_ways.claude.transcript import Row
from agent_ways.keepalive.events import ping, wrap
from agent_ways.keepalive.report import COUNTS, Ledger, Line, local_day, read_report, total
from tests.support.transcripts import (
    NOON,
    SERVER,
    SESSION,
    assistant,
    channel_event,
    compact_boundary,
    lines,
    peer_message,
    tool_result,
    tool_use,
    transcripts,
    typed,
    usage,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.demand("KA-10")
MIN, H = 60_000, 3_600_000
PING = ping("00000000000000aa", "channel").text
WRAP = wrap("00000000000000bb", "channel", 8 * H).text


def day_of(ms: int) -> str:
    return f"day {(ms - NOON) // (24 * H)}"


def counted(*raws: dict[str, Any]) -> list[Line]:
    ledger = Ledger(SESSION, SERVER, day_of)
    for at, raw in enumerate(raws):
        ledger.add(Row(raw, at))
    return ledger.lines()


def one(*raws: dict[str, Any]) -> dict[str, str | int]:
    [line] = counted(*raws)
    return {name: value for name, value in line.to_json().items() if value and name not in ("session", "day")}


def turn(at: int, name: str, tokens: dict[str, Any]) -> list[dict[str, Any]]:
    return [typed("go on", at), assistant(name, at + 2_000, tokens=tokens)]


START = turn(NOON, "msg_1", usage(write_1h=50_000, fresh=0))


def pinged(at: int, name: str, read: int = 50_000) -> list[dict[str, Any]]:
    return [channel_event(PING, at), assistant(name, at + 2_000, tokens=usage(read=read, write_1h=100, fresh=0))]


def test_a_lunch_that_was_kept_warm_is_a_cold_start_avoided() -> None:
    rows = [*START, *pinged(NOON + 45 * MIN, "msg_2"), *turn(NOON + 80 * MIN, "msg_3", usage(read=50_100, write_1h=10))]
    assert one(*rows) == {
        "pings": 1,
        "ping_tokens": 5_000 + 200,
        "avoided": 1,
        "avoided_tokens": 50_100 * 19 // 10,
        "net_tokens": 50_100 * 19 // 10 - 5_200,
    }


def test_a_short_break_would_have_stayed_warm_by_itself() -> None:
    rows = [*START, *pinged(NOON + 45 * MIN, "msg_2"), *turn(NOON + 50 * MIN, "msg_3", usage(read=50_100, write_1h=10))]
    assert one(*rows) == {"pings": 1, "ping_tokens": 5_200, "net_tokens": -5_200}


def test_a_cold_start_is_counted_where_the_context_was_written_again() -> None:
    assert one(*START, *turn(NOON + 3 * H, "msg_2", usage(write_1h=51_000, fresh=0))) == {
        "cold_starts": 1,
        "cold_tokens": 50_000 * 19 // 10,
    }
    assert one(*START, *turn(NOON + 3 * H, "msg_2", usage(write_5m=51_000, fresh=0)))["cold_tokens"] == 57_500
    small = turn(NOON, "msg_1", usage(write_1h=4_000, fresh=0))
    assert counted(*small, *turn(NOON + 3 * H, "msg_2", usage(write_1h=4_500))) == []


def test_the_first_write_and_the_one_after_a_compaction_are_no_cold_starts() -> None:
    assert counted(*START) == []
    after = turn(NOON + MIN, "msg_2", usage(write_1h=50_000))
    assert counted(*START, compact_boundary(NOON + 30_000), *after) == []


def test_the_wraps_whole_turn_is_its_cost() -> None:
    rows = [
        *START,
        channel_event(WRAP, NOON + 30 * MIN),
        assistant("msg_2", NOON + 31 * MIN, [tool_use("t1", "attend_send")], tokens=usage(read=50_000, fresh=0)),
        tool_result("t1", NOON + 31 * MIN + 1),
        assistant("msg_3", NOON + 32 * MIN, tokens=usage(read=50_000, write_1h=500, fresh=0)),
    ]
    assert one(*rows) == {"wraps": 1, "wrap_tokens": 5_000 + 6_000, "net_tokens": -11_000}


def test_an_answer_written_as_several_rows_counts_once_also_with_results_in_between() -> None:
    tokens = usage(read=50_000, fresh=0)
    rows = [
        *START,
        channel_event(PING, NOON + 45 * MIN),
        assistant("msg_2", NOON + 46 * MIN, [tool_use("t1")], tokens=tokens),
        tool_result("t1", NOON + 46 * MIN + 1),
        assistant("msg_2", NOON + 46 * MIN + 2, [tool_use("t2")], tokens=tokens),
        tool_result("t2", NOON + 46 * MIN + 3),
    ]
    assert one(*rows) == {"pings": 1, "ping_tokens": 5_000, "net_tokens": -5_000}
    late = [
        assistant("msg_3", NOON + 47 * MIN, tokens=tokens),
        assistant("msg_2", NOON + 46 * MIN + 4, [tool_use("t3")], tokens=tokens),
    ]
    assert one(*rows, *late)["ping_tokens"] == 10_000


def test_mail_that_woke_a_warm_session_counts_as_avoided_too_and_each_day_by_itself() -> None:
    late = NOON + 24 * H - 30 * MIN
    rows = [
        *turn(late - 20 * MIN, "msg_1", usage(write_1h=50_000)),
        *pinged(late + 20 * MIN, "msg_2"),
        *pinged(late + 65 * MIN, "msg_3"),
        peer_message("news", late + 70 * MIN),
        assistant("msg_4", late + 71 * MIN, tokens=usage(read=50_100)),
    ]
    found = counted(*rows)
    assert [(line.day, line.pings, line.avoided) for line in found] == [("day 0", 1, 0), ("day 1", 1, 1)]
    assert (total(found).pings, total(found).avoided) == (2, 1)
    assert total(found).net_tokens == sum(line.net_tokens for line in found)


def test_subagents_and_answers_without_a_size_count_for_nothing() -> None:
    rows = [
        *START,
        assistant("msg_s", NOON + 3 * H, tokens=usage(write_5m=60_000), isSidechain=True),
        assistant("msg_e", NOON + 3 * H, isApiErrorMessage=True),
    ]
    assert counted(*rows) == []


@given(transcripts)
def test_no_transcript_makes_the_count_fail_or_go_below_zero(raws: list[dict[str, Any]]) -> None:
    for line in counted(*raws):
        assert all(getattr(line, name) >= 0 for name in COUNTS)


def test_every_transcript_of_a_config_dir_is_walked_and_no_other_file(tmp_path: Path) -> None:
    rows = [*START, *pinged(NOON + 45 * MIN, "msg_2")]
    for folder in ("-home-a", "-home-b"):
        (tmp_path / "projects" / folder / "x" / "subagents").mkdir(parents=True)
        (tmp_path / "projects" / folder / f"{folder}.jsonl").write_bytes(b"torn{\n" + lines(rows) + b'{"type":"us')
        (tmp_path / "projects" / folder / "x" / "subagents" / "agent-1.jsonl").write_bytes(lines(rows))
        (tmp_path / "projects" / folder / "notes.txt").write_bytes(lines(rows))
    found = list(read_report(str(tmp_path), SERVER))
    assert [(line.session, line.pings) for line in found] == [("-home-a", 1), ("-home-b", 1)]
    assert found[0].day == local_day(NOON + 45 * MIN)
    os.utime(tmp_path / "projects" / "-home-a" / "-home-a.jsonl", (1, 1))
    assert len(list(read_report(str(tmp_path), SERVER, since_ms=NOON))) == 1
    assert list(read_report(str(tmp_path), SERVER, since_ms=NOON + 72 * H)) == []
    assert list(read_report(str(tmp_path / "nothing"), SERVER)) == []


def test_a_long_transcript_is_counted_in_bounded_memory(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    filler = lines([tool_result("t", NOON, "x" * 200_000)])
    with open(folder / f"{SESSION}.jsonl", "wb") as file:
        file.write(lines(START))
        file.writelines(filler for _ in range(150))
        file.write(lines(pinged(NOON + 45 * MIN, "msg_2")))
    tracemalloc.start()
    try:
        [line] = read_report(str(tmp_path), SERVER)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert line.pings == 1
    assert peak < 20 << 20
