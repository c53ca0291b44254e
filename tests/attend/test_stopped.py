"""A client that was stopped (ctrl-Z) is shown what it was pushed once, when it goes on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import bus as buses
from agent_ways.attend import delivery, evidence, headers, instances, layout, ledger, sending, trays
from tests.attend.world import A, World
from tests.server.serving import START
from tests.support.fake_client import FLAGGED, FakeClient, Plan
from tests.support.until import until

if TYPE_CHECKING:
    from pathlib import Path

TRACELESS = 2.0
QUICK = START.replace("main([])", f"import agent_ways.attend.delivery as d\nd.TRACELESS = {TRACELESS}\nmain([])")
SERVER = (os.path.realpath("/proc/self/exe"), "-I", "-S", "-c", QUICK)


@pytest.mark.demand("CON-1")
@pytest.mark.skipif(
    not os.path.exists("/proc/self/exe"), reason="the server is started by the name of this interpreter"
)
def test_what_was_pushed_to_a_stopped_client_is_shown_once_when_it_goes_on(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER, argv=FLAGGED)) as client:
        client.wait_handshake()
        client.type("hello")
        client.wait_status("idle")
        row = {"type": "permission-mode", "permissionMode": "default", "sessionId": client.session_id}
        client.append_transcript(row)
        bus = buses.open_bus({"HOME": client.plan.home})
        until(layout.instances(bus.root), lambda: instances.read_all(bus))
        [me] = instances.read_all(bus)
        client.freeze()
        person = sending.human_sender(bus, "me", client.plan.project)
        sent = sending.send(bus, person, None, "are you there?", to=[client.session_id]).signal.id
        folder = os.path.dirname(layout.ledger(bus.root, me.key))

        def since() -> float:
            claim = ledger.read(bus, me.key).claims.get(sent)
            return claim.since if claim else 0.0

        until(folder, since)
        first = since()
        until(folder, lambda: since() >= first + 2 * TRACELESS, timeout=30)
        assert ledger.read(bus, me.key).claims[sent].tries == 1
        client.thaw()
        tray = layout.tray(bus.root, client.session_id)
        until(tray, lambda: not trays.waiting(bus.root, client.session_id), timeout=30)
        texts = [text for one in client.shown for text in one.texts if sent in headers.read_back(text)[0]]
        assert len(texts) == 1


@pytest.mark.demand("CON-1")
def test_its_five_seconds_count_from_when_it_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    me = world.session(100, A)
    world.write(A)
    sent = world.send(None, "hello", A).signal.id
    world.claim(me)

    def state(seconds: float) -> str:
        world.clock.advance(seconds)
        with ledger.open_ledger(world.bus, me.key) as opened:
            found = evidence.settle(world.bus, opened, me, trays.waiting(world.bus.root, A))
            assert found.retry == () or opened.claims[sent].tries > 1
            return "retry" if found.retry else opened.state(sent)

    world.table.standing.add(100)
    for _ in range(20):
        assert state(delivery.TRACELESS - 1) == delivery.PUSHED
    world.table.standing.clear()
    assert state(delivery.TRACELESS - 1) == delivery.PUSHED
    assert state(2) == "retry"
