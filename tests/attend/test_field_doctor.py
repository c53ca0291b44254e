"""What was met in the field with a bus whose writes wait for a process that does not move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attend.children import Nursery
from tests.attend.frontends.callers import call, person
from tests.attend.world import A, World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.demand("ATT-7", "LIFE-7")
@pytest.mark.field_report(59)
@pytest.mark.parametrize("lock", ["registry", "ledger"])
def test_doctor_names_a_process_that_holds_a_lock_and_does_not_move(tmp_path: Path, lock: str) -> None:
    world = World(tmp_path / "home")
    me = world.session(100, A)
    with Nursery() as nursery:
        holder = nursery.one(world, "hold", "registry" if lock == "registry" else f"ledger.{me.key}").value
        found = {one["subject"]: one for one in call(person(world), "doctor")["findings"]}
    assert found["held lock"]["status"] == "failed"
    assert f"process {holder}" in found["held lock"]["text"]
    assert f"ps -p {holder}" in found["held lock"]["repair"]
