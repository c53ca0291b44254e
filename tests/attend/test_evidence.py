from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import delivery, evidence, headers, layout, ledger, seen, signals, trays
from agent_ways.attend.evidence import Settled
from tests.attend.world import A, B, C
from tests.support import transcripts as rows
from tests.support.transcripts import NOON

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_ways.attend.instances import Instance
    from agent_ways.attend.signals import Signal
    from tests.attend.world import World


def settle(world: World, who: Instance, idle_for: float | None = None) -> Settled:
    with ledger.open_ledger(world.bus, who.key) as opened:
        slips = ledger.settled(world.bus, opened, trays.waiting(world.bus.root, who.session))
        return evidence.settle(world.bus, opened, who, slips, idle_for)


def state(world: World, who: Instance, signal: Signal) -> str:
    if signal.id in seen.proofs(world.bus, who.key, [signal.id]):
        return delivery.SEEN
    return ledger.read(world.bus, who.key).state(signal.id)


def told(world: World, who: Instance, body: str = "hello") -> Signal:
    return world.send(None, body, who.session).signal


PROOFS: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "channel": ("channel", lambda text: rows.channel_event(text, NOON)),
    "peer": ("inbox socket", lambda text: rows.peer_message(text, NOON, pid=os.getpid())),
    "absorbed channel": (
        "channel",
        lambda text: rows.queued(text, NOON, {"kind": "channel", "server": "agent-ways"}),
    ),
    "absorbed peer": (
        "inbox socket",
        lambda text: rows.queued(text, NOON, {"kind": "peer", "verifiedPeerPid": os.getpid()}),
    ),
    "loop": ("loop", lambda text: rows.notification(text, NOON)),
    "feedback": ("drain", lambda text: rows.stop_feedback(text, NOON)),
    "context": ("drain", lambda text: rows.hook_context(text, NOON)),
}


@pytest.mark.demand("CON-1")
@pytest.mark.parametrize("kind", PROOFS)
def test_a_line_of_the_right_kind_that_shows_it_is_the_proof(world: World, kind: str) -> None:
    conduit, row = PROOFS[kind]
    who = world.session(100, A)
    signal = told(world, who)
    world.claim(who, conduit)
    assert state(world, who, signal) == delivery.PUSHED
    world.write(A, row(headers.shown(signal)))
    assert settle(world, who).seen == (signal.id,)
    assert state(world, who, signal) == delivery.SEEN
    assert world.waiting(A) == []
    assert seen.proofs(world.bus, who.key, [signal.id])[signal.id]["session"] == A
    assert not ledger.read(world.bus, who.key).claims


NO_PROOFS: dict[str, Callable[[str], dict[str, Any]]] = {
    "an enqueue": lambda text: rows.enqueue(text, NOON),
    "another server's channel": lambda text: rows.channel_event(text, NOON, server="other"),
    "another process's message": lambda text: rows.peer_message(text, NOON, pid=1),
    "a subagent's row": lambda text: rows.channel_event(text, NOON, isSidechain=True),
    "what the person typed": lambda text: rows.typed(text, NOON),
    "a shell's output": lambda text: rows.tool_result("toolu_1", NOON, text),
    "the model's words": lambda text: rows.assistant("msg_1", NOON, [{"type": "text", "text": text}]),
}


@pytest.mark.demand("CON-1")
@pytest.mark.parametrize("kind", NO_PROOFS)
def test_an_id_anywhere_else_proves_nothing(world: World, kind: str) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    world.claim(who)
    world.write(A, NO_PROOFS[kind](headers.shown(signal)))
    assert settle(world, who).seen == ()
    assert state(world, who, signal) == (delivery.ARRIVED if kind == "an enqueue" else delivery.PUSHED)
    assert len(world.waiting(A)) == 1


@pytest.mark.demand("CON-1")
def test_what_stood_in_the_transcript_before_the_claim_is_no_proof_of_it(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    world.write(A, rows.channel_event(headers.shown(signal), NOON))
    world.claim(who, offset=evidence.transcript_end(who))
    assert settle(world, who).seen == ()


@pytest.mark.demand("CON-1")
def test_a_doorbell_only_announces_and_reading_the_inbox_proves(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    world.claim(who)
    world.write(A, rows.channel_event(headers.named([signal.id]), NOON))
    assert settle(world, who).seen == ()
    assert state(world, who, signal) == delivery.ANNOUNCED
    assert world.claim(who, "drain") == []
    result = json.dumps({"v": 1, "signals": [{**signal.to_json(), "state": "announced", "proof": None}], "total": 1})
    tool = "mcp__agent-ways__attend_inbox"
    # The result's line may come before the call's, and in another look.
    world.write(A, rows.tool_result("toolu_1", NOON, [{"type": "text", "text": result}]))
    assert settle(world, who).seen == ()
    world.write(A, rows.assistant("msg_1", NOON, [rows.tool_use("toolu_1", tool)]))
    assert settle(world, who).seen == (signal.id,)


@pytest.mark.demand("CON-1")
def test_a_model_that_read_its_inbox_by_itself_is_not_shown_the_signal_again(world: World) -> None:
    who = world.session(100, A)
    signal, quoted = told(world, who), told(world, who, "other")
    body = json.dumps({"signals": [{"id": quoted.id, "body": "x"}]})
    result = json.dumps({"v": 1, "signals": [{**signal.to_json(), "body": body}], "total": 2})
    world.write(
        A,
        rows.assistant("msg_1", NOON, [rows.tool_use("toolu_1", "mcp__agent-ways__attend_inbox")]),
        rows.tool_result("toolu_1", NOON, [{"type": "text", "text": result}]),
    )
    assert settle(world, who).seen == (signal.id,)
    assert world.claim(who, "drain") == [quoted.id]


@pytest.mark.demand("CON-1")
def test_a_push_without_a_trace_is_tried_once_more_and_then_the_conduit_is_down_until_clear(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    world.claim(who)
    assert settle(world, who).retry == ()
    world.clock.advance(5)
    assert settle(world, who).retry == (signal.id,)
    assert settle(world, who).retry == ()
    assert state(world, who, signal) == delivery.PUSHED
    world.clock.advance(5)
    settle(world, who)
    assert state(world, who, signal) == delivery.QUEUED
    book = ledger.read(world.bus, who.key)
    assert book.why_down("channel", who.client, A)
    assert not book.why_down("channel", who.client, B)
    assert not book.why_down("inbox socket", who.client, A)
    assert world.claim(who, "drain") == [signal.id]


@pytest.mark.demand("CON-1")
def test_a_print_that_the_person_cut_off_is_shown_again_and_then_left_to_the_inbox(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    for requeued in range(2):
        assert world.claim(who, "drain") == [signal.id], requeued
        assert world.claim(who, "drain") == []
        world.clock.advance(5)
        settle(world, who)
        assert state(world, who, signal) == delivery.QUEUED
    assert world.claim(who, "drain") == []
    assert len(world.waiting(A)) == 1
    world.end(100)
    again = world.session(101, A)
    assert world.claim(again, "drain") == [signal.id]


@pytest.mark.demand("CON-1")
def test_a_late_proof_still_counts_after_the_claim_ended(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    world.claim(who, "drain")
    world.clock.advance(5)
    settle(world, who)
    assert state(world, who, signal) == delivery.QUEUED
    world.write(A, rows.hook_context(headers.shown(signal), NOON))
    assert settle(world, who).seen == (signal.id,)
    assert world.claim(who, "drain") == []


@pytest.mark.demand("CON-1")
def test_what_a_client_killed_at_once_had_written_down_is_not_shown_to_the_resumed_session(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    world.claim(who)
    world.end(100)
    settle(world, who)
    assert state(world, who, signal) == delivery.QUEUED
    world.write(A, rows.channel_event(headers.shown(signal), NOON))  # what was in its buffers when we looked
    again = world.session(101, A)
    assert settle(world, again).seen == (signal.id,)


@pytest.mark.demand("ATT-10", "CON-1")
def test_reading_the_inbox_proves_what_was_held_back_too(world: World) -> None:
    world.client(100, A)
    made = [world.send(None, str(number), A).signal for number in range(52)]
    who = world.arrive(100)
    result = json.dumps({"v": 1, "signals": [made[0].to_json(), made[51].to_json()]})
    world.write(
        A,
        rows.assistant("msg_1", NOON, [rows.tool_use("toolu_1", "mcp__agent-ways__attend_inbox")]),
        rows.tool_result("toolu_1", NOON, result),
    )
    assert set(settle(world, who).seen) == {made[0].id, made[51].id}
    assert len(trays.waiting(world.bus.root, A, held=True)) == 1


@pytest.mark.demand("CON-1")
def test_an_arrival_that_a_hook_blocks_is_pushed_again_once_and_then_left_to_the_inbox(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    for _ in range(2):
        assert world.claim(who) == [signal.id]
        world.write(A, rows.enqueue(headers.shown(signal), NOON))
        settle(world, who)
        assert state(world, who, signal) == delivery.ARRIVED
        world.clock.advance(60)
        settle(world, who)
        assert state(world, who, signal) == delivery.ARRIVED  # busy: the queue is not its turn yet
        settle(world, who, idle_for=5)
        assert state(world, who, signal) == delivery.QUEUED
    assert world.claim(who) == []


@pytest.mark.demand("CON-1")
def test_an_event_that_crosses_clear_is_proven_in_the_new_transcript(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    world.claim(who)
    world.write(A, rows.enqueue(headers.shown(signal), NOON))
    settle(world, who)
    world.client(100, C)
    world.write(C, rows.channel_event(headers.shown(signal), NOON))
    after = world.arrive(100)
    assert settle(world, after).seen == (signal.id,)
    assert seen.proofs(world.bus, after.key, [signal.id])[signal.id]["session"] == C


@pytest.mark.demand("CON-1")
def test_a_proof_in_a_transcript_that_was_cleared_again_before_anybody_looked_counts(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    world.claim(who)
    world.client(100, B)
    world.arrive(100)
    world.write(B, rows.channel_event(headers.shown(signal), NOON))
    world.client(100, C)
    assert settle(world, world.arrive(100)).seen == (signal.id,)


@pytest.mark.demand("CON-1")
def test_a_killed_client_s_claims_end_but_what_its_transcript_shows_stays_shown(world: World) -> None:
    who = world.session(100, A)
    shown, lost = told(world, who, "shown"), told(world, who, "lost")
    world.claim(who)
    world.write(A, rows.channel_event(headers.shown(shown), NOON))
    world.end(100)
    assert settle(world, who).seen == (shown.id,)
    assert state(world, who, lost) == delivery.QUEUED
    again = world.session(101, A)
    assert world.claim(again) == [lost.id]


@pytest.mark.demand("CON-1")
def test_no_readable_transcript_is_said_and_nothing_is_concluded(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    world.claim(who)
    os.makedirs(os.path.join(world.config, "projects", "x"))
    os.mkfifo(os.path.join(world.config, "projects", "x", f"{A}.jsonl"))
    world.clock.advance(5)
    assert settle(world, who).retry == (signal.id,)  # a FIFO is no transcript: there is none yet
    os.rename(world.config, world.config + ".away")
    world.clock.advance(5)
    assert settle(world, who) == Settled()
    assert state(world, who, signal) == delivery.PUSHED


def test_a_transcript_that_grew_without_end_is_read_from_where_the_last_looks_ended(world: World) -> None:
    who = world.session(100, A)
    told(world, who)
    world.claim(who)
    for turn in range(5):
        world.write(A, *[rows.assistant(f"msg_{turn}_{one}", NOON) for one in range(50)])
        settle(world, who)
    start, end = ledger.read(world.bus, who.key).looked[A]
    size = evidence.transcript_end(who)
    assert end == size
    assert size - start < size / 4


def test_two_conduits_at_once_claim_each_signal_once(world: World) -> None:
    who = world.session(100, A)
    made = [told(world, who, str(number)).id for number in range(5)]
    assert world.claim(who, "channel") == made
    assert world.claim(who, "drain") == []


def test_a_mark_that_a_kill_left_beside_its_slip_counts(world: World) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    seen.mark(world.bus, who.key, {signal.id: {"kind": "channel", "session": A, "at": None}})
    assert world.claim(who) == []
    assert world.waiting(A) == []


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize(
    "content", [b"", b'{"v":1', b"[]", b'{"v":1,"claims":{"x":1,"y":{"state":"no"}},"last":3,"looked":[]}']
)
def test_a_damaged_ledger_counts_as_empty_and_is_written_anew(world: World, content: bytes) -> None:
    who = world.session(100, A)
    signal = told(world, who)
    with open(layout.ledger(world.bus.root, who.key), "wb") as file:
        file.write(content)
    assert world.claim(who) == [signal.id]
    assert ledger.read(world.bus, who.key).state(signal.id) == delivery.PUSHED


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("junk", [b"", b"\n\n", b'{"v":1,"id":', b"\xff\xfe\n", b"[]\n", b'{"id":"../x"}\n'])
def test_a_torn_mark_file_keeps_its_other_marks_and_takes_new_ones(world: World, junk: bytes) -> None:
    who = world.session(100, A)
    first, second = told(world, who), told(world, who)
    proof = {"kind": "channel", "session": A, "at": None}
    seen.mark(world.bus, who.key, {first.id: proof})
    (path,) = [entry.path for entry in os.scandir(layout.marks(world.bus.root, who.key))]
    with open(path, "ab") as file:
        file.write(junk)
    seen.mark(world.bus, who.key, {second.id: proof})
    assert set(seen.proofs(world.bus, who.key, [first.id, second.id])) == {first.id, second.id}


def test_only_results_that_are_ours_are_read(world: World) -> None:
    assert evidence.in_result("no json") == []
    assert evidence.in_result('{"signals": 3}') == []
    assert evidence.in_result('{"signals": [{"id": "x", "body": "y"}, 4]}') == []
    signal = told(world, world.session(100, A))
    assert evidence.in_result(json.dumps({"signals": [{"id": signal.id}]})) == []
    assert isinstance(signals.read(world.bus, signal.id), signals.Signal)
