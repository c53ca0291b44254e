from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import ids, layout, trays
from agent_ways.attend.trays import Slip
from agent_ways.base.errors import StateError
from agent_ways.base.watch import file_watch
from tests.attend.children import Nursery
from tests.attend.world import A, B, C

if TYPE_CHECKING:
    from tests.attend.world import World


def test_a_signal_that_waits_for_two_reasons_waits_once_for_the_stronger(world: World) -> None:
    made = ids.next_id(world.bus)
    trays.put(world.bus, [Slip(A, made, why) for why in (trays.OPEN, trays.DIRECT, trays.CHANNEL)])
    assert trays.waiting(world.bus.root, A) == [Slip(A, made, trays.DIRECT)]


@pytest.mark.demand("ATT-6")
def test_what_waits_under_earlier_ids_waits_too_and_a_circle_ends(world: World) -> None:
    made = [ids.make(number, b"abcde") for number in range(3)]
    trays.put(world.bus, [Slip(tray, one, trays.DIRECT) for tray, one in zip((A, B, C), made, strict=True)])
    trays.follow(world.bus, C, B)
    trays.follow(world.bus, B, A)
    trays.follow(world.bus, A, C)
    assert [slip.id for slip in trays.waiting(world.bus.root, C)] == made
    trays.unfollow(world.bus, C, B)
    assert [slip.id for slip in trays.waiting(world.bus.root, C)] == made[2:]


def test_what_is_held_back_is_listed_apart(world: World) -> None:
    slip = Slip(A, ids.next_id(world.bus), trays.DIRECT)
    trays.put(world.bus, [slip])
    assert trays.move(world.bus, slip, A, held=True)
    assert trays.waiting(world.bus.root, A) == []
    (held,) = trays.waiting(world.bus.root, A, held=True)
    assert held.held
    assert trays.move(world.bus, held, A)
    assert trays.waiting(world.bus.root, A) == [slip]


@pytest.mark.demand("ATT-11")
def test_a_tray_that_can_not_be_listed_is_not_taken_for_empty(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> list[str]:
        raise OSError(24, "Too many open files", path)

    assert trays.waiting(world.bus.root, A) == []
    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(StateError, match="Too many open files"):
        trays.waiting(world.bus.root, A)


@pytest.mark.demand("ATT-8")
def test_who_watches_a_tray_is_woken_when_the_signal_can_be_read(world: World) -> None:
    watch = file_watch()
    if watch is None:
        pytest.skip("no inotify here: trays are looked at now and then instead")
    world.session(100, A)
    assert watch.add(layout.tray(world.bus.root, A))
    with Nursery() as nursery:
        sent = nursery.one(world, "send", 0, "hello", A)
    assert sent.error is None
    bodies: list[str] = []
    while not bodies:
        assert select.select([watch.fd], [], [], 10)[0]
        watch.drain()
        bodies = world.bodies(A)
    watch.close()
    assert bodies == ["hello"]
