from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import (
    ids,
    inbox,
    instances,
    intake,
    layout,
    ledger,
    retention,
    rooms,
    seen,
    signals,
    targets,
    trays,
)
from agent_ways.attend.retention import DAY, Policy, tidy
from agent_ways.base.locks import Lock
from agent_ways.base.records import write_record
from agent_ways.keepalive import store
from agent_ways.keepalive.record import Record
from tests.attend.frontends.callers import serve
from tests.attend.world import A, B, C, D, World

if TYPE_CHECKING:
    from pathlib import Path


def aged(world: World, days: float) -> None:
    """Let time pass: for the clock, and for what files say of their last change.

    The archive's folders are stamped by the clock itself.
    """
    world.clock.advance(days * DAY)
    archive = layout.archive(world.bus.root)
    for folder, _, files in os.walk(world.bus.root):
        if folder.startswith(archive):
            continue
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            found = os.stat(path, follow_symlinks=False)
            os.utime(path, (found.st_atime, found.st_mtime - days * DAY), follow_symlinks=False)


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path / "home")
    # Files carry the machine's time: the world's clock begins with it.
    made.clock._wall = time.time()
    return made


@pytest.mark.demand("ATT-12")
def test_what_is_old_is_archived_before_it_is_deleted(world: World) -> None:
    who = world.session(100, A)
    old = world.send(None, "old").signal
    aged(world, 31)
    new = world.send(None, "new").signal
    done = tidy(world.bus)
    assert done is not None
    assert done.to_json() | {"leftovers": 0} == {
        "archived": 1,
        "deleted": 0,
        "instances": 0,
        "leftovers": 0,
        "records": 0,
    }
    assert os.path.exists(os.path.join(layout.archive(world.bus.root), ids.day(old.id), old.id + ".json"))
    assert world.body(old.id) == "old"
    assert signals.all_ids(world.bus) == [new.id]
    assert os.listdir(layout.signals(world.bus.root)) == [ids.day(new.id)]
    assert list(rooms.newest_first(world.bus, layout.OPEN)) == [new.id]
    page = inbox.listing(world.bus, inbox.Viewer(world.bus, who), inbox.Filter())
    assert [item.signal.body for item in page.items] == ["new", "old"]  # nothing leaves the inbox while it waits
    aged(world, 89)
    tidy(world.bus)
    assert world.body(old.id) == "old"
    aged(world, 2)
    done = tidy(world.bus)
    assert done is not None
    assert done.deleted == 1
    assert world.body(old.id) is None


@pytest.mark.demand("ATT-12")
def test_mail_that_still_waits_is_shown_out_of_the_archive(world: World) -> None:
    who = world.session(100, A)
    world.send(None, "for you", A)
    world.end(100)
    aged(world, 31)
    tidy(world.bus)
    again = world.session(101, A)
    assert again.key != who.key  # its record was a month old
    assert world.bodies(A) == ["for you"]
    assert len(world.claim(again)) == 1


@pytest.mark.demand("ATT-12")
def test_a_room_keeps_its_newest_and_what_still_waits(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    for number in range(6):
        world.send(None, str(number), "*")
    for slip in trays.waiting(world.bus.root, A) + trays.waiting(world.bus.root, B)[2:]:
        trays.drop(world.bus, slip)
    done = tidy(world.bus, Policy(per_room=2))
    assert done is not None
    assert done.archived == 2  # 4 and 5 are the newest, 0 and 1 wait for the other
    found = {item.signal.body for item in inbox.listing(world.bus, inbox.Viewer(world.bus, one), inbox.Filter()).items}
    assert found == {"4", "5", "0", "1"}
    assert world.bodies(other.session) == ["0", "1"]


@pytest.mark.demand("ATT-12")
def test_records_of_sessions_that_ended_long_ago_are_forgotten_and_live_ones_kept(world: World) -> None:
    dead, live = world.session(100, A), world.session(200, B)
    intake.join(world.bus, dead, "deploy")
    world.send(None, "x", A)
    world.claim(dead)
    world.end(100)
    aged(world, 31)
    done = tidy(world.bus)
    assert done is not None
    assert done.instances == 1
    assert [one.key for one in instances.read_all(world.bus)] == [live.key]
    assert rooms.members(world.bus, "deploy") == ()
    assert not os.path.exists(layout.ledger(world.bus.root, dead.key))
    assert len(trays.waiting(world.bus.root, A)) == 1


@pytest.mark.demand("ATT-12")
def test_what_a_killed_writer_left_goes_after_a_day(world: World) -> None:
    who = world.session(100, A)
    made = ids.next_id(world.bus)
    trays.put(world.bus, [trays.Slip(A, made, trays.DIRECT)])
    rooms.record_in(world.bus, "open", made)
    aside = os.path.join(layout.signals(world.bus.root, ids.day(made)), f".{made}.json.tmp")
    os.makedirs(os.path.dirname(aside))
    with open(aside, "wb") as file:
        file.write(b"{")
    with ledger.open_ledger(world.bus, who.key) as opened:
        ledger.claim(world.bus, opened, who, [trays.Slip(A, made, trays.DIRECT)], conduit="channel", offset=0)
    young = tidy(world.bus)
    assert young is not None
    assert young.leftovers == 0
    assert os.path.exists(aside)
    aged(world, 2)
    world.arrive(100)
    done = tidy(world.bus)
    assert done is not None
    assert done.leftovers == 3
    assert trays.waiting(world.bus.root, A) == []
    assert list(rooms.newest_first(world.bus, "open")) == []
    assert not os.path.exists(aside)
    assert not ledger.read(world.bus, who.key).claims


@pytest.mark.demand("ATT-12")
def test_a_clock_that_runs_ahead_for_a_moment_deletes_nothing(world: World) -> None:
    world.session(100, A)
    sent = world.send(None, "precious", A).signal
    world.clock._wall += 400 * DAY
    tidy(world.bus)
    world.clock._wall -= 400 * DAY
    assert world.body(sent.id) == "precious"
    assert world.bodies(A) == ["precious"]
    assert len(instances.read_all(world.bus)) == 1


@pytest.mark.demand("ATT-12")
def test_a_dry_run_counts_the_same_and_changes_nothing(world: World) -> None:
    world.session(100, A)
    for number in range(4):
        world.send(None, str(number), A)
    world.end(100)
    aged(world, 31)
    world.session(300, C)
    before = world.tree(but=())
    dry = tidy(world.bus, dry=True)
    assert world.tree(but=()) == before
    done = tidy(world.bus)
    assert dry is not None
    assert done is not None
    assert dry.to_json() == done.to_json()
    again = tidy(world.bus)
    assert again is not None
    assert set(again.to_json().values()) == {0}


def test_two_runs_at_once_are_one(world: World) -> None:
    world.session(100, A)
    with world.bus.lock("housekeeping"):
        assert tidy(world.bus) is None
    assert isinstance(tidy(world.bus), retention.Tidied)


@pytest.mark.demand("ATT-12")
@pytest.mark.field_report(94)
def test_a_week_of_traffic_leaves_little_but_the_signals(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    for day in range(40):
        for number in range(5):
            world.send(one, f"{day} {number}", B)
        with ledger.open_ledger(world.bus, other.key) as opened:
            slips = ledger.settled(world.bus, opened, trays.waiting(world.bus.root, B))
            taken = ledger.claim(world.bus, opened, other, slips, conduit="channel", offset=0)
            seen.mark(world.bus, other.key, {slip.id: {"kind": "channel"} for slip in taken})
            ledger.settled(world.bus, opened, taken)
        aged(world, 1)
        world.arrive(100)
        world.arrive(200)
        tidy(world.bus)
    files = [name for _, _, names in os.walk(world.bus.root) for name in names]
    kept = [name for name in files if name.endswith(".json") and ids.is_id(name[:-5])]
    assert len(kept) == 200  # 30 days, and 10 in the archive
    assert len(os.listdir(layout.marks(world.bus.root, other.key))) <= 31
    assert os.path.getsize(layout.ledger(world.bus.root, other.key)) < 4096
    assert len(files) - 200 - 2 * 155 < 60


def kept_warm(world: World, *sessions: str, days_ago: float) -> None:
    """Keepalive's records of those sessions, last changed so long ago."""
    state = os.path.dirname(world.bus.root)
    for session in sessions:
        record = Record(session=session)
        store.Store(state, world.bus.owner).change(session, partial(_become, record))
        at = world.clock.wall() - days_ago * DAY
        for path in (store.record_path(state, session), store.record_path(state, session) + ".lock"):
            os.utime(path, (at, at))


def _become(record: Record, _: Record | None) -> Record:
    return record


def warm(world: World) -> dict[str, list[str]]:
    """What lies beside each session's keepalive record, the record included."""
    found: dict[str, list[str]] = {}
    for name in sorted(os.listdir(os.path.join(os.path.dirname(world.bus.root), store.FOLDER))):
        found.setdefault(name.partition(".")[0], []).append(name.partition(".")[2])
    return found


@pytest.mark.demand("KA-7", "ATT-12")
def test_keepalive_records_of_sessions_that_ended_long_ago_go_with_their_locks(world: World) -> None:
    world.session(100, A)
    world.client(200, B)
    world.end(200)
    kept_warm(world, A, B, C, days_ago=40)
    kept_warm(world, D, days_ago=20)
    counted = tidy(world.bus, dry=True)
    assert set(warm(world)) == {A, B, C, D}
    done = tidy(world.bus)
    assert done is not None
    assert counted is not None
    assert done.records == counted.records == 2
    assert warm(world) == {A: ["json", "json.lock"], D: ["json", "json.lock"]}


@pytest.mark.demand("KA-7")
@pytest.mark.parametrize("how", ["before /clear", "a disabled target", "a server", "a busy lock", "an unreadable list"])
def test_a_keepalive_record_that_somebody_may_need_stays_however_old_it_is(world: World, how: str) -> None:
    world.session(100, A)
    kept_warm(world, B, days_ago=400)
    state = os.path.dirname(world.bus.root)
    if how == "before /clear":
        world.client(100, B)
        world.arrive(100)
        world.client(100, C)
        world.arrive(100)
    elif how == "a disabled target":
        other = os.path.join(world.home, "other")
        os.makedirs(os.path.join(other, "sessions"))
        write_record(os.path.join(state, targets.FILE), {"v": 1, "targets": [{"config_dir": other, "enabled": False}]})
        here, world.config = world.config, other
        world.client(300, B)
        world.config = here
    elif how == "a server":
        serve(world, B, 90)
    elif how == "an unreadable list":
        with open(os.path.join(state, targets.FILE), "w", encoding="utf-8") as file:
            file.write("{")
    busy = Lock(store.record_path(state, B) + ".lock", world.bus.owner)
    if how == "a busy lock":
        busy.acquire()
    assert tidy(world.bus) is not None
    busy.release()
    assert B in warm(world)
