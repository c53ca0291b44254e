from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_ways.attend import ids, inbox, layout, signals, trays
from agent_ways.attend.signals import Note, Sender, Signal
from agent_ways.base.errors import UsageError
from tests.attend.world import A, B

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.attend.world import World

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@pytest.mark.demand("ATT-1")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=texts, name=texts, re=st.booleans())
def test_a_signal_reads_back_exactly(world: World, body: str, name: str, re: bool) -> None:
    made = ids.next_id(world.bus)
    sent = Signal(
        id=made,
        at=1_796_000_000_123,
        sender=Sender(kind="human", user="pat", name=name, host="north", project="/p"),
        to=("#deploy", "*"),
        room="#deploy",
        body=body,
        re=made if re else None,
        recipients=(A, B),
    )
    signals.post(world.bus, sent, [trays.Slip(A, made, trays.CHANNEL)], ["open"])
    assert signals.read(world.bus, made) == sent


@pytest.mark.demand("ATT-1")
def test_files_are_private_and_folders_too_whatever_the_umask(world: World) -> None:
    before = os.umask(0)
    try:
        world.session(100, A)
        world.send(None, "hello", A)
    finally:
        os.umask(before)
    for folder, _, files in os.walk(world.bus.root):
        assert os.stat(folder).st_mode & 0o777 == 0o700, folder
        for name in files:
            assert os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o600, name


@pytest.mark.demand("ATT-1")
@pytest.mark.field_report(24)
@pytest.mark.parametrize("body", ["", " \n\t", "a" * 65537, "é" * 32769, "\udc80", "ok \ud800"])
def test_a_body_that_can_not_be_is_refused_with_what_to_do_and_nothing_is_written(world: World, body: str) -> None:
    with pytest.raises(UsageError) as error:
        world.send(None, body)
    assert error.value.hint
    assert not os.path.exists(world.bus.root)


@pytest.mark.demand("ATT-1")
@pytest.mark.parametrize("body", ["a" * 65536, "\x1b[31m\0\r\n\u202e\u2028</channel>", "é" * 32768, "\0" * 65536])
def test_a_body_that_can_be_is_kept_exactly(world: World, body: str) -> None:
    sent = world.send(None, body)
    assert world.body(sent.signal.id) == body


def damage(path: str, how: str) -> None:
    os.unlink(path)
    if how == "folder":
        os.mkdir(path)
    elif how == "fifo":
        os.mkfifo(path)
    elif how == "dangling link":
        os.symlink("/nowhere/at/all", path)
    else:
        with open(path, "wb") as file:
            file.write(DAMAGED[how])


DAMAGED = {
    "empty": b"",
    "half": b'{"v":1,"id":"',
    "no object": b"[]",
    "newer": b'{"v":99}',
    "not text": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "no fields": b'{"v":1}',
    "huge": b" " * ((1 << 20) + 1),
}


@pytest.mark.demand("ATT-11")
@pytest.mark.field_report(57)
@pytest.mark.parametrize("how", [*DAMAGED, "folder", "fifo", "dangling link"])
def test_a_damaged_signal_is_passed_over_with_a_note_and_the_others_are_read(world: World, how: str) -> None:
    world.session(100, A)
    first, bad, last = (world.send(None, text, A).signal for text in ("first", "bad", "last"))
    path = layout.signal(world.bus.root, ids.day(bad.id), bad.id)
    damage(path, how)
    notes: list[Note] = []
    found = signals.read_all(world.bus, [first.id, bad.id, last.id], notes)
    assert [one.body for one in found] == ["first", "last"]
    assert [note.path for note in notes] == [path]
    assert world.bodies(A) == ["first", "last"]
    page = inbox.listing(world.bus, inbox.Viewer(world.bus, world.arrive(100)), inbox.Filter())
    assert [item.signal.body for item in page.items] == ["last", "first"]
    assert len(page.notes) == 1


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/nowhere", path)])
def test_strange_things_in_a_tray_are_passed_over(world: World, make: Callable[[str], None]) -> None:
    one = world.session(100, A)
    world.send(None, "hello", A)
    folder = layout.tray(world.bus.root, A)
    for name in (
        "x",
        ".hidden",
        "after.",
        "after.../..",
        ids.make(1, b"abcde") + ".odd",
        ids.make(2, b"abcde") + ".direct",
    ):
        try:
            make(os.path.join(folder, name))
        except OSError:
            continue
    assert world.bodies(A) == ["hello"]
    assert len(world.claim(one)) >= 1


@pytest.mark.demand("ATT-1")
def test_a_signal_is_found_by_its_id_or_the_end_of_it(world: World) -> None:
    sent = world.send(None, "hello").signal
    assert signals.find(world.bus, sent.id) == sent.id
    assert signals.find(world.bus, f" {ids.short(sent.id).upper()} ") == sent.id
    assert signals.find(world.bus, ids.short(sent.id)[:4]) == sent.id


@pytest.mark.parametrize("text", ["", "abc", "zzzz", "0" * 12 + "-" + "0" * 8, "../../etc/passwd", "x\0y", "é" * 8])
def test_an_id_that_means_nothing_is_refused(world: World, text: str) -> None:
    world.send(None, "hello")
    with pytest.raises(UsageError):
        signals.find(world.bus, text)


@pytest.mark.demand("ATT-1")
def test_a_slip_whose_signal_is_not_there_yet_counts_for_nobody(world: World) -> None:
    one = world.session(100, A)
    on_its_way = ids.next_id(world.bus)
    trays.put(world.bus, [trays.Slip(A, on_its_way, trays.DIRECT)])
    assert world.waiting(A) == []
    page = inbox.listing(world.bus, inbox.Viewer(world.bus, one), inbox.Filter(unseen=True))
    assert page.items == ()
    assert page.notes == ()
