from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from agent_ways.claude.transcript import Row
from agent_ways.keepalive.events import Event, header, named_in, new_id, ping, wrap
from agent_ways.keepalive.traces import traces
from tests.support import transcripts as rows_of
from tests.support.transcripts import NOON, SERVER, assistant, enqueue, usage

if TYPE_CHECKING:
    from agent_ways.keepalive.situation import Trace

A, B = "00000000000000aa", "00000000000000bb"
WRAPPED = '<cross-session-message from-name="agent-ways">\n{}\n</cross-session-message>'


def traced(*raws: dict[str, object], ids: tuple[str, ...] = (A,)) -> Trace:
    rows = [Row(raw, line) for line, raw in enumerate(raws)]
    return dict(traces(rows, ids, SERVER))[ids[0]]


@pytest.mark.demand("KA-3")
def test_the_ping_asks_for_one_word_and_no_tools_and_says_who_sends_it() -> None:
    text = ping(A, "channel").text
    assert text.startswith(header("ping", A) + "\n")
    for words in ("one word", "no tools", "agent-ways server", "No person", "operator armed"):
        assert words in text
    assert len(text) < 450


@pytest.mark.demand("KA-8")
def test_the_wrap_stands_alone_names_its_skill_and_forbids_what_needs_a_permission() -> None:
    text = wrap(A, "channel", 8 * 3_600_000).text
    for words in ('skill "wrap"', "attend_send", '"self"', '"operator"', "typed nothing for 8 h", "what is open"):
        assert words in text
    for words in ("no edits", "no commits", "no commands", "no questions", "do not try again", "end the turn"):
        assert words in text
    assert "second time" not in text
    assert header("wrap", A) in wrap(A, "channel", 1, again=True).text.split("\n")[-1]


@pytest.mark.demand("ATT-8", "KA-8")
@pytest.mark.parametrize("event", [ping(A, "loop"), wrap(A, "loop", 8 * 3_600_000)])
def test_for_the_sensor_loop_an_event_is_one_short_line(event: Event) -> None:
    assert "\n" not in event.text
    assert len(event.text) <= 400
    assert event.text.startswith(header(event.kind, A))


@pytest.mark.demand("CON-5")
@pytest.mark.parametrize("event", [ping(A, "channel"), wrap(A, "inbox_socket", 1)])
def test_an_events_attributes_are_ones_that_the_client_keeps(event: Event) -> None:
    assert all(re.fullmatch("[a-z_][a-z0-9_]*", key) and key != "source" for key in event.meta)
    assert all(event.meta.values())
    assert "</channel>" not in event.text


@pytest.mark.demand("KA-7")
@pytest.mark.parametrize("event", [ping(A, "channel"), wrap(A, "channel", 5)])
def test_an_event_is_found_again_on_each_kind_of_line_that_is_proof(event: Event) -> None:
    text = event.text
    channel = {"kind": "channel", "server": SERVER}
    line = ping(A, "loop").text
    for row in (
        rows_of.channel_event(text, NOON),
        rows_of.peer_message(WRAPPED.format(text), NOON),
        rows_of.queued(f'<channel source="agent-ways" kind="x">\n{text}\n</channel>', NOON, channel),
        rows_of.queued(WRAPPED.format(text), NOON, {"kind": "peer"}),
        rows_of.notification(line, NOON),
        rows_of.notification(f"a line of another sensor\n{line}", NOON),
    ):
        found = traced(row)
        assert found.proof is not None, row
        assert (found.proof.at_ms, found.arrived) == (NOON, False)
    twice = traced(rows_of.channel_event(text, NOON), rows_of.peer_message(WRAPPED.format(text), NOON + 900))
    assert twice.proof is not None
    assert (twice.proof.kind, twice.proof.at_ms) == ("channel", NOON)


@pytest.mark.demand("KA-7", "CON-1")
def test_a_quotation_another_servers_event_a_prompt_and_a_subagent_prove_nothing() -> None:
    text = ping(A, "channel").text
    for row in (
        rows_of.typed(text, NOON),
        rows_of.typed(f'<channel source="agent-ways">\n{text}\n</channel>', NOON),
        rows_of.channel_event(text, NOON, server="other"),
        rows_of.channel_event(f"from Heron: look at\n{text}", NOON),
        rows_of.peer_message(WRAPPED.format(f"> {text}"), NOON),
        rows_of.channel_event(text, NOON, isSidechain=True),
        rows_of.tool_result("toolu_1", NOON, text),
        rows_of.stop_feedback(text, NOON),
        assistant("msg_1", NOON, [{"type": "text", "text": text}]),
        rows_of.channel_event(ping(B, "channel").text, NOON),
    ):
        assert traced(row).proof is None, row


@pytest.mark.demand("KA-7")
def test_being_in_the_queue_is_arrival_and_no_proof() -> None:
    text = ping(A, "channel").text
    for content in (f'<channel source="agent-ways" kind="x">\n{text}\n</channel>', WRAPPED.format(text)):
        found = traced(enqueue(content, NOON))
        assert (found.arrived, found.proof) == (True, None)
    line = f"<task-notification>\n<event>{ping(A, 'loop').text}</event>\n</task-notification>"
    assert traced(enqueue(line, NOON)).arrived


@pytest.mark.demand("KA-4")
def test_the_answer_of_a_ping_is_the_first_after_it_that_has_a_size() -> None:
    text = ping(A, "channel").text
    found = traced(
        assistant("msg_0", NOON - 1, tokens=usage(read=1)),
        assistant("msg_1", NOON + 900, tokens=usage(read=40_000, write_1h=100)),
        rows_of.channel_event(text, NOON),
        assistant("msg_s", NOON + 10, tokens=usage(fresh=0, out=0), model="<synthetic>"),
        assistant("msg_e", NOON + 11, isApiErrorMessage=True),
        assistant("msg_2", NOON + 5_000, tokens=usage(read=1)),
    )
    assert found.answer is not None
    assert (found.answer.last_read_tokens, found.answer.last_write_tokens, found.answer.tier) == (40_000, 100, "1h")
    assert not found.compacted
    compacted = traced(
        rows_of.channel_event(text, NOON),
        rows_of.compact_boundary(NOON + 5),
        assistant("msg_1", NOON + 900, tokens=usage(read=0, write_1h=100)),
    )
    assert compacted.compacted
    assert traced(rows_of.channel_event(text, NOON)).answer is None


def test_ids_can_not_be_guessed_and_are_read_back_exactly() -> None:
    ids = {new_id() for _ in range(200)}
    assert len(ids) == 200
    for name in ids:
        assert named_in(f"<channel x>\n{header('ping', name)} more") == (("ping", name),)
    for odd in ("[agent-ways keepalive ping ]", "[agent-ways keepalive nap 00]", "[agent-ways keepalive ping XY]", "x"):
        assert named_in(f"<channel x>\n{odd}") == ()


@given(rows_of.transcripts)
def test_no_transcript_makes_the_search_fail(raws: list[dict[str, object]]) -> None:
    traced(*raws, ids=(A, B))
