"""What was met in the field with mail between sessions, played on the bus with made-up sessions and real processes."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading

import pytest

from agent_ways.attend import evidence, headers, ids, instances, layout, ledger, seen, trays
from agent_ways.attend.drain import drain
from agent_ways.attend.retention import tidy
from agent_ways.attend.sensors.messages import Messages
from agent_ways.claude.identity import identify
from tests.attend.children import Nursery
from tests.attend.frontends.callers import call, person, session
from tests.attend.test_flat import put_history
from tests.attend.world import A, B, World
from tests.support import transcripts as rows
from tests.support.transcripts import NOON

NOBODY = 65534


@pytest.mark.demand("ATT-6", "ATT-2")
@pytest.mark.field_report(5)
def test_mail_that_waits_for_a_session_outlives_its_process_and_is_there_once_it_is_resumed(world: World) -> None:
    before, writer = world.session(100, A), world.session(200, B)
    world.send(writer, "while it lives", A)
    world.end(100)
    world.send(writer, "while it is gone", A)
    world.end(200)
    assert world.bodies(A) == ["while it lives", "while it is gone"]
    after = world.session(101, A)
    assert after.key == before.key
    assert world.bodies(A) == ["while it lives", "while it is gone"]
    assert len(world.claim(after)) == 2


@pytest.mark.demand("ATT-6", "ATT-2")
@pytest.mark.field_report(44)
def test_a_session_whose_record_of_ours_was_deleted_while_it_lives_is_reached_and_registered_anew(world: World) -> None:
    before, writer = world.session(100, A), world.session(200, B)
    world.send(writer, "before", A)
    os.unlink(layout.instance(world.bus.root, before.key))
    sent = world.send(writer, "meanwhile", A)
    assert [(one.tray, one.live) for one in sent.recipients] == [(A, "alive")]
    after = world.arrive(100)
    assert after.session == A
    assert [one.session for one in instances.read_all(world.bus) if one.session == A] == [A]
    assert world.bodies(A) == ["before", "meanwhile"]
    assert len(world.claim(after)) == 2


@pytest.mark.demand("ATT-10", "ATT-9")
@pytest.mark.field_report(45)
def test_the_first_drain_before_ten_thousand_old_signals_is_a_count_and_not_a_flood(world: World) -> None:
    put_history(world, 10_000)
    world.client(100, A)
    for number in range(60):
        world.send(None, f"{number} " + "x" * 2000, A)
    found = drain(world.bus, world.identity(100), again=False)
    assert found is not None
    answer = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": found.text}}
    assert len(json.dumps(answer)) < 10_000
    assert 0 < len(found.whole) + len(found.named) <= 10
    assert len(found.whole) + len(found.named) + found.left == 50
    assert f"{found.left} more wait" in found.text
    assert "from before this session are not shown" in found.text


@pytest.mark.demand("ID-2", "ATT-9")
@pytest.mark.field_report(45)
def test_a_drain_of_a_session_that_does_not_resolve_leaves_the_tree_byte_for_byte(world: World) -> None:
    world.session(100, A)
    world.send(None, "hello", A)
    world.table.add(300, parent=1)
    unresolved = identify({"HOME": world.home, "CLAUDE_CODE_SESSION_ID": A}, world.table, 300)
    assert (unresolved.resolved, unresolved.session) == (False, A)
    before = world.tree(but=())
    assert drain(world.bus, unresolved, again=False) is None
    assert world.tree(but=()) == before


@pytest.mark.demand("ATT-7", "CON-1")
@pytest.mark.field_report(56)
def test_a_reader_that_claims_and_marks_while_others_send_loses_none_of_what_they_send(world: World) -> None:
    me = world.session(100, A)
    sent: list[str] = []

    def write() -> None:
        with Nursery() as writers:
            for outcome in writers.run(world, "many", 20, A, times=10):
                sent.extend(outcome.value)

    writing = threading.Thread(target=write)
    writing.start()
    claimed: list[str] = []
    try:
        while len(claimed) < 200:
            taken = world.claim(me)
            seen.mark(world.bus, me.key, {one: {"kind": "channel", "session": A, "at": None} for one in taken})
            claimed += taken
            if not writing.is_alive() and not taken:
                break
    finally:
        writing.join()
    assert sorted(claimed) == sorted(sent)
    assert len(set(claimed)) == 200
    assert world.claim(me) == []


@pytest.mark.demand("ATT-11", "ATT-9")
@pytest.mark.field_report(57)
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the reader is another user, whom permissions bind")
def test_a_message_that_may_not_be_read_holds_up_no_other() -> None:
    with tempfile.TemporaryDirectory() as home, Nursery() as nursery:
        world = World(home)
        world.session(100, A)
        locked, _ = world.send(None, "locked", A).signal, world.send(None, "good", A).signal
        for folder, _, names in os.walk(home):
            for path in (folder, *(os.path.join(folder, name) for name in names)):
                os.chown(path, NOBODY, NOBODY)
        os.chmod(layout.signal(world.bus.root, ids.day(locked.id), locked.id), 0)
        outcome = nursery.one(world, "drain", 100, user=NOBODY)
        assert outcome.error is None
        assert [world.body(one) for one in outcome.value] == ["good"]


@pytest.mark.demand("ATT-1", "ATT-12")
@pytest.mark.field_report(60)
def test_a_message_sent_after_another_was_deleted_never_gets_its_id_nor_its_proof(world: World) -> None:
    me = world.session(100, A)
    moment = world.clock._wall
    old = world.send(None, "old", A).signal
    seen.mark(world.bus, me.key, {old.id: {"kind": "channel", "session": A, "at": None}})
    for days in (31, 91):
        world.clock.advance(days * 86_400)
        world.arrive(100)
        tidy(world.bus)
    shutil.rmtree(layout.signals(world.bus.root), ignore_errors=True)
    shutil.rmtree(layout.archive(world.bus.root), ignore_errors=True)
    world.clock._wall = moment
    new = world.send(None, "new", A).signal
    assert new.id > old.id
    world.write(A, rows.channel_event(headers.shown(old), NOON))
    assert world.claim(me) == [new.id]
    with ledger.open_ledger(world.bus, me.key) as opened:
        settled = evidence.settle(world.bus, opened, me, trays.waiting(world.bus.root, A), None)
    assert new.id not in settled.seen
    assert not seen.proofs(world.bus, me.key, [new.id])


@pytest.mark.demand("ATT-8")
@pytest.mark.field_report(63)
def test_other_verbs_change_nothing_of_when_the_loop_looks_again(world: World) -> None:
    me = world.session(10, A)
    world.session(20, B)
    sensor = Messages(world.bus)
    rest = sensor.look(me).after
    for verb, arguments in (("peers", {}), ("inbox", {}), ("status", {}), ("search", {"text": "x"}), ("channels", {})):
        call(person(world), verb, **arguments)
        call(session(world, 10), verb, **arguments)
        assert sensor.look(me).after == rest
    call(person(world), "send", to=["operator"], body="x")
    assert sensor.look(me).after == rest


@pytest.mark.demand("ATT-8", "CON-1")
@pytest.mark.field_report(63)
def test_what_can_not_be_brought_is_not_announced_at_every_look(world: World) -> None:
    me = world.session(10, A)
    world.write(A, rows.typed("hello", NOON))
    sent = world.send(None, "nobody hears it", A).signal
    sensor = Messages(world.bus)
    lines: list[str] = []
    for _ in range(600):
        lines += sensor.look(me).lines
        world.clock.advance(1)
    assert 1 <= sum(sent.id in line for line in lines) <= 2
    assert len(lines) <= 2


@pytest.mark.demand("ATT-2", "ATT-5")
@pytest.mark.field_report(66)
def test_mail_of_a_sender_that_registers_only_afterwards_is_shown_and_can_be_answered(world: World) -> None:
    me, writer = world.session(100, A), world.session(200, B)
    os.unlink(layout.instance(world.bus.root, writer.key))
    question = world.send(writer, "do you know me?", A).signal
    assert world.bodies(A) == ["do you know me?"]
    assert world.claim(me) == [question.id]
    world.arrive(200)
    world.reply(me, "now I do", question.id)
    assert world.bodies(B) == ["now I do"]
    assert world.bodies(A) == ["do you know me?"]


@pytest.mark.demand("ATT-8", "ATT-11")
@pytest.mark.field_report(69)
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors by /proc")
def test_a_loop_that_reads_a_thousand_messages_keeps_no_descriptor(world: World) -> None:
    me = world.session(10, A)
    sensor = Messages(world.bus)
    counts = []
    for number in range(1000):
        sent = world.send(None, f"mail {number}", A).signal
        assert any(sent.id in line for line in sensor.look(me).lines)
        seen.mark(world.bus, me.key, {sent.id: {"kind": "loop", "session": A, "at": None}})
        if number % 100 == 99:
            counts.append(len(os.listdir("/proc/self/fd")))
    assert len(set(counts)) == 1
