from __future__ import annotations

import io
import json
import os
import sys
import time
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.base.errors import ConfigError
from agent_ways.keepalive.events import ping
from agent_ways.server.warmth import changed_file
from agent_ways.ways.commands import keepalive
from agent_ways.ways.report import Status
from tests.server.serving import SERVER
from tests.support.fake_client import FLAGGED, FakeClient, Plan
from tests.support.transcripts import assistant, channel_event, lines, typed, usage
from tests.ways.support import Machine, ways

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent_ways.ways.report import Report

H, MIN = 3_600_000, 60_000
TEXT = """\
# mine
[keepalive] # while I am at lunch
window = "4h"   # not longer
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def session(machine: Machine, tmp_path: Path) -> Iterator[Callable[..., FakeClient]]:
    """Live sessions of the same person, each with our server in it."""
    opened: list[FakeClient] = []

    def make(**plan: Any) -> FakeClient:
        client = FakeClient(tmp_path, Plan(server=SERVER, home=str(machine.home), **plan))
        opened.append(client)
        client.wait_handshake()
        return client

    yield make
    for client in opened:
        client.close()


def config(machine: Machine, text: str | None = None) -> Path:
    path = machine.home / ".config" / "agent-ways" / "config.toml"
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


def said(report: Report) -> dict[str, str]:
    return {line.subject: line.text for line in report.lines}


# -- on and off ---------------------------------------------------------------------------------------------------


@pytest.mark.demand("KA-1")
def test_it_is_armed_and_disarmed_in_the_config_with_comments_kept(machine: Machine) -> None:
    path = config(machine, TEXT)
    assert keepalive.on(machine.world, "2h30m").changed
    assert path.read_text() == TEXT.replace('"4h"', '"2h30m"') + "armed = true\n"
    assert not keepalive.on(machine.world, "2h30m").changed
    assert keepalive.off(machine.world).changed
    assert path.read_text() == TEXT.replace('"4h"', '"2h30m"') + "armed = false\n"
    assert not keepalive.off(machine.world).changed


@pytest.mark.demand("KA-1")
def test_a_window_once_set_stays_until_another_is_said(machine: Machine) -> None:
    keepalive.on(machine.world, "90m")
    keepalive.off(machine.world)
    answer = keepalive.on(machine.world)
    assert answer.data["window_s"] == 5400
    kept = "(as set before; ways config unset keepalive.window for 8 h)"
    assert said(answer)["keepalive"] == f"armed, until 1 h 30 min after you last typed in a session {kept}"
    for window in ("90m", "8h", None):
        assert "as set before" not in said(keepalive.on(machine.world, window))["keepalive"]


@pytest.mark.demand("KA-1")
@pytest.mark.parametrize("window", ["1s", "9m59s", "31d", "87600h"])
def test_a_window_without_a_use_is_refused_on_the_command_line_and_obeyed_in_a_file(
    window: str, machine: Machine
) -> None:
    with pytest.raises(ConfigError, match=f"keepalive.window is from 10m to 30d, not '{window}'"):
        keepalive.on(machine.world, window)
    assert not config(machine).exists()
    config(machine, f'[keepalive]\nwindow = "{window}"\n')
    answer = keepalive.on(machine.world)
    assert "config" not in said(answer)
    assert "as set before" in said(answer)["keepalive"]


@pytest.mark.demand("KA-1")
@pytest.mark.parametrize("window", ["soon", "8", "0h", "-8h", "8 h", "", "h", "30m2h", "8h ago"])
def test_a_window_that_makes_no_sense_is_refused_with_an_example_and_arms_nothing(
    window: str, machine: Machine
) -> None:
    path = config(machine, TEXT)
    with pytest.raises(ConfigError, match=r'a time like "8h", "90m" or "2h30m"'):
        keepalive.on(machine.world, window)
    assert path.read_text() == TEXT
    assert not os.path.exists(keepalive.changed_file(machine.env))


@pytest.mark.demand("KA-1")
@pytest.mark.parametrize("text", ["[keepalive\n", "keepalive = 3\n"])
def test_a_config_that_can_not_be_edited_is_left_and_named(text: str, machine: Machine) -> None:
    path = config(machine, text)
    with pytest.raises(ConfigError, match=r"config\.toml"):
        keepalive.on(machine.world)
    assert path.read_text() == text


@pytest.mark.demand("KA-1")
def test_a_value_of_the_wrong_kind_is_mended_and_another_that_is_wrong_is_named(machine: Machine) -> None:
    path = config(machine, '[keepalive]\narmed = "yes"\nwindow = 5\n')
    answer = keepalive.on(machine.world)
    assert tomllib.loads(path.read_text())["keepalive"]["armed"] is True
    assert [line.status for line in answer.lines if line.subject == "config"] == [Status.NOTE]
    assert "keepalive.window" in said(answer)["config"]
    assert answer.data["window_s"] == 8 * 3600


@pytest.mark.demand("KA-1")
def test_off_writes_no_config_where_nothing_armed_it(machine: Machine) -> None:
    assert said(keepalive.off(machine.world))["keepalive"].startswith("off")
    assert not config(machine).exists()


@pytest.mark.demand("KA-1")
def test_the_file_that_running_servers_watch_is_the_servers_and_is_private(machine: Machine) -> None:
    keepalive.on(machine.world)
    path = keepalive.changed_file(machine.env)
    assert path == changed_file(str(machine.home / ".local" / "state" / "agent-ways"))
    assert os.stat(path).st_mode & 0o777 == 0o600
    before = os.stat(path).st_mtime_ns
    keepalive.off(machine.world)
    assert os.stat(path).st_mtime_ns > before


@pytest.mark.demand("KA-5")
def test_arming_says_what_the_five_minute_tier_means_where_it_ends_before_the_window(machine: Machine) -> None:
    told = said(keepalive.on(machine.world, "8h"))["five-minute caches"]
    assert "API key" in told
    assert "about 45 min" in told
    assert "normally no wrap" in told
    assert len(told) < 130
    assert "five-minute caches" not in said(keepalive.on(machine.world, "30m"))


# -- status -------------------------------------------------------------------------------------------------------


@pytest.mark.demand("KA-1", "KA-2")
def test_a_running_session_obeys_at_once_and_status_says_of_it_what_its_own_tool_says(
    machine: Machine, session: Callable[..., FakeClient]
) -> None:
    client = session(argv=FLAGGED, cache="5m")
    client.type("hello")
    client.wait_status("idle")
    assert client.call_tool("keepalive_status")["structuredContent"]["armed"] is False
    assert ways(machine, "keepalive", "on", "--window", "2h").returncode == 0
    mine = client.call_tool("keepalive_status")["structuredContent"]
    client.wait_status("idle")
    [found] = json.loads(ways(machine, "keepalive", "status", "--json").stdout)["sessions"]
    assert (mine["armed"], found["armed"], found["session"]) == (True, True, client.session_id)
    assert found["window"]["length_s"] == mine["window"]["length_s"] == 7200
    assert found["cache"]["tier"] == mine["cache"]["tier"] == "5m"
    assert found["conduit"] == mine["conduit"]
    assert found["notes"] == mine["notes"]
    assert found["next"]["action"] == "wait"
    assert found["next"]["then"] == "ping"
    text = ways(machine, "keepalive", "status").stdout
    assert text.startswith("keepalive: armed, until 2 h after you last typed")
    assert f"\n{client.session_id[:8]}  " in text
    assert "5m, warm for " in text
    assert "ping in " in text
    assert "its last quarter begins in " in text
    assert "pings end after about 45 min" in text


@pytest.mark.demand("KA-2")
def test_a_session_that_nothing_can_wake_says_why(machine: Machine, session: Callable[..., FakeClient]) -> None:
    keepalive.on(machine.world)
    client = session(inbox="off", cache="1h")
    client.type("hello")
    client.wait_status("idle")
    [found] = json.loads(ways(machine, "keepalive", "status", "--json").stdout)["sessions"]
    assert found["next"]["rule"] == "no-conduit"
    assert "channel: " in found["conduit"]["reason"]
    assert "inbox_socket: " in found["conduit"]["reason"]


@pytest.mark.demand("KA-1")
def test_a_conduit_that_the_config_forbids_is_named_so(machine: Machine, session: Callable[..., FakeClient]) -> None:
    config(machine, "[keepalive]\narmed = true\n[conduits]\ninbox_socket = false\n")
    client = session(cache="1h")
    client.type("hello")
    client.wait_status("idle")
    [found] = json.loads(ways(machine, "keepalive", "status", "--json").stdout)["sessions"]
    assert found["conduit"]["name"] is None
    assert "inbox_socket: The user config forbids it" in found["conduit"]["reason"]


@pytest.mark.demand("KA-1")
def test_status_without_a_session_tells_the_config_and_what_is_wrong_in_it(machine: Machine) -> None:
    config(machine, "[keepalive]\narmed = 5\n")
    report = keepalive.status(machine.world)
    assert report.quiet.startswith("keepalive: off")
    assert "config: keepalive.armed is true or false, not 5" in report.quiet
    assert report.quiet.endswith("No session is live.")
    assert report.data["sessions"] == []
    assert report.data["notes"] == ["keepalive.armed is true or false, not 5; false is used"]


@pytest.mark.demand("KA-2")
def test_status_writes_nothing(machine: Machine, session: Callable[..., FakeClient]) -> None:
    client = session(cache="1h")
    client.type("hello")
    client.wait_status("idle")
    client.end_server()  # which registers its session whenever it is ready
    state = machine.home / ".local" / "state" / "agent-ways"
    before = sorted(state.rglob("*"))
    ways(machine, "keepalive", "status")
    assert sorted(state.rglob("*")) == before


# -- report -------------------------------------------------------------------------------------------------------


def write_transcript(machine: Machine, name: str, rows: list[dict[str, Any]]) -> None:
    folder = machine.home / ".claude" / "projects" / "-proj"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_bytes(lines(rows))


def lunch(noon: int) -> list[dict[str, Any]]:
    """A session kept warm over lunch, that went cold in the evening."""
    text = ping("00000000000000aa", "channel").text
    return [
        typed("hello", noon),
        assistant("msg_1", noon + 1000, tokens=usage(write_1h=50_000, fresh=0)),
        channel_event(text, noon + 45 * MIN),
        assistant("msg_2", noon + 45 * MIN + 1000, tokens=usage(read=50_000, write_1h=100, fresh=0)),
        typed("go on", noon + 80 * MIN),
        assistant("msg_3", noon + 80 * MIN + 1000, tokens=usage(read=50_100, write_1h=10, fresh=0)),
        typed("and now", noon + 6 * H),
        assistant("msg_4", noon + 6 * H + 1000, tokens=usage(write_1h=51_000, fresh=0)),
    ]


@pytest.mark.demand("KA-10")
def test_the_report_counts_by_session_and_day_as_table_chart_and_json(machine: Machine) -> None:
    midnight = keepalive._midnight(time.time(), 2)
    write_transcript(machine, "aaaaaaaa-1", lunch(midnight + 8 * H))
    write_transcript(machine, "bbbbbbbb-2", lunch(midnight + 9 * H)[:2])
    write_transcript(machine, "cccccccc-3", lunch(midnight - 72 * H))
    answer = keepalive.report(machine.world, days=2)
    [line] = answer.data["days"]
    assert line["session"] == "aaaaaaaa-1"
    wanted = {"cold_starts": 1, "pings": 1, "avoided": 1, "wraps": 0, "ping_tokens": 5200, "avoided_tokens": 95_190}
    assert {key: line[key] for key in wanted} == wanted
    assert {key: answer.data["total"][key] for key in wanted} == wanted
    day = answer.data["since"]
    assert f"{day}  aaaaaaaa            1     95k      1      0    5.2k        1     95k  90k" in answer.quiet
    assert "spent by keepalive" in answer.quiet
    assert answer.quiet.endswith("Keepalive saved 90k tokens in all.")
    assert json.loads(ways(machine, "keepalive", "report", "--days", "2", "--json").stdout)["days"] == [line]


@pytest.mark.demand("KA-10")
def test_a_report_of_nothing_says_so_and_one_without_keepalive_says_what_it_would_be_worth(machine: Machine) -> None:
    assert keepalive.report(machine.world).quiet.startswith("No cold start, ping or wrap in any transcript since ")
    rows = lunch(keepalive._midnight(time.time(), 2) + 8 * H)
    write_transcript(machine, "aaaaaaaa-1", [*rows[:2], *rows[6:]])
    assert "Keepalive sent nothing. Cold starts cost 95k tokens more" in keepalive.report(machine.world).quiet


@pytest.mark.demand("KA-10")
def test_where_the_output_has_no_block_character_bars_are_plain(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_transcript(machine, "aaaaaaaa-1", lunch(keepalive._midnight(time.time(), 2) + 8 * H))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    told = keepalive.report(machine.world).quiet
    assert "##########" in told
    assert told.isascii()
