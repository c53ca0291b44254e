from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.claude.transcript import TAIL, Row, Rows, find, iso_ms, since, tail
from tests.support.transcripts import (
    NOON,
    SESSION,
    iso,
    junk_lines,
    lines,
    transcripts,
    typed,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.demand("ID-6")
FIXTURES = os.path.join(os.path.dirname(__file__), "fixtures")
REAL = sorted(
    os.path.join(folder, name)
    for folder, _, names in os.walk(FIXTURES)
    for name in names
    if name.startswith(("transcript", "subagent"))
)


class CountingReader:
    """`os.pread` that counts the bytes it gave."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, fd: int, count: int, offset: int) -> bytes:
        data = os.pread(fd, count, offset)
        self.total += len(data)
        return data


def raws(rows: Rows) -> list[dict[str, Any]]:
    return [row.raw for row in rows]


def written(folder: Path, data: bytes) -> str:
    path = folder / "transcript.jsonl"
    path.write_bytes(data)
    return str(path)


def test_a_transcript_is_found_in_whatever_folder_it_lies(tmp_path: Path) -> None:
    (tmp_path / "projects" / "-home-person-other").mkdir(parents=True)
    there = tmp_path / "projects" / ("-home-" + "x" * 190 + "-1q2w3e")
    there.mkdir()
    (there / f"{SESSION}.jsonl").write_bytes(b"")
    assert find(str(tmp_path), SESSION) == str(there / f"{SESSION}.jsonl")


def test_of_two_transcripts_of_one_session_the_one_written_last_is_found(tmp_path: Path) -> None:
    for age, folder in ((5, "-b"), (90, "-a"), (60, "-c")):
        (tmp_path / "projects" / folder).mkdir(parents=True)
        path = tmp_path / "projects" / folder / f"{SESSION}.jsonl"
        path.write_bytes(b"")
        os.utime(path, (NOON / 1000 - age, NOON / 1000 - age))
    assert find(str(tmp_path), SESSION) == str(tmp_path / "projects" / "-b" / f"{SESSION}.jsonl")


def test_no_transcript_is_found_before_the_first_turn_nor_where_there_is_no_client(tmp_path: Path) -> None:
    assert find(str(tmp_path), SESSION) is None
    (tmp_path / "projects" / "-a").mkdir(parents=True)
    assert find(str(tmp_path), SESSION) is None
    (tmp_path / "projects" / "-a" / f"{SESSION}.jsonl").mkdir()
    os.mkfifo(tmp_path / "projects" / f"{SESSION}.jsonl")
    assert find(str(tmp_path), SESSION) is None


@pytest.mark.parametrize("session", ["", "../x", "a/b", "/etc/passwd", "..", ".", "a\0b", "x" * 300])
def test_an_id_that_could_lead_out_of_the_folder_finds_nothing(tmp_path: Path, session: str) -> None:
    (tmp_path / "projects" / "-a" / "a").mkdir(parents=True)
    (tmp_path / "projects" / "x.jsonl").write_bytes(b"")
    (tmp_path / "projects" / "-a" / "a" / "b.jsonl").write_bytes(b"")
    (tmp_path / "projects" / "-a" / "..jsonl").write_bytes(b"")
    assert find(str(tmp_path), session) is None


@pytest.mark.parametrize("path", REAL, ids=lambda path: os.path.relpath(path, FIXTURES))
def test_every_line_that_the_real_client_wrote_is_a_row_of_a_type_and_mostly_a_time(path: str) -> None:
    rows = tail(path)
    with open(path, "rb") as file:
        assert len(rows) == file.read().count(b"\n") > 1
    assert rows.damaged == 0
    assert all(row.type for row in rows)
    for row in rows:
        assert (row.at is not None) == ("timestamp" in row.raw)
        assert row.side == os.path.basename(path).startswith("subagent") or row.type == "api-request"


def test_the_same_rows_come_forwards_as_backwards(tmp_path: Path) -> None:
    for path in REAL:
        assert since(path, 0).rows == tail(path).rows


@given(data=transcripts, junk=st.lists(junk_lines, max_size=4), torn=st.binary(max_size=30))
def test_a_torn_last_line_and_lines_that_are_no_rows_cost_only_themselves(
    tmp_path_factory: pytest.TempPathFactory, data: list[dict[str, Any]], junk: list[bytes], torn: bytes
) -> None:
    whole = b"".join(line + b"\n" for line in junk) + lines(data)
    path = written(tmp_path_factory.mktemp("t"), whole + torn.replace(b"\n", b""))
    for rows in (tail(path), since(path, 0)):
        assert [row.type for row in rows] == [text if isinstance(text := raw.get("type"), str) else "" for raw in data]
        assert rows.damaged == sum(1 for line in junk if line.strip(b" "))
        assert rows.end == len(whole)
        assert not rows.more
    assert len(since(path, len(whole))) == 0


@given(data=transcripts, cuts=st.lists(st.integers(0, 4000), max_size=5), limit=st.integers(40, 3000))
def test_a_growing_file_read_in_steps_gives_each_row_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, data: list[dict[str, Any]], cuts: list[int], limit: int
) -> None:
    whole = lines(data)
    path = written(tmp_path_factory.mktemp("t"), b"")
    seen: list[int] = []
    offset = 0
    for stop in [*sorted(cut for cut in cuts if cut < len(whole)), len(whole)]:
        with open(path, "r+b") as file:
            file.write(whole[:stop])
        rows = Rows(more=True)
        while rows.more:
            rows = since(path, offset, limit)
            assert not rows.rewritten
            assert not rows.more or rows.end > offset
            offset = rows.end
            seen += [row.line for row in rows]
    assert offset == len(whole)
    every = [row.line for row in tail(path)]
    assert seen == sorted(set(seen) & set(every))
    assert set(seen) >= {line for line in every if whole.index(b"\n", line) - line < limit}


@given(data=st.lists(st.integers(0, 400), min_size=1, max_size=20), limit=st.integers(1, 5000))
def test_the_tail_is_the_longest_run_of_whole_lines_within_the_limit(
    tmp_path_factory: pytest.TempPathFactory, data: list[int], limit: int
) -> None:
    whole = lines(typed("x" * size, NOON + at) for at, size in enumerate(data))
    path = written(tmp_path_factory.mktemp("t"), whole)
    count = CountingReader()
    rows = tail(path, limit, count)
    assert count.total <= limit
    assert rows.end == len(whole)
    every = tail(path).rows
    assert rows.rows == every[len(every) - len(rows) :]
    left = [row.line for row in every[: len(every) - len(rows)]]
    assert all(len(whole) - line >= limit for line in left)


def test_two_hundred_megabytes_cost_what_one_costs(tmp_path: Path) -> None:
    end = lines([typed("the last", NOON)])
    path = tmp_path / "big.jsonl"
    with open(path, "wb") as file:
        file.truncate(200 << 20)
        file.seek(200 << 20)
        file.write(b"\n" + end)
    count = CountingReader()
    rows = tail(str(path), pread=count)
    assert [row.raw["message"]["content"] for row in rows] == ["the last"]
    assert count.total <= TAIL
    count = CountingReader()
    assert len(since(str(path), (200 << 20) + 1, pread=count)) == 1
    assert count.total == len(end) + 1
    count = CountingReader()
    first = since(str(path), 0, pread=count)
    assert (first.damaged, first.end, first.more) == (1, (200 << 20) + 1, True)


def test_a_file_shorter_than_the_offset_is_said_to_be_another_and_read_from_its_beginning(tmp_path: Path) -> None:
    path = written(tmp_path, lines([typed("one", NOON), typed("two", NOON)]))
    offset = since(path, 0).end
    written(tmp_path, lines([typed("new", NOON)]))
    rows = since(path, offset)
    assert rows.rewritten
    assert [row.raw["message"]["content"] for row in rows] == ["new"]
    assert not since(path, rows.end).rewritten


def test_a_file_in_which_the_offset_no_longer_ends_a_line_is_said_to_be_another(tmp_path: Path) -> None:
    path = written(tmp_path, lines([typed("one", NOON)]))
    offset = since(path, 0).end
    written(tmp_path, lines([typed("a longer one in its place", NOON)]))
    assert since(path, offset).rewritten


def test_what_is_not_there_and_what_can_not_be_read_are_told_apart(tmp_path: Path) -> None:
    assert tail(str(tmp_path / "none.jsonl")) == Rows(absent=True)
    assert since(str(tmp_path / "none.jsonl"), 7).absent
    os.mkfifo(tmp_path / "fifo.jsonl")
    for path in (tmp_path, tmp_path / "fifo.jsonl", tmp_path / "none.jsonl" / "\0"):
        rows = tail(str(path))
        assert not rows.absent
        assert str(path) in rows.problem
        assert "can not be read" in rows.problem


def test_a_read_that_fails_midway_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    def broken(_fd: int, _count: int, _offset: int) -> bytes:
        raise OSError(5, "Input/output error")

    path = written(tmp_path, lines([typed("one", NOON)]))
    assert "Input/output error" in tail(path, pread=broken).problem


def test_short_reads_lose_nothing(tmp_path: Path) -> None:
    data = [typed(f"prompt {n}", NOON + n) for n in range(20)]
    path = written(tmp_path, lines(data))
    few = lambda fd, count, offset: os.pread(fd, min(count, 7), offset)  # noqa: E731
    assert raws(tail(path, pread=few)) == data
    assert raws(since(path, 0, pread=few)) == data


def test_a_bom_and_bytes_that_are_no_text_cost_no_row(tmp_path: Path) -> None:
    good = lines([typed("one", NOON)])
    path = written(
        tmp_path, b"\xef\xbb\xbf" + good + good.replace(b"one", b"\xff\xfe\x80") + good.replace(b"\n", b"\r\n")
    )
    rows = tail(path)
    assert rows.damaged == 0
    assert [row.raw["message"]["content"] for row in rows] == ["one", "\ufffd\ufffd\ufffd", "one"]


@given(st.data())
def test_no_value_of_any_type_at_any_key_keeps_a_row_from_being_read(data: st.DataObject) -> None:
    for raw in data.draw(transcripts):
        row = Row(raw)
        assert isinstance(row.type, str)
        assert isinstance(row.origin, str)
        assert row.at is None or isinstance(row.at, int)


@given(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)), st.integers(-1439, 1439))  # noqa: DTZ001
def test_times_are_read_as_the_standard_library_reads_them(moment: dt.datetime, east: int) -> None:
    zone = dt.timezone(dt.timedelta(minutes=east))
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for aware in (moment.replace(tzinfo=dt.UTC), moment.replace(tzinfo=zone)):
        text = aware.isoformat()
        for form in (text, text.replace("+00:00", "Z")):
            assert iso_ms(form) == (aware - epoch) // dt.timedelta(milliseconds=1)


@given(st.integers(0, 4_000_000_000_000))
def test_the_clients_own_form_of_time_is_read_back_exactly(ms: int) -> None:
    assert iso_ms(iso(ms)) == ms


@pytest.mark.parametrize(
    "text",
    [
        None,
        17,
        "",
        "2026-11-30",
        "2026-11-30T21:21:34.661",
        "2026-13-30T21:21:34Z",
        "2026-02-29T21:21:34Z",
        "2026-11-31T21:21:34Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T21:60:00Z",
        "2026-11-30T21:21:3Z",
        "2026-11-30T+1:21:34Z",
        "2026-11-30T21:21:34+0100",
        "2026-11-30T21:21:34+1_:00",
        "٢٠٢٦-11-30T21:21:34Z",
        "2026-11-30T21:21:34.x6Z",
        "now, and a lot of words that are no time",
        "    -  -  T  :  :  Z",
    ],
)
def test_what_is_no_time_is_none(text: object) -> None:
    assert iso_ms(text) is None
