"""What was met in the field with channels and mail between sessions, played with real servers and fake clients."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import headers, layout, trays
from tests.attend.test_drain import HOOK
from tests.server.test_inbound import COMMAND, Story
from tests.support.fake_client import FLAGGED, FakeClient, Plan
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent_ways.attend.signals import Signal


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Story]]:
    """A session with its server; called twice it is two sessions of one person in one project."""
    opened: list[FakeClient] = []

    def made(**plan: Any) -> Story:
        client = FakeClient(tmp_path, Plan(server=COMMAND, **plan))
        opened.append(client)
        return Story(client)

    yield made
    for client in opened:
        client.close()


def given(story: Story, signal: Signal) -> int:
    """How often the model was given the signal whole, by whatever conduit."""
    texts = [text for shown in story.client.shown for text in shown.texts]
    return sum(signal.id in headers.read_back(text)[0] for text in texts)


def inbox(story: Story) -> dict[str, str]:
    """The state of each signal as `attend_inbox` tells it."""
    listed = story.client.call_tool("attend_inbox")["structuredContent"]["signals"]
    return {one["id"]: one["state"] for one in listed}


def written(story: Story) -> dict[str, int]:
    """When each file of the bus was last written."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(story.bus.root) for name in names]
    return {path: os.stat(path).st_mtime_ns for path in paths}


@pytest.mark.demand("CON-1", "ATT-9")
@pytest.mark.field_report(1)
def test_swallowed_by_the_client_a_message_is_listed_as_not_seen_and_the_next_stop_shows_it_once(
    begin: Callable[..., Story],
) -> None:
    story = begin(argv=FLAGGED, channel="swallow", inbox="off", stop_hook=HOOK).ready()
    signal = story.send("do you hear me?")
    story.client.wait_channel_event(count=2)
    ledger_folder = os.path.dirname(layout.ledger(story.bus.root, story.instance().key))  # type: ignore[union-attr]
    until(ledger_folder, lambda: story.state(signal) == "queued")
    assert inbox(story) == {signal.id: "queued"}
    for turn in (1, 2):
        story.client.type(f"turn {turn}")
        story.client.wait_status("idle", count=turn + 1)
    assert given(story, signal) == 1
    story.wait_seen(signal)
    assert len(story.client.channel_events) == 2


@pytest.mark.demand("CON-1")
@pytest.mark.field_report(2)
def test_a_server_killed_between_the_file_and_the_push_loses_nothing(begin: Callable[..., Story]) -> None:
    story = begin(argv=FLAGGED).ready()
    tool = story.client.begin_tool()
    before = story.send("on disk, and the session is busy")
    story.settled()
    story.client.server.kill()
    story.client.wait_server_exit()
    without = story.send("sent while no server is there")
    assert [story.state(signal) for signal in (before, without)] == ["queued", "queued"]
    story.client.end_tool(tool)
    story.client.finish_turn()
    story.client.wait_status("idle", count=2)
    story.client.start_server()
    story.wait_seen(before, without)
    assert [given(story, signal) for signal in (before, without)] == [1, 1]


@pytest.mark.demand("CON-6")
@pytest.mark.field_report(7)
def test_two_servers_of_one_session_bring_five_messages_five_times_in_total(begin: Callable[..., Story]) -> None:
    story = begin(argv=FLAGGED).ready()
    second = story.client.start_server()
    story.client.wait_event("channel_open", lambda event: event["key"] == second)
    signals = []
    for number in range(5):
        signals.append(story.send(f"number {number}"))
        story.wait_seen(signals[-1])
    assert [given(story, signal) for signal in signals] == [1] * 5
    ids = [one for event in story.client.channel_events for one in event.params["meta"]["ids"].split()]
    assert ids == [signal.id for signal in signals]
    story.client.server.kill()  # the one that was started last
    story.client.wait_server_exit(second)
    last = story.send("to the survivor")
    story.wait_seen(last)
    assert given(story, last) == 1


@pytest.mark.demand("CON-1", "ATT-9")
@pytest.mark.field_report(9)
def test_three_messages_of_a_busy_turn_are_pushed_or_drained_and_none_of_them_both(
    begin: Callable[..., Story],
) -> None:
    story = begin(argv=FLAGGED, stop_hook=HOOK, turn_ms=None, transcript_delay_ms=400)
    story.client.wait_handshake()
    story.client.type("hello")
    tool = story.client.begin_tool()
    until(layout.instances(story.bus.root), story.instance)
    signals = [story.send(f"number {number}") for number in range(3)]
    story.settled()
    assert story.client.channel_events == []
    story.client.end_tool(tool)
    while not all(given(story, signal) for signal in signals):
        story.client.finish_turn()
    story.client.finish_turn()
    story.wait_seen(*signals)
    assert [given(story, signal) for signal in signals] == [1, 1, 1]


@pytest.mark.demand("SRV-3", "SRV-5")
@pytest.mark.field_report(11)
def test_a_relayed_permission_request_is_met_with_silence_and_writes_nothing(begin: Callable[..., Story]) -> None:
    story = begin(argv=FLAGGED).ready()
    story.settled()
    before = written(story)
    said = len(story.client.lines)
    params = {"request_id": "abcde", "tool_name": "Bash", "description": "delete", "input_preview": "rm -rf /"}
    for method in ("notifications/claude/channel/permission_request", "notifications/claude/channel/permission"):
        story.client.send({"jsonrpc": "2.0", "method": method, "params": params})
    story.client.ask("ping")
    answered = [line.json() for line in story.client.lines[said:] if line.direction == "received"]
    assert [answer.get("result") for answer in answered] == [{}]
    assert written(story) == before


@pytest.mark.demand("CON-1", "ATT-2")
@pytest.mark.field_report(16)
def test_a_session_that_nothing_can_wake_takes_nothing_from_the_flagged_one_at_its_address(
    begin: Callable[..., Story],
) -> None:
    plain = begin(inbox="off").ready()
    flagged = begin(argv=FLAGGED).ready()
    signal = flagged.send("whoever works here", to=flagged.client.plan.project)
    flagged.wait_seen(signal)
    plain.settled()
    assert (given(flagged, signal), given(plain, signal)) == (1, 0)
    assert [slip.id for slip in trays.waiting(plain.bus.root, plain.client.session_id)] == [signal.id]
    assert plain.state(signal) == "queued"
    assert inbox(plain) == {signal.id: "queued"}


@pytest.mark.demand("ATT-11", "CON-2")
@pytest.mark.field_report(61)
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="looks by /proc whether nothing is watched")
def test_where_the_system_tells_of_no_change_of_a_file_mail_comes_within_two_seconds(tmp_path: Path) -> None:
    blind = COMMAND[-1].replace(
        "from agent_ways.server",
        "import agent_ways.base.watch\nagent_ways.base.watch.file_watch = lambda: None\nfrom agent_ways.server",
    )
    assert blind != COMMAND[-1]
    with FakeClient(tmp_path, Plan(server=(*COMMAND[:-1], blind), argv=FLAGGED)) as client:
        story = Story(client).ready()
        open_files = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{client.server_pid}/fd")]
        assert not [what for what in open_files if "inotify" in what]
        took = []
        for number in range(3):
            signal = story.send(f"number {number}")
            client.wait_shown(lambda shown, signal=signal: any(signal.id in text for text in shown.texts))  # type: ignore[misc]  # bound now
            took.append(time.time() - signal.at / 1000)
            story.wait_seen(signal)
        assert sorted(took)[1] < 2.5  # one look every two seconds, and what the client itself takes


@pytest.mark.demand("ID-9", "CON-1")
@pytest.mark.field_report(91)
def test_a_record_that_says_idle_under_an_open_permission_dialog_is_not_believed(begin: Callable[..., Story]) -> None:
    story = begin(argv=FLAGGED).ready()
    tool = story.client.begin_tool()
    transcripts = os.path.dirname(story.client.transcript_path())
    until(transcripts, lambda: "tool_use" in str(story.client.transcript()))
    story.client.write_record(json.dumps({**story.client.record(), "status": "idle"}).encode())
    signals = [story.send(f"number {number}") for number in range(3)]
    for _ in range(3):
        story.settled()
        assert set(inbox(story).values()) == {"queued"}
    assert story.client.channel_events == []
    assert [shown for shown in story.client.shown if shown.kind == "peer"] == []
    story.client.end_tool(tool)
    story.client.finish_turn()
    story.wait_seen(*signals)
    assert [given(story, signal) for signal in signals] == [1, 1, 1]
