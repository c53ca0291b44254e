"""What must hold when processes are many, killed or stopped: issue-sized claims, shown with real processes."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import pytest

from agent_ways.attend import directory, headers, ids, instances, intake, layout, ledger, rooms, seen, signals, trays
from agent_ways.attend.inbox import Filter, Viewer, listing
from tests.attend.children import Nursery
from tests.attend.world import WEB, A, B, C, World
from tests.support import transcripts as rows
from tests.support.transcripts import NOON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOBODY = 65534
MOST_CALLS = 400
"""More changing calls than any single act here makes."""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        yield made


def kills(
    nursery: Nursery, tmp_path: Path, make: Callable[[World], None], task: str, *args: object
) -> Iterator[tuple[World, bool]]:
    """A world as `make` leaves it, in which `task` was killed before its first changing call.

    Then one with the second, and so on; at last one in which it came to its end (True).
    """
    for at in range(1, MOST_CALLS):
        world = World(tmp_path / str(at))
        make(world)
        outcome = nursery.one(world, task, *args, at=at)
        assert outcome.killed or outcome.error is None, outcome.error
        yield world, not outcome.killed
        if not outcome.killed:
            assert at > 5
            return
    pytest.fail(f"{task} makes more than {MOST_CALLS} changing calls")


@pytest.mark.demand("ATT-7", "ATT-1")
@pytest.mark.field_report(56)
@pytest.mark.parametrize("where", ["one room", "ten trays"])
def test_fifty_writers_of_forty_signals_leave_two_thousand_in_order(world: World, nursery: Nursery, where: str) -> None:
    sessions = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(10)]
    for number, session in enumerate(sessions):
        world.session(100 + number, session)
    targets = ["*"] if where == "one room" else sessions
    outcomes = nursery.run(world, "many", 40, *targets, times=50)
    assert [outcome.error for outcome in outcomes] == [None] * 50
    made = [outcome.value for outcome in outcomes]
    everything = signals.all_ids(world.bus)
    assert len(everything) == len(set(everything)) == 2000
    assert set(everything) == {signal_id for each in made for signal_id in each}
    assert all(each == sorted(each) for each in made)
    for number, session in enumerate(sessions):
        waiting = [slip.id for slip in world.waiting(session)]
        wanted = everything if where == "one room" else [one for each in made[number::10] for one in each]
        assert sorted(waiting) == sorted(wanted) == waiting


@pytest.mark.demand("ATT-7")
def test_fifty_concurrent_joins_are_fifty_members(world: World, nursery: Nursery) -> None:
    for number in range(50):
        world.client(100 + number, f"{number:08x}-0000-4000-8000-000000000000")
    outcomes = nursery.run(world, "join", 100, "deploy", times=50)
    assert [outcome.error for outcome in outcomes] == [None] * 50
    assert all(outcome.value for outcome in outcomes)
    assert len(rooms.members(world.bus, "deploy")) == 50
    names = [one.name for one in directory.known_sessions(world.bus)]
    assert len(names) == len(set(names)) == 50
    assert sorted(one.ordinal for one in instances.read_all(world.bus)) == list(range(50))


@pytest.mark.demand("ATT-1")
@pytest.mark.field_report(67)
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_thirty_first_starters_make_one_private_tree(nursery: Nursery, umask: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        world = World(home)
        for number in range(30):
            world.client(100 + number, f"{number:08x}-0000-4000-8000-000000000000")
        setup = {"umask": umask}
        if os.getuid() == 0:
            setup["user"] = NOBODY  # permissions do not bind root
            for folder, _, files in os.walk(home):
                for path in (folder, *(os.path.join(folder, name) for name in files)):
                    os.chown(path, NOBODY, NOBODY)
        outcomes = nursery.run(world, "start", 100, times=30, **setup)
        assert [outcome.error for outcome in outcomes] == [None] * 30
        assert len({outcome.value for outcome in outcomes}) == 30
        state = os.path.join(home, ".local")
        for folder, _, files in os.walk(state):
            assert os.stat(folder).st_mode & 0o777 == 0o700, folder
            for name in files:
                assert os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o600, os.path.join(folder, name)
                assert not name.endswith(".tmp")


def two_sessions(world: World) -> None:
    world.session(100, A)
    world.session(200, B)


@pytest.mark.demand("ATT-1", "ATT-7")
@pytest.mark.field_report(22)
def test_a_sender_killed_anywhere_has_sent_it_all_or_nothing(nursery: Nursery, tmp_path: Path) -> None:
    sent = 0
    for world, finished in kills(nursery, tmp_path, two_sessions, "send", 100, "hello", B, "*"):
        arrived = world.bodies(B)
        assert arrived in ([], ["hello"])
        everywhere = {item.signal.body for item in listing(world.bus, Viewer(world.bus, None), Filter()).items}
        assert everywhere == set(arrived)
        assert listing(world.bus, Viewer(world.bus, None), Filter()).notes == ()
        assert (not finished) or arrived == ["hello"]
        sent += bool(arrived)
        assert nursery.one(world, "send", 100, "next", B).error is None
        assert world.bodies(B) == [*arrived, "next"]
    assert sent > 1


@pytest.mark.demand("CON-1", "ATT-9")
@pytest.mark.field_report(3)
@pytest.mark.field_report(22)
def test_a_drain_killed_anywhere_loses_nothing_and_repeats_at_most_once(nursery: Nursery, tmp_path: Path) -> None:
    def make(world: World) -> None:
        two_sessions(world)
        for text in ("one", "two"):
            world.send(None, text, B)

    for world, finished in kills(nursery, tmp_path, make, "drain", 200):
        wanted = [slip.id for slip in world.waiting(B)]
        assert len(wanted) == 2
        shown: list[str] = []
        if finished:
            # The hook's output reached the client, which wrote it down.
            shown += show(world, B)
        again: list[str] = []
        for _ in range(4):
            outcome = nursery.one(world, "drain", 200)
            assert outcome.error is None
            again += outcome.value
            show(world, B, outcome.value)
            world.clock.advance(6)
        assert sorted(shown + again) == sorted(wanted)
        assert world.waiting(B) == []


def show(world: World, session: str, given: list[str] | None = None) -> list[str]:
    """The client shows what a drain printed, and writes its line."""
    key = next(one.key for one in instances.read_all(world.bus) if one.session == session)
    shown = list(ledger.read(world.bus, key).claims) if given is None else given
    if shown:
        texts = [headers.shown(one) for one in signals.read_all(world.bus, shown, [])]
        world.write(session, rows.hook_context("\n".join(texts), NOON))
    return shown


@pytest.mark.demand("CON-1")
@pytest.mark.field_report(93)
def test_a_mark_killed_anywhere_is_finished_by_the_next_look_and_shows_nothing_again(
    nursery: Nursery, tmp_path: Path
) -> None:
    def make(world: World) -> None:
        two_sessions(world)
        for text in ("one", "two"):
            world.send(None, text, B)
        assert len(nursery.one(world, "drain", 200).value) == 2
        show(world, B)

    for world, _ in kills(nursery, tmp_path, make, "drain", 200):
        outcome = nursery.one(world, "drain", 200)
        assert outcome.value == []
        assert world.waiting(B) == []
        me = instances.find(world.bus, world.identity(200))
        assert me is not None
        assert len(seen.proofs(world.bus, me.key, signals.all_ids(world.bus))) == 2
        assert not ledger.read(world.bus, me.key).claims


@pytest.mark.demand("ATT-7", "ATT-6")
def test_a_join_killed_anywhere_can_be_made_again_and_leaves_others_alone(nursery: Nursery, tmp_path: Path) -> None:
    def make(world: World) -> None:
        world.session(200, B)
        intake.join(world.bus, instances.read_all(world.bus)[0], "deploy")
        world.send(None, "fresh", "#deploy")
        world.client(100, A)

    for world, _ in kills(nursery, tmp_path, make, "join", 100, "deploy"):
        assert nursery.one(world, "join", 100, "deploy").error is None
        assert len(rooms.members(world.bus, "deploy")) == 2
        assert len(instances.read_all(world.bus)) == 2
        world.send(None, "after", "#deploy")
        assert world.bodies(A)[-1] == "after"
        assert world.bodies(B) == ["fresh", "after"]


@pytest.mark.demand("ATT-6")
def test_following_clear_killed_anywhere_keeps_name_and_mail(nursery: Nursery, tmp_path: Path) -> None:
    names = {}

    def make(world: World) -> None:
        names["before"] = world.session(100, A).name
        world.send(None, "to the old id", A)
        world.send(None, "to the project", "/home/person/web/none")
        world.client(100, C)

    for world, _ in kills(nursery, tmp_path, make, "start", 100):
        outcome = nursery.one(world, "start", 100)
        assert outcome.value == names["before"]
        assert world.bodies(C) == ["to the old id"]


@pytest.mark.demand("ATT-2")
@pytest.mark.field_report(93)
def test_moving_kept_mail_killed_anywhere_loses_none_and_doubles_none(nursery: Nursery, tmp_path: Path) -> None:
    def make(world: World) -> None:
        for text in ("one", "two"):
            world.send(None, text, WEB)
        world.client(100, A)

    for world, _ in kills(nursery, tmp_path, make, "start", 100):
        assert nursery.one(world, "start", 100).error is None
        assert world.bodies(A) == ["one", "two"]
        page = listing(world.bus, Viewer(world.bus, instances.read_all(world.bus)[0]), Filter())
        assert [item.signal.body for item in page.items] == ["two", "one"]


@pytest.mark.demand("ATT-12")
def test_a_cleanup_killed_anywhere_loses_nothing_and_is_finished_by_the_next(nursery: Nursery, tmp_path: Path) -> None:
    def make(world: World) -> None:
        world.session(100, A)
        world.session(200, B)
        for number in range(3):
            world.send(None, str(number), A)
        world.clock.advance(31 * 86_400)
        world.arrive(200)
        world.send(None, "new", B)

    for world, _ in kills(nursery, tmp_path, make, "tidy"):
        assert [world.body(signal_id) for signal_id in everything(world)] == ["0", "1", "2", "new"]
        assert world.bodies(B) == ["new"]
        assert nursery.one(world, "tidy").error is None
        assert len(signals.all_ids(world.bus)) == 1
        assert [world.body(signal_id) for signal_id in everything(world)] == ["0", "1", "2", "new"]


def everything(world: World) -> list[str]:
    """Every signal's id, archived or not, oldest first."""
    found = set(signals.all_ids(world.bus))
    for _, _, files in os.walk(layout.archive(world.bus.root)):
        found |= {name[:-5] for name in files if ids.is_id(name[:-5])}
    return sorted(found)


@pytest.mark.demand("ATT-2")
def test_of_twenty_sessions_one_has_the_note_to_self(world: World, nursery: Nursery) -> None:
    for number in range(20):
        world.session(100 + number, f"{number:08x}-0000-4000-8000-000000000000")
    sent = world.send(None, "go on", "self").signal
    outcomes = nursery.run(world, "self", 100, times=20)
    assert [outcome.error for outcome in outcomes] == [None] * 20
    assert sorted(outcome.value for outcome in outcomes) == [[]] * 19 + [[sent.id]]


@pytest.mark.demand("ATT-7")
@pytest.mark.field_report(59)
@pytest.mark.parametrize("lock", ["registry", "ledger"])
def test_a_stopped_lock_holder_is_named_in_bounded_time_and_nothing_changes(
    world: World, nursery: Nursery, lock: str
) -> None:
    me = world.session(100, A)
    world.client(200, B)
    world.send(None, "waits", A)
    name = "registry" if lock == "registry" else f"ledger.{me.key}"
    holder = nursery.one(world, "hold", name).value
    before = world.tree()
    task = ("start", 200) if lock == "registry" else ("drain", 100)
    outcome = nursery.one(world, *task, patience=0.2)
    assert outcome.error is not None
    assert outcome.error.startswith("LockHeldError")
    assert f"process {holder} on north" in outcome.error
    assert f"ps -p {holder}" in outcome.error
    assert world.tree() == before
    assert nursery.one(world, "send", 0, "still possible", A).error is None
    assert world.bodies(A) == ["waits", "still possible"]


@pytest.mark.demand("ATT-7")
def test_a_process_stopped_while_it_sends_holds_up_nobody(nursery: Nursery, tmp_path: Path) -> None:
    for at in (5, 12, 20, 28):
        world = World(tmp_path / str(at))
        two_sessions(world)
        nursery.one(world, "send", 100, "stopped", B, at=at, by=19)
        outcome = nursery.one(world, "send", 100, "goes on", B)
        assert outcome.error is None
        assert world.bodies(B)[-1] == "goes on"


@pytest.mark.demand("ATT-11")
@pytest.mark.field_report(69)
def test_a_resident_reader_keeps_no_descriptor(world: World, nursery: Nursery) -> None:
    world.session(100, A)
    for number in range(200):
        world.send(None, f"x{number}", A)
    counts = nursery.one(world, "read", 100).value
    assert len(set(counts)) == 1


@pytest.mark.demand("ATT-7")
def test_two_takers_of_one_slip_are_one(world: World) -> None:
    sent = world.send(None, "x", WEB).signal
    slip = trays.Slip(layout.tray_of_project(WEB), sent.id, trays.DIRECT)
    assert trays.move(world.bus, slip, A)
    assert not trays.move(world.bus, slip, B)
    assert world.bodies(A) == ["x"]
