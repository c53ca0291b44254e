"""What was met in the field with Stop hooks that never let a turn end."""

from __future__ import annotations

import json
import shlex
import sys
import time
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend.drain import ROUNDS
from tests.attend.test_drain import HOOK, ended_turn
from tests.attend.world import A
from tests.support.fake_client import FakeClient, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.attend.world import World


@pytest.mark.demand("ATT-9")
@pytest.mark.field_report(54)
def test_new_mail_at_each_end_of_a_turn_does_not_keep_it_from_ending(world: World) -> None:
    world.session(10, A)
    shown = []
    for number in range(3 * ROUNDS):
        world.send(None, f"mail {number}", A)
        found = ended_turn(world, again=number > 0)
        if found is None:
            break
        shown += [signal.body for signal in found.whole]
    assert shown == [f"mail {number}" for number in range(ROUNDS)]
    found = ended_turn(world)
    assert found is not None
    assert [signal.body for signal in found.whole] == [f"mail {ROUNDS}"]


@pytest.mark.demand("ATT-9")
@pytest.mark.field_report(54)
@pytest.mark.parametrize("active", [False, True])
def test_with_no_mail_the_hook_says_nothing_and_is_as_quick_as_a_start_of_python(tmp_path: Path, active: bool) -> None:
    given = json.dumps({"hook_event_name": "Stop", "stop_hook_active": active})
    with FakeClient(tmp_path, Plan()) as client:

        def took(words: Sequence[str]) -> float:
            began = time.monotonic()
            ran = client.spawn(["sh", "-c", f"printf %s {shlex.quote(given)} | {shlex.join(words)}"])
            assert (ran["code"], ran["stdout"], ran["stderr"]) == (0, "", "")
            return time.monotonic() - began

        bare = [sys.executable, "-I", "-S", "-c", "pass"]
        pairs = [(took(bare), took(HOOK)) for _ in range(5)]
    assert min(hook for _, hook in pairs) < max(0.05, 4 * min(start for start, _ in pairs))
