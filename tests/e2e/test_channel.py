"""One session with the channel flag, from its start over events and `/clear` to its resumption."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.server.registry import REGISTRY
from tests.e2e.gate import Gate
from tests.e2e.home import STATUS_TOOL
from tests.e2e.lab import CHANNEL_FLAG, Lab, Session, ToolAnswer
from tests.e2e.probe import SCRIPT, Probe
from tests.e2e.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.clients import Client
    from tests.e2e.stub_api import ApiRequest

_HANDSHAKE = (
    (
        '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
        '"clientInfo":{"name":"by-hand","version":"1"}}}'
    ),
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ways_status","arguments":{}}}',
)


@dataclass(frozen=True)
class Event:
    """A pushed event: the request that gave it to the model, and the transcript afterwards."""

    text: str
    request: ApiRequest
    rows: list[dict[str, Any]]

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The rows that show the event given to the model: as a turn of its own, or absorbed into a running one."""
        return [row for row in self.rows if row["type"] in ("user", "attachment") and self.text in str(row)]


@dataclass(frozen=True)
class Story:
    """What was seen, step by step, in one session; `*_status` are answers of `ways_status`."""

    client_pid: int
    server: int
    first: str
    first_status: Any
    first_markers: list[str]
    idle: Event
    proven_status: Any
    busy: Event
    markers_meanwhile: list[str]
    others: str
    markers_afterwards: list[str]
    cleared: str
    cleared_markers: list[str]
    cleared_status: Any
    after_clear: Event
    same_server: bool
    resumed: str
    resumed_status: Any


def push_and_wait(session: Session, probe: Probe, text: str) -> Event:
    since = len(session.api.answers)
    probe.push(text, kind="test")
    answer = session.turn_with(text, since=since)
    return Event(text, answer.request, session.rows())


def push_while_busy(session: Session, probe: Probe, text: str) -> Event:
    """Push while the model's Bash call runs; the call ends once the client has queued the event."""
    gate = Gate(session)
    since = len(session.api.answers)
    session.terminal.type(f"CALL:Bash:{json.dumps({'command': gate.wait_command})}")
    with gate:
        probe.push(text, kind="test")
        until("the event in the client's queue", lambda: text in str(session.rows()))
    answer = session.api.wait_answer("the absorbed event", lambda one: one.request.mentions(text), since=since)
    session.settled(answer)
    return Event(text, answer.request, session.rows())


def run_others(session: Session, ways_mcp: str) -> tuple[list[str], ToolAnswer]:
    """Let the model run `claude mcp list` and the server itself; the markers meanwhile, and what the model was told.

    The server that runs by hand is looked at after it answered a call of ways_status, with its stdin still open.
    """
    gate = Gate(session)
    told = os.path.join(session.home.root, "by-hand.jsonl")
    words = " ".join(shlex.quote(line) for line in _HANDSHAKE)
    by_hand = f"{{ printf '%s\\n' {words}; {gate.wait_command}; }} | {shlex.quote(ways_mcp)} > {told}; cat {told}"
    since = len(session.api.answers)
    session.terminal.type(f"CALL:Bash:{json.dumps({'command': f'claude mcp list; {by_hand}'})}")
    with gate:
        until("the answer of the server run by hand", lambda: _lines(told) == 2, instead=session.terminal.screen)
        meanwhile = session.home.markers()
    return meanwhile, session.tool_answer(since=since)


def _lines(path: str) -> int:
    try:
        with open(path, encoding="utf-8") as file:
            return sum(1 for _ in file)
    except FileNotFoundError:
        return 0


@pytest.fixture(scope="module")
def story(client: Client, ways_mcp: str) -> Iterator[Story]:
    with Lab(client) as lab:
        lab.home.settings(STATUS_TOOL, "Bash(*)")
        probe = Probe.register(lab, ways_mcp)
        session = lab.start(*CHANNEL_FLAG)
        first, (server,) = session.id, session.servers(SCRIPT)
        first_status = session.call(STATUS_TOOL).value
        first_markers = lab.home.markers()
        idle = push_and_wait(session, probe, "event one <with> marks & more")
        proven_status = session.call(STATUS_TOOL).value
        busy = push_while_busy(session, probe, "event two")
        meanwhile, others = run_others(session, ways_mcp)
        afterwards = lab.home.markers()
        cleared = session.clear()
        cleared_markers = until("a renamed marker", lambda: _all_of(lab.home.markers(), cleared))
        cleared_status = session.call(STATUS_TOOL).value
        after_clear = push_and_wait(session, probe, "event three")
        same_server = [process.pid for process in session.servers(SCRIPT)] == [server.pid]
        session.exit()
        resumed = lab.start("--resume", cleared, *CHANNEL_FLAG)
        yield Story(
            client_pid=session.pid,
            server=server.pid,
            first=first,
            first_status=first_status,
            first_markers=first_markers,
            idle=idle,
            proven_status=proven_status,
            busy=busy,
            markers_meanwhile=meanwhile,
            others=others.text,
            markers_afterwards=afterwards,
            cleared=cleared,
            cleared_markers=cleared_markers,
            cleared_status=cleared_status,
            after_clear=after_clear,
            same_server=same_server,
            resumed=resumed.id,
            resumed_status=resumed.call(STATUS_TOOL).value,
        )


def _all_of(markers: list[str], session: str) -> list[str]:
    return markers if markers and all(name.startswith(session) for name in markers) else []


def channel_of(status: Any) -> str:
    return str(status["conduits"]["channel"]["state"])


@pytest.mark.demand("SRV-12")
def test_a_flag_alone_is_no_proof(story: Story) -> None:
    assert channel_of(story.first_status) == "unknown"


@pytest.mark.demand("SRV-10")
def test_the_module_of_a_test_is_live_by_one_file_and_one_line(story: Story) -> None:
    assert story.first_status["modules"] == {"live": [*(entry.name for entry in REGISTRY), "probe"], "failed": []}


@pytest.mark.demand("CON-2", "SRV-3")
def test_an_event_wakes_an_idle_session_and_stands_in_the_request(story: Story) -> None:
    (text,) = story.idle.request.last_user_texts()
    assert text == f'<channel source="agent-ways" kind="test">\n{story.idle.text}\n</channel>'


@pytest.mark.demand("SRV-12")
def test_an_event_in_a_turn_of_its_own_is_proven_by_the_transcript(story: Story) -> None:
    (row,) = story.idle.shown
    assert (row["type"], row["origin"]) == ("user", {"kind": "channel", "server": "agent-ways"})


@pytest.mark.demand("SRV-12")
def test_once_an_event_is_proven_the_channel_is_there(story: Story) -> None:
    assert channel_of(story.proven_status) == "yes"


@pytest.mark.demand("CON-2")
def test_an_event_during_a_tool_call_is_absorbed_into_the_running_turn(story: Story) -> None:
    (row,) = story.busy.shown
    assert row["attachment"]["type"] == "queued_command"
    assert row["attachment"]["origin"] == {"kind": "channel", "server": "agent-ways"}
    assert story.busy.request.mentions(story.busy.text)


@pytest.mark.demand("SRV-11")
def test_the_marker_is_there_while_the_session_runs(story: Story) -> None:
    assert story.first_markers == [f"{story.first}.{story.server}"]


@pytest.mark.demand("SRV-11")
def test_a_health_check_and_a_server_run_by_the_model_leave_the_sessions_marker_alone(story: Story) -> None:
    assert story.markers_meanwhile == story.first_markers
    assert story.markers_afterwards == story.first_markers


@pytest.mark.demand("SRV-11", "ID-1")
def test_a_health_check_and_a_server_run_by_the_model_do_answer(story: Story) -> None:
    assert "Connected" in story.others
    answers = [json.loads(line) for line in story.others.splitlines() if line.startswith('{"')]
    called = next(answer for answer in answers if answer["id"] == 1)
    assert called["result"]["structuredContent"]["server"] == "agent-ways"


@pytest.mark.demand("ID-1", "ID-2")
def test_after_clear_the_same_server_knows_the_new_session_and_names_the_stale_variable(story: Story) -> None:
    session = story.cleared_status["session"]
    assert story.same_server
    assert (session["id"], session["source"]) == (story.cleared, "record")
    assert story.first in session["disagreement"]
    assert session["claude_pid"] == story.client_pid


@pytest.mark.demand("SRV-11")
def test_after_clear_the_marker_is_renamed(story: Story) -> None:
    assert story.cleared_markers == [f"{story.cleared}.{story.server}"]


@pytest.mark.demand("SRV-12")
def test_after_clear_the_channel_is_not_denied(story: Story) -> None:
    assert channel_of(story.cleared_status) in ("yes", "unknown")


@pytest.mark.demand("CON-2")
def test_after_clear_an_event_goes_to_the_new_session(story: Story) -> None:
    (row,) = story.after_clear.shown
    assert row["origin"] == {"kind": "channel", "server": "agent-ways"}
    assert row["sessionId"] == story.cleared
    assert not story.after_clear.request.mentions(story.idle.text)


@pytest.mark.demand("ID-1")
def test_a_resumed_session_keeps_its_id(story: Story) -> None:
    session = story.resumed_status["session"]
    assert story.resumed == story.cleared
    assert (session["id"], session["source"], session["disagreement"]) == (story.cleared, "record", None)


@pytest.mark.demand("SRV-12")
def test_what_an_earlier_run_proved_is_no_proof_for_a_resumed_session(story: Story) -> None:
    assert channel_of(story.resumed_status) == "unknown"


@pytest.mark.demand("SRV-10", "CON-2")
def test_an_event_of_the_servers_first_second_is_held_and_becomes_the_sessions_first_turn(
    lab: Lab, ways_mcp: str
) -> None:
    probe = Probe.register(lab, ways_mcp)
    session = lab.launch(*CHANNEL_FLAG)
    # The marker comes with the end of the handshake; the client is deaf to events for a while from then on.
    until("the marker", lab.home.markers)
    probe.push("an early event", kind="test")
    session.turn_with("an early event", since=0)
    first = next(row for row in session.rows() if row["type"] == "user" and not _reminder(row))
    assert first["origin"] == {"kind": "channel", "server": "agent-ways"}


def _reminder(row: dict[str, Any]) -> bool:
    return str(row["message"]["content"]).lstrip("[{'\"").startswith("<system-reminder>")
