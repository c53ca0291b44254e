"""The sensor loop: which lines it prints, for whom, and when it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.attend import headers, ids, intake, layout, ledger, loop, trays
from agent_ways.attend.guard import PACED
from agent_ways.attend.sensors.keepwarm import Keepwarm
from agent_ways.attend.sensors.messages import LONGEST, MOST_LINES, NAMED_PER_LINE, Messages, compose
from agent_ways.keepalive import store
from agent_ways.keepalive.record import Record
from tests.attend.frontends.monitor import Monitor
from tests.attend.test_drain import ATTEND, made
from tests.attend.world import A, B, World
from tests.support import transcripts as rows
from tests.support.clock import START
from tests.support.fake_client import FakeClient, Plan
from tests.support.transcripts import NOON
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN = (*ATTEND, "run")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FakeClient]:
    with FakeClient(tmp_path, Plan()) as made_client:
        made_client.type("hello")
        made_client.wait_status("idle")
        row = {"type": "permission-mode", "permissionMode": "default", "sessionId": made_client.session_id}
        made_client.append_transcript(row)
        yield made_client


def terminal(client: FakeClient, *words: str) -> subprocess.CompletedProcess[str]:
    """`attend` as the person runs it at a terminal of the same home."""
    env = {"HOME": client.plan.home, "PATH": os.environ["PATH"]}
    return subprocess.run(
        [*ATTEND, *words], env=env, capture_output=True, text=True, check=True, timeout=60, stdin=subprocess.DEVNULL
    )


def send(client: FakeClient, *words: str) -> str:
    """Send as the person; the signal's id."""
    return str(json.loads(terminal(client, "send", "--json", *words).stdout)["id"])


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def tray(client: FakeClient) -> str:
    return layout.tray(layout.bus_root({"HOME": client.plan.home}), client.session_id)


@pytest.mark.demand("ATT-8", "CON-1")
def test_mail_becomes_one_line_and_the_notification_of_it_is_the_proof(client: FakeClient, tmp_path: Path) -> None:
    monitor = Monitor(client, RUN, tmp_path / "monitor")
    sent = send(client, "--to", client.session_id, "two lines\nof text")
    [line] = monitor.lines(1)
    assert line.startswith(f"[attend signal {sent} from ")
    assert line.endswith("] two lines ⏎ of text")
    client.append_transcript(rows.notification(line, NOON))
    until(tray(client), lambda: not os.listdir(tray(client)))
    [receipt] = json.loads(terminal(client, "show", sent, "--json").stdout)["receipts"]
    assert (receipt["state"], receipt["proof"]["kind"]) == ("seen", "loop")
    assert monitor.lines() == [line]


@pytest.mark.demand("ATT-8", "CON-3")
def test_talk_in_the_open_room_wakes_nobody_and_rides_along(client: FakeClient, tmp_path: Path) -> None:
    monitor = Monitor(client, RUN, tmp_path / "monitor")
    send(client, "--to", "*", "idle talk")
    send(client, "--to", client.session_id, "for you")
    lines = monitor.lines(2)
    assert [line.partition("] ")[2] for line in lines] == ["idle talk", "for you"]


@pytest.mark.demand("ATT-8")
def test_a_second_loop_of_a_session_exits_0_and_says_so(client: FakeClient, tmp_path: Path) -> None:
    monitor = Monitor(client, RUN, tmp_path / "monitor")
    second = client.spawn(RUN, timeout=30)
    assert (second["code"], second["stderr"]) == (0, "")
    assert f"already running for this session (process {monitor.process.pid}" in second["stdout"]
    assert monitor.process.alive
    assert monitor.lines() == []


@pytest.mark.demand("ATT-8")
def test_the_loop_ends_when_its_claude_process_is_killed(client: FakeClient, tmp_path: Path) -> None:
    monitor = Monitor(client, RUN, tmp_path / "monitor")
    os.kill(client.pid, signal.SIGKILL)
    assert monitor.process.wait(10)
    assert monitor.lines() == []


@pytest.mark.demand("ATT-8", "ATT-6")
def test_the_loop_follows_clear_and_mail_to_either_id_arrives_once(client: FakeClient, tmp_path: Path) -> None:
    monitor = Monitor(client, RUN, tmp_path / "monitor")
    first = client.session_id
    client.clear()
    send(client, "--to", first, "to the old id")
    assert "to the old id" in monitor.lines(1)[0]
    send(client, "--to", client.session_id, "to the new id")
    assert "to the new id" in monitor.lines(2)[1]
    assert len(monitor.lines()) == 2


@pytest.mark.demand("ATT-8", "ATT-6")
@pytest.mark.skipif(not os.path.isdir("/proc/self/fdinfo"), reason="counts what inotify watches")
def test_after_200_clears_the_loop_watches_as_little_as_after_a_few(client: FakeClient, tmp_path: Path) -> None:
    monitor = Monitor(client, RUN, tmp_path / "monitor")
    root = layout.bus_root({"HOME": client.plan.home})

    def watches() -> int:
        folder = f"/proc/{monitor.process.pid}/fdinfo"
        return sum(_read(os.path.join(folder, name)).count("inotify wd:") for name in os.listdir(folder))

    counts = []
    for _ in range(200):
        client.clear()
        until(layout.trays(root), lambda: os.path.isdir(layout.tray(root, client.session_id)))
        counts.append(watches())
    sent = send(client, "--to", client.first_session_id, "to the first id of all")
    assert sent in monitor.lines(1)[0]
    assert watches() <= trays.FOLLOWED + 2
    assert max(counts) <= trays.FOLLOWED + 4
    assert sum(len(files) + len(folders) for _, folders, files in os.walk(layout.trays(root))) <= 3 * trays.FOLLOWED


@pytest.mark.demand("ATT-4")
def test_a_session_sends_while_its_loop_runs_and_is_refused_once_it_ended(client: FakeClient, tmp_path: Path) -> None:
    refused = client.spawn([*ATTEND, "send", "--to", "operator", "x"], timeout=30)
    assert refused["code"] == 3
    assert "attend run" in refused["stderr"]
    monitor = Monitor(client, RUN, tmp_path / "monitor")
    sent = client.spawn([*ATTEND, "send", "--to", "operator", "x"], timeout=30)
    assert sent["code"] == 0, sent
    monitor.process.send_signal(signal.SIGTERM)
    assert monitor.process.wait(10)
    assert client.spawn([*ATTEND, "send", "--to", "operator", "x"], timeout=30)["code"] == 3


@pytest.mark.demand("ATT-8", "CON-5")
def test_a_burst_becomes_few_lines_that_name_every_signal_once() -> None:
    waiting = [made(number, f"mail {number}") for number in range(200)]
    lines, shown = compose(waiting)
    assert len(lines) == -(-200 // NAMED_PER_LINE)
    named = [signal_id for line in lines for signal_id in headers.read_back(line)[1]]
    assert sorted(named) == sorted(shown) == [signal.id for signal in waiting]


@pytest.mark.demand("ATT-8")
@given(st.lists(st.text(max_size=600), max_size=300, min_size=1))
def test_no_line_is_longer_than_monitor_turns_or_says_of_a_signal_what_is_not_so(bodies: list[str]) -> None:
    waiting = [made(number, body or "x") for number, body in enumerate(bodies)]
    lines, shown = compose(waiting)
    assert 0 < len(lines) <= MOST_LINES
    assert all(len(line) <= LONGEST and "\n" not in line and loop.cut(line) == line for line in lines)
    whole = {signal_id for line in lines for signal_id in headers.read_back(line)[0]}
    named = {signal_id for line in lines for signal_id in headers.read_back(line)[1]}
    assert whole | named == shown
    assert not whole & named
    for line in lines:
        for one in waiting:
            if one.id in headers.read_back(line)[0]:
                assert headers.inert(one.body).replace("\n", " ⏎ ") in line


@pytest.mark.demand("ATT-8")
def test_at_rest_the_loop_asks_for_no_time_and_with_something_under_way_for_little(world: World) -> None:
    me = world.session(10, A)
    world.asks(A)
    sensor = Messages(world.bus)
    assert sensor.look(me).after is None
    world.send(None, "x", A)
    found = sensor.look(me)
    assert (len(found.lines), found.after) == (1, 1.0)
    assert sensor.look(me).after == 1.0
    world.write(A, rows.notification(found.lines[0], NOON))
    assert sensor.look(me).after is None
    assert trays.waiting(world.bus.root, A) == []


def test_a_setting_keeps_mail_from_waking_anybody(world: World) -> None:
    me = world.session(10, A)
    folder = os.path.join(world.home, ".config/agent-ways")
    os.makedirs(folder)
    with open(os.path.join(folder, "config.toml"), "w", encoding="utf-8") as file:
        file.write('[attend]\nwake = "never"\n')
    world.send(None, "x", A)
    assert Messages(world.bus).look(me).lines == ()


@pytest.mark.demand("CON-4", "ATT-8")
@pytest.mark.parametrize("mode", ["bypassPermissions", "some new mode", None])
def test_in_a_mode_that_asks_nobody_the_loop_only_rings_the_doorbell(world: World, mode: str | None) -> None:
    me = world.session(10, A)
    if mode is not None:
        world.asks(A, mode)
    sent = world.send(None, "rm -rf everything", A).signal.id
    [line] = Messages(world.bus).look(me).lines
    assert "rm -rf" not in line
    assert headers.read_back(line) == (frozenset(), frozenset({sent}))
    world.write(A, rows.notification(line, NOON))
    assert Messages(world.bus).look(me).lines == ()
    assert ledger.read(world.bus, me.key).state(sent) == "announced"


@pytest.mark.demand("CON-4", "ATT-8")
def test_where_the_mode_that_asks_nobody_is_in_reach_the_loop_only_rings_whatever_the_transcript_says(
    world: World,
) -> None:
    world.table.add(10, argv=("claude", "--allow-dangerously-skip-permissions"))
    me = world.session(10, A)
    world.asks(A)
    world.send(None, "rm -rf everything", A)
    [line] = Messages(world.bus).look(me).lines
    assert "rm -rf" not in line


@pytest.mark.demand("CON-4", "ATT-8")
def test_the_loop_paces_a_session_that_answers_whatever_comes_and_says_why(world: World) -> None:
    me, other = world.session(10, A), world.session(20, B)
    world.asks(A)
    sensor = Messages(world.bus)
    for number in range(PACED):
        world.send(other, f"and you? {number}", A)
        found = sensor.look(me)
        shown = [line for line in found.lines if headers.read_back(line)[0]]
        assert len(shown) == 1
        assert any("at most once a minute" in line for line in found.lines) == (number == PACED - 1)
        world.write(A, rows.notification(shown[0], NOON))
    world.send(other, "and you again?", A)
    waits = sensor.look(me)
    assert waits.lines == ()
    assert waits.after is not None
    assert 0 < waits.after <= 60
    world.clock.advance(60)
    assert any("and you again?" in line for line in sensor.look(me).lines)


@pytest.mark.demand("ATT-2", "CON-3")
def test_a_note_to_self_that_lies_in_the_tray_starts_no_turn(world: World) -> None:
    me = world.session(10, A)
    world.asks(A)
    world.send(me, "for later", "self")
    intake.take_self(world.bus, me)
    assert Messages(world.bus).look(me).lines == ()
    world.send(None, "for now", A)
    [line] = Messages(world.bus).look(me).lines
    assert "for now" in line


@pytest.mark.demand("ATT-8")
def test_two_conduits_never_show_the_same_signal(world: World) -> None:
    me = world.session(10, A)
    world.write(A, rows.typed("hello", NOON))
    world.send(None, "x", A)
    world.claim(me)
    assert Messages(world.bus).look(me).lines == ()


def warm(world: World, minutes_ago: float, *, armed: bool = True) -> Keepwarm:
    """A session whose last request was so long ago, on the hour tier, with this process below its client."""
    world.session(10, A)
    world.table.add(os.getpid(), parent=10, start=f"s{os.getpid()}")
    at = int((START - minutes_ago * 60) * 1000)
    world.write(A, rows.typed("go on", at - 1000), rows.assistant("m1", at, tokens=rows.usage(write_1h=5000)))
    folder = os.path.join(world.home, ".config/agent-ways")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.toml"), "w", encoding="utf-8") as file:
        file.write(f"[keepalive]\narmed = {str(armed).lower()}\n")
    return Keepwarm(world.bus)


@pytest.mark.demand("KA-9", "KA-3")
def test_keepwarm_asks_for_a_word_in_the_last_quarter_once_and_is_silent_before(world: World) -> None:
    me = world.session(10, A)
    sensor = warm(world, 30)
    assert sensor.look(me).lines == ()
    world.clock.advance(20 * 60)
    [line] = sensor.look(me).lines
    assert len(line) <= LONGEST
    assert "\n" not in line
    assert sensor.look(me).lines == ()


@pytest.mark.demand("KA-1", "KA-9")
def test_keepwarm_is_off_until_it_is_armed_and_leaves_no_record(world: World) -> None:
    me = world.session(10, A)
    found = warm(world, 50, armed=False).look(me)
    assert (found.lines, found.after) == ((), 60.0)
    assert not os.path.exists(store.record_path(os.path.dirname(world.bus.root), A))


@pytest.mark.demand("KA-6")
def test_between_a_wrap_and_the_next_prompt_the_loop_brings_no_mail(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = world.session(10, A)
    monkeypatch.setattr("agent_ways.attend.sensors.messages.is_quiet", lambda *_: True)
    world.send(None, "x", A)
    assert Messages(world.bus).look(me).lines == ()
    monkeypatch.undo()
    assert len(Messages(world.bus).look(me).lines) == 1
    assert Record(session=B).session == B


def test_a_signal_that_is_still_on_its_way_prints_nothing_and_is_printed_when_it_is_there(world: World) -> None:
    me = world.session(10, A)
    late = made(1, "late")
    trays.put(world.bus, [trays.Slip(A, late.id, trays.DIRECT)])
    assert Messages(world.bus).look(me).lines == ()
    assert ids.is_id(late.id)
