from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.claude.identity import Identity
from agent_ways.claude.records import SessionRecord
from agent_ways.claude.transcript import Row
from agent_ways.keepalive.events import ping
from agent_ways.keepalive.look import SessionEyes, in_order, is_stopped, read_clock, steady_ms
from agent_ways.keepalive.moves import observe
from agent_ways.keepalive.record import Record
from agent_ways.keepalive.situation import Conduits
from tests.keepalive.values import ARMED, ME, attempt, clock
from tests.support.processes import ProcessHandle
from tests.support.transcripts import (
    NOON,
    SERVER,
    SESSION,
    api_request,
    assistant,
    channel_event,
    compact_boundary,
    history_row,
    lines,
    tool_use,
    typed,
    usage,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agent_ways.keepalive.situation import Situation

S = 1000


class Home:
    """A config dir with one session, its eyes, and a count of what they read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.transcript = folder / "projects" / "-home-person-proj" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.read = 0
        self.session: dict[str, Any] = {"pid": os.getpid(), "session": SESSION, "status": "idle", "entrypoint": "cli"}
        self.eyes = self.new_eyes()

    def new_eyes(self, **more: Any) -> SessionEyes:
        return SessionEyes(
            identify=self.identify,
            conduits=lambda _: Conduits(("channel",)),
            clock=lambda: clock(NOON + 60 * S),
            owner=ME,
            server=SERVER,
            pread=self.pread,
            **more,
        )

    def identify(self) -> Identity:
        record = SessionRecord(config_dir=str(self.folder), **self.session) if self.session else None
        return Identity(config_dir=str(self.folder), record=record, reason=None if record else "no ancestor has one")

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        self.read += size
        return os.pread(fd, size, offset)

    def write(self, *rows: dict[str, Any], before: bytes = b"") -> None:
        self.transcript.write_bytes(before + lines(rows))

    def look(self, record: Record | None = None) -> Situation:
        return self.eyes.look(record)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


TALK = (
    typed("hello", NOON),
    api_request("ref-1", NOON + 100, ttl="1h"),
    assistant("msg_1", NOON + 2 * S, requestRef="ref-1", tokens=usage(read=40_000, write_1h=900)),
)


@pytest.mark.demand("KA-2")
def test_one_look_brings_idle_cache_operator_and_conduits_together(home: Home) -> None:
    home.write(*TALK)
    found = home.look()
    assert (found.session, found.excluded, found.idle.state) == (SESSION, "", True)
    assert (found.cache.last_request_ms, found.cache.tier, found.cache.reason) == (NOON + 100, "1h", "")
    assert (found.history_ms, found.typed_ms, found.typed_line) == (None, NOON, 0)
    assert found.conduits.usable == ("channel",)


@pytest.mark.demand("ID-8")
@pytest.mark.field_report(50)
def test_the_history_counts_where_it_is_newer_and_its_absence_is_no_harm(home: Home) -> None:
    home.write(*TALK)
    (home.folder / "history.jsonl").write_bytes(lines([history_row("日本🦢" * 3000, NOON + 30 * S)]))
    assert home.look().history_ms == NOON + 30 * S
    (home.folder / "history.jsonl").write_bytes(b'{"display":"cut o')
    assert (home.look().history_ms, home.look().typed_ms) == (None, NOON)


@pytest.mark.demand("ID-9")
@pytest.mark.field_report(91)
def test_a_session_that_works_waits_or_is_stopped_is_not_idle(home: Home) -> None:
    home.write(*TALK, assistant("msg_2", NOON + 3 * S, [tool_use("toolu_1")]))
    assert "Bash" in home.look().idle.reason
    home.write(*TALK)
    home.session["status"] = "waiting"
    assert not home.look().idle.state
    assert not home.eyes.still_idle(SESSION)
    home.session["status"] = "idle"
    assert home.eyes.still_idle(SESSION)
    assert not home.eyes.still_idle("another")
    eyes = home.new_eyes(stopped=lambda _: True)
    assert eyes.look(None).stopped
    assert not eyes.still_idle(SESSION)


@pytest.mark.demand("ID-5", "KA-7")
def test_a_session_of_an_sdk_and_none_at_all_are_never_pushed_into(home: Home) -> None:
    home.session["entrypoint"] = "sdk-cli"
    assert "SDK" in home.look().excluded
    home.session = {}
    assert (home.look().excluded, home.eyes.session()) == ("no ancestor has one", "")
    assert not home.eyes.still_idle(SESSION)


@pytest.mark.demand("KA-2")
def test_a_file_that_was_not_written_is_not_read_again_and_one_that_was_is(home: Home) -> None:
    home.write(*TALK)
    (home.folder / "history.jsonl").write_bytes(lines([history_row("x", NOON)]))
    home.look()
    read = home.read
    assert read > 0
    for _ in range(50):
        home.look()
    assert home.read == read
    home.write(*TALK, typed("again", NOON + 9 * S))
    assert home.look().typed_ms == NOON + 9 * S


@pytest.mark.demand("KA-2", "ID-6")
def test_two_hundred_megabytes_cost_what_four_do_and_a_small_tail_is_tried_first(home: Home) -> None:
    home.write(*TALK)
    with open(home.transcript, "r+b") as file:
        whole = file.read()
        file.truncate(200 << 20)  # a hole: no line, no disk
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + whole)
    found = home.look()
    assert found.cache.tier == "1h"
    assert home.read <= (512 << 10) + 100
    home.transcript.write_bytes(b"")
    with open(home.transcript, "r+b") as file:
        file.truncate(200 << 20)
    home.read = 0
    assert home.look().cache.reason
    assert home.read <= (512 << 10) + (4 << 20) + 100


@pytest.mark.demand("KA-2")
def test_while_the_session_works_its_transcript_is_left_alone_unless_a_trace_is_awaited(home: Home) -> None:
    home.write(*TALK)
    home.session["status"] = "busy"
    assert home.look().cache.reason
    assert home.read == 0
    assert home.new_eyes(thorough=True).look(None).cache.tier == "1h"
    shown = ping("00000000000000aa", "channel").text
    home.write(*TALK, channel_event(shown, NOON + 40 * S))
    found = home.look(Record(session=SESSION, ping=attempt()))
    assert found.trace("00000000000000aa").proof is not None
    home.session["status"] = "idle"
    assert home.look().cache.tier == "1h"
    home.session["status"] = "busy"
    home.write()
    assert home.look().cache.tier == "1h"


@pytest.mark.demand("KA-9")
def test_after_clear_nothing_of_the_old_session_is_remembered(home: Home) -> None:
    home.write(*TALK)
    (home.folder / "history.jsonl").write_bytes(lines([history_row("x", NOON)]))
    assert (home.look().typed_ms, home.look().history_ms) == (NOON, NOON)
    home.session["session"] = "11111111-0000-4000-8000-00000000abcd"
    found = home.look()
    assert found.history_ms is None
    assert (found.typed_ms, found.typed_line, found.cache.tier) == (None, -1, None)
    assert "no turn" in found.cache.reason


@pytest.mark.demand("KA-9")
def test_torn_missing_and_unreadable_transcripts_are_said(home: Home) -> None:
    assert "no transcript" in home.look().cache.reason
    home.write(*TALK, before=b'{"type":"user","mess\n\xff\xfe\n')
    assert home.look().cache.tier == "1h"
    home.write(*TALK, compact_boundary(NOON + 5 * S))
    assert "compacted" in home.look().cache.reason


@pytest.mark.demand("KA-9")
def test_rows_from_before_the_clock_was_set_back_are_left_out() -> None:
    raws = [
        typed("a", NOON + 5_000 * S),
        assistant("msg_1", NOON + 5_001 * S),
        typed("b", NOON),
        assistant("msg_2", NOON + S),
        assistant("msg_3", NOON - 30 * S),
        typed("c", NOON + 20 * S),
    ]
    kept = in_order([Row(raw, line) for line, raw in enumerate(raws)])
    assert [row.line for row in kept] == [2, 3, 4, 5]
    assert in_order(()) == ()


@pytest.mark.demand("KA-9")
def test_a_later_prompt_is_found_though_the_clock_was_set_back_before_it(home: Home) -> None:
    home.write(
        typed("a", NOON + 9_000 * S),
        assistant("msg_1", NOON + 9_001 * S, tokens=usage(write_1h=5_000)),
        typed("b", NOON + 10 * S),
        assistant("msg_2", NOON + 12 * S, tokens=usage(write_1h=5_000)),
    )
    (home.folder / "history.jsonl").write_bytes(lines([history_row("a", NOON + 9_000 * S)]))
    found = home.look()
    assert (found.history_ms, found.typed_ms) == (NOON + 9_000 * S, NOON + 10 * S)
    assert observe(Record(session=SESSION), found, ARMED).operator_ms == NOON + 10 * S
    assert found.cache.last_request_ms == NOON + 10 * S


@pytest.mark.demand("KA-9")
def test_the_clock_has_a_hand_that_counts_sleep_and_edges_come_by_name() -> None:
    found = read_clock(lambda: 12.5, lambda: 3.25, lambda: None, "boot")
    assert (found.wall_ms, found.awake_ms, found.steady_ms, found.boot) == (12_500, 3_250, None, "boot")
    one, two = steady_ms(), steady_ms()
    assert one is not None
    assert two is not None
    assert 0 < one <= two


@pytest.mark.demand("KA-3")
def test_a_process_stopped_by_ctrl_z_is_seen_as_stopped() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "import os,signal; os.kill(os.getpid(), signal.SIGSTOP)"], stdin=subprocess.DEVNULL
    )
    try:
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        assert is_stopped(child.pid)
        assert not is_stopped(os.getpid())
    finally:
        ProcessHandle(child.pid).send_signal(9)
        child.wait()
    assert not is_stopped(child.pid)
