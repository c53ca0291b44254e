from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import disk, ids, layout, retention, trays
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


def entries(world: World) -> list[str]:
    """Everything below the trays, empty folders too."""
    return sorted(path for path in world.tree() if path.startswith("trays/"))


def cleared(number: int) -> str:
    """The session's id after so many `/clear`s."""
    return f"aaaaaaaa-0000-4000-8000-{number:012d}"


@pytest.mark.demand("ATT-6")
def test_after_200_clears_there_are_as_few_files_as_after_five_and_all_mail_has_arrived(world: World) -> None:
    world.session(100, cleared(0))
    sizes = []
    for number in range(200):
        if number in (3, 77, 150):
            world.send(None, f"before clear {number}", cleared(number))
        if number == 100:
            slip = trays.waiting(world.bus.root, cleared(number))[0]
            trays.move(world.bus, slip, slip.tray, held=True)
        world.client(100, cleared(number + 1))
        world.arrive(100)
        sizes.append(len(entries(world)))
    assert max(sizes) <= sizes[trays.FOLLOWED] + 4
    now = cleared(200)
    assert world.bodies(now) == ["before clear 77", "before clear 150"]
    assert [world.body(slip.id) for slip in trays.waiting(world.bus.root, now, held=True)] == ["before clear 3"]
    world.send(None, "to the first id", cleared(0))
    world.send(None, "to the last but one", cleared(199))
    assert world.bodies(now)[2:] == ["to the first id", "to the last but one"]


@pytest.mark.demand("ATT-6")
def test_a_slip_that_comes_late_to_an_id_from_long_ago_is_brought_by_the_next_clear_or_by_cleanup(world: World) -> None:
    world.session(100, cleared(0))
    for number in range(1, 10):
        world.client(100, cleared(number))
        world.arrive(100)
    sent = [world.send(None, f"number {number}", "operator").signal.id for number in range(3)]
    trays.put(world.bus, [Slip(cleared(8), sent[0], trays.DIRECT)])
    assert world.bodies(cleared(9)) == ["number 0"]
    trays.put(world.bus, [Slip(cleared(1), sent[1], trays.DIRECT)])
    assert world.bodies(cleared(9)) == ["number 0"]
    assert retention.tidy(world.bus) is not None
    assert world.bodies(cleared(9)) == ["number 0", "number 1"]
    trays.put(world.bus, [Slip(cleared(1), sent[2], trays.DIRECT)])
    world.client(100, cleared(10))
    world.arrive(100)
    assert world.bodies(cleared(10)) == ["number 0", "number 1", "number 2"]


@pytest.mark.demand("ATT-6", "ATT-12")
def test_cleanup_prunes_what_an_earlier_version_left_for_each_clear(world: World) -> None:
    me = world.session(100, cleared(0))
    old = me.but(sessions=tuple(cleared(number) for number in range(50)))
    disk.put_record(layout.instance(world.bus.root, me.key), old.to_record())
    world.client(100, cleared(49))
    for later in range(50):
        for earlier in range(later):
            trays.follow(world.bus, cleared(later), cleared(earlier))
    world.send(None, "to an id from long ago", cleared(2))
    before = len(entries(world))
    counted = retention.tidy(world.bus, dry=True)
    assert len(entries(world)) == before > 1000
    done = retention.tidy(world.bus)
    assert done is not None
    assert counted is not None
    assert done.leftovers == counted.leftovers == before - len(entries(world))
    assert len(entries(world)) < 20
    assert world.bodies(cleared(49)) == ["to an id from long ago"]


@pytest.mark.demand("ATT-6")
def test_a_signal_that_is_on_its_way_during_clear_stays_where_its_writer_rings(world: World) -> None:
    world.session(100, A)
    coming = ids.next_id(world.bus)
    trays.put(world.bus, [Slip(A, coming, trays.DIRECT)])
    for session in (B, C):
        world.client(100, session)
        world.arrive(100)
    assert trays.own(world.bus.root, A) == [Slip(A, coming, trays.DIRECT)]
    assert set(trays.followed(world.bus.root, C)) == {A, B}
    assert trays.waiting(world.bus.root, C) == [Slip(A, coming, trays.DIRECT)]


@pytest.mark.demand("ATT-6")
def test_a_slip_that_is_gathered_while_somebody_lists_is_seen(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.session(100, A)
    world.client(100, B)
    world.arrive(100)
    sent = world.send(None, "x", "operator").signal.id
    trays.put(world.bus, [Slip(A, sent, trays.DIRECT)])
    listed = disk.names

    def names(path: str) -> list[str]:
        if path == layout.tray(world.bus.root, A):
            trays.move(world.bus, Slip(A, sent, trays.DIRECT), B)
        return listed(path)

    monkeypatch.setattr(disk, "names", names)
    assert [slip.id for slip in trays.waiting(world.bus.root, B)] == [sent]
