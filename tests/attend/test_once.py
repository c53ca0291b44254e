"""Every signal is shown exactly once or still waits, whatever clients, conduits and people do in whatever order."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agent_ways.attend import evidence, headers, ledger, seen, signals, trays
from agent_ways.attend.delivery import CHANNEL, DRAIN, SOCKET
from tests.attend.world import World
from tests.support import transcripts as rows
from tests.support.transcripts import NOON

MEMORY = "/dev/shm"


class Client(RuleBasedStateMachine):
    """One session as the real client behaves: what it enqueues it writes down, shows later, and takes over `/clear`.

    A push may vanish before it is enqueued (no channel, a refused message); a hook may block what was enqueued; a
    person may cut off what a hook printed; a kill loses the queue.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
        self.world = World(self.folder)
        self.pid, self.number = 100, 0
        self.session = self.new_session()
        self.me = self.world.session(self.pid, self.session)
        self.sent: list[str] = []
        self.queue: list[tuple[str, str]] = []
        self.shown: dict[str, int] = {}

    def teardown(self) -> None:
        try:
            self.finish()
        finally:
            shutil.rmtree(self.folder)

    def new_session(self) -> str:
        self.number += 1
        return f"{self.number:08x}-0000-4000-8000-000000000000"

    def row(self, conduit: str, signal_id: str) -> None:
        (signal,) = signals.read_all(self.world.bus, [signal_id], [])
        text = headers.shown(signal)
        if conduit == CHANNEL:
            made = rows.channel_event(text, NOON)
        elif conduit == SOCKET:
            made = rows.peer_message(text, NOON, pid=os.getpid())
        else:
            made = rows.hook_context(text, NOON)
        self.world.write(self.session, made)
        self.shown[signal_id] = self.shown.get(signal_id, 0) + 1

    def claim(self, conduit: str) -> list[str]:
        return self.world.claim(self.me, conduit, evidence.transcript_end(self.me))

    @rule()
    def somebody_sends(self) -> None:
        self.sent.append(self.world.send(None, f"{len(self.sent)}", self.session).signal.id)

    @rule(conduit=st.sampled_from([CHANNEL, SOCKET]), vanishes=st.booleans())
    def a_server_pushes(self, conduit: str, vanishes: bool) -> None:
        for signal_id in self.claim(conduit):
            if not vanishes:
                (signal,) = signals.read_all(self.world.bus, [signal_id], [])
                self.world.write(self.session, rows.enqueue(headers.shown(signal), NOON))
                self.queue.append((conduit, signal_id))

    @rule(cut_off=st.booleans())
    def a_drain_prints(self, cut_off: bool) -> None:
        for signal_id in self.claim(DRAIN):
            if not cut_off:
                self.row(DRAIN, signal_id)

    @rule(blocked=st.booleans())
    def the_client_runs_its_queue(self, blocked: bool) -> None:
        while self.queue:
            conduit, signal_id = self.queue.pop(0)
            if not blocked:
                self.row(conduit, signal_id)

    @rule()
    def the_person_clears(self) -> None:
        self.session = self.new_session()
        self.world.client(self.pid, self.session)
        self.me = self.world.arrive(self.pid)

    @rule()
    def the_client_is_killed_and_resumed(self) -> None:
        self.world.end(self.pid)
        self.queue.clear()
        self.pid += 1
        self.me = self.world.session(self.pid, self.session)

    @rule(seconds=st.sampled_from([1, 6]))
    def somebody_looks_later(self, seconds: int) -> None:
        self.world.clock.advance(seconds)
        self.look()

    def look(self) -> None:
        idle_for = None if self.queue else 6.0
        with ledger.open_ledger(self.world.bus, self.me.key) as opened:
            slips = ledger.settled(self.world.bus, opened, trays.waiting(self.world.bus.root, self.me.session))
            done = evidence.settle(self.world.bus, opened, self.me, slips, idle_for)
            claims = dict(opened.claims)
        for signal_id in done.retry:
            # The server pushes it once more, and this time it arrives.
            (signal,) = signals.read_all(self.world.bus, [signal_id], [])
            self.world.write(self.session, rows.enqueue(headers.shown(signal), NOON))
            self.queue.append((claims[signal_id].conduit, signal_id))

    @invariant()
    def nothing_is_shown_twice(self) -> None:
        assert all(times == 1 for times in self.shown.values()), self.shown

    @invariant()
    def nothing_is_lost(self) -> None:
        waiting = {slip.id for slip in trays.waiting(self.world.bus.root, self.me.session)}
        marked = seen.proofs(self.world.bus, self.me.key, self.sent)
        assert set(self.sent) == waiting | set(marked)
        assert set(marked) <= set(self.shown)

    def finish(self) -> None:
        """In the end all is shown, or was left to the inbox after two failures and waits there."""
        for _ in range(6):
            self.world.clock.advance(6)
            while self.queue:
                self.row(*self.queue.pop(0))
            self.look()
            for signal_id in self.claim(DRAIN):
                self.row(DRAIN, signal_id)
        self.nothing_is_shown_twice()
        self.nothing_is_lost()
        book = ledger.read(self.world.bus, self.me.key)
        unseen = {slip.id for slip in trays.waiting(self.world.bus.root, self.me.session)}
        assert unseen == {signal_id for signal_id, claim in book.claims.items() if claim.left}
        assert not unseen & set(self.shown)


TestOnce = pytest.mark.demand("CON-1", "CON-6", "ATT-6")(Client.TestCase)
TestOnce.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
