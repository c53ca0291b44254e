"""Nothing is lost, nothing comes twice and nothing is left behind, whatever happens to the sessions: the short storm.

`make soak` is the long one. The reckoning itself is held to what it must notice.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import ledger, seen, trays
from tests.attend.world import A, B, World
from tests.soak.account import account, left_behind
from tests.soak.measure import Sample, Series, sample
from tests.soak.session import ROOT, Show
from tests.soak.storm import Storm

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.demand("CON-1", "CON-6", "ATT-7", "ATT-11", "SRV-8", "SRV-11")
@pytest.mark.timeout(180)
def test_six_sessions_in_a_storm_lose_nothing_and_leave_nothing_behind() -> None:
    words = [sys.executable, "-m", "tests.soak", "--minutes", "0.25", "--sessions", "6", "--seed", "20261201"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((os.path.join(ROOT, "src"), ROOT))}
    ran = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "seed 20261201" in ran.stdout
    assert ran.stdout.endswith("soak: 0 faults\n")
    found = re.search(r"shown once +(\d+)", ran.stdout)
    assert found is not None
    assert int(found[1]) >= 20


# ---- the reckoning


class Made:
    """A storm of two sessions that never ran, on a bus with whatever a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder / "home")
        self.me = self.world.session(100, A)
        self.storm = Storm(str(folder), 2, random.Random(1), disk=None)
        self.storm.sessions[0].ids.append(A)
        self.storm.sessions[1].ids.append(B)

    def send(self) -> str:
        sent = self.world.send(None, "hello", A).signal.id
        self.storm.accepted.add(sent)
        return sent

    def shown(self, signal_id: str, *lives: int) -> None:
        self.storm.sessions[0].shows[signal_id] = [Show(life, "channel") for life in lives]
        for slip in trays.waiting(self.world.bus.root, A):
            if slip.id == signal_id:
                trays.drop(self.world.bus, slip)

    def faults(self) -> list[str]:
        return account(self.storm).faults


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_what_was_shown_once_read_or_still_waits_is_accounted_for(made: Made) -> None:
    shown, read, _waiting = made.send(), made.send(), made.send()
    made.shown(shown, 1)
    made.shown(read)
    made.storm.sessions[0].reads.add(read)
    found = account(made.storm)
    assert (found.once, found.read, found.queued, found.deliveries) == (1, 1, 1, 3)
    assert found.faults == []


def test_a_signal_that_was_accepted_and_is_gone_is_a_fault(made: Made) -> None:
    made.storm.accepted.add("06hm3k2v9wqa-7c4n0zpd")
    assert made.faults() == ["06hm3k2v9wqa-7c4n0zpd was accepted and is not on the bus"]


def test_a_delivery_that_was_never_shown_and_waits_nowhere_is_a_fault(made: Made) -> None:
    lost = made.send()
    made.shown(lost)
    assert [fault.partition(" was ")[0] for fault in made.faults()] == [lost]


def test_a_second_show_is_a_fault_unless_the_client_was_killed_before_the_first_ones_proof(made: Made) -> None:
    twice = made.send()
    made.shown(twice, 1, 2)
    assert "shown 2 times" in made.faults()[0]
    made.storm.sessions[0].unproven[twice] = 1
    found = account(made.storm)
    assert (found.faults, found.repeated) == ([], 1)


def test_a_mark_without_a_show_is_a_fault(made: Made) -> None:
    claimed = made.send()
    seen.mark(made.world.bus, made.me.key, {claimed: {"kind": "channel", "session": A, "at": None}})
    assert f"{claimed} is marked as seen by {made.me.name} and was never shown" in made.faults()


def test_a_marker_a_held_lock_a_temporary_file_and_a_process_that_are_left_are_faults(made: Made) -> None:
    state = os.path.dirname(made.world.bus.root)
    os.makedirs(os.path.join(state, "servers"))
    for name in ("servers/x.1", "attend/.x.tmp"):
        with open(os.path.join(state, name), "wb"):
            pass
    env = {**os.environ, "AGENT_WAYS_SOAK": "a-run"}
    held = ledger.open_ledger(made.world.bus, "k")
    with held, subprocess.Popen(["sleep", "60"], env=env) as process:
        found = left_behind(made.storm, "a-run")
        process.kill()
    assert f"process {process.pid} runs: sleep 60 " in found
    assert "marker x.1" in found
    assert "temporary file attend/.x.tmp" in found
    assert "lock attend/locks/ledger.k.lock is held" in found
    assert len(found) == 4


def test_a_server_that_grows_is_told_from_one_that_does_not() -> None:
    flat = [Sample(5_000 + one % 3 * 100, 4_000 + one % 3 * 100, 10 + one % 2) for one in range(30)]
    assert Series(1, flat).flat
    assert not Series(1, [Sample(5_000 + one * 100, 4_000 + one * 100, 10) for one in range(30)]).flat
    assert not Series(1, [Sample(5_000, 4_000, 10 + one) for one in range(30)]).flat
    steps = [Sample(9_000, 8_000 + one // 10 * 4_000, 10) for one in range(30)]
    assert Series(1, steps).flat
    assert not Series(1, [Sample(one.pss, one.private * 3, one.files) for one in steps]).flat
    own = sample(os.getpid())
    assert own is None or own.private > 1_000
