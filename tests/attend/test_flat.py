"""What looking costs with a long history: the same, counted in calls, names and bytes, never in time."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import evidence, ids, intake, layout, ledger, trays
from tests.attend.world import A, B, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OLD = 100_000
MEMORY = "/dev/shm"
_LINKS = 30_000
"""Names that one file may have, on any file system."""


def put_history(world: World, count: int) -> None:
    """Old signals over a month, seen long ago: files under many names, in every history that keeps them."""
    now = int(world.clock.wall() * 1_000_000)
    folders = [layout.signals(world.bus.root)] + [
        layout.room(world.bus.root, room) for room in ("open", f"tray.{A}", "channel.deploy", f"sent.{B}")
    ]
    source = ""
    made: set[str] = set()
    for number in range(count):
        signal_id = ids.make(now - (number + 1) * 25_000_000, number.to_bytes(5, "big"))
        day = ids.day(signal_id)
        if day not in made:
            made.add(day)
            for folder in folders:
                os.makedirs(os.path.join(folder, day), exist_ok=True)
        for at, folder in enumerate(folders[: 5 if number % 10 == 0 else 2]):
            path = os.path.join(folder, day, signal_id + (".json" if at == 0 else ""))
            if number % (_LINKS // 5) == 0 and at == 0:
                source = path
                with open(path, "wb") as file:
                    file.write(b"{}")
            else:
                os.link(source, path)


class Count:
    """Calls that look at the disk, names that they list and bytes that they read."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls = self.names = self.bytes = 0
        for name in (
            "open",
            "stat",
            "lstat",
            "rename",
            "unlink",
            "mkdir",
            "rmdir",
            "fsync",
            "listdir",
            "read",
            "scandir",
        ):
            patch.setattr(os, name, self._counting(name, getattr(os, name)))

    def _counting(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **more: Any) -> Any:
            self.calls += 1
            answer = function(*args, **more)
            if name == "listdir":
                self.names += len(answer)
            elif name == "read":
                self.bytes += len(answer)
            return answer

        return counted


def cost(act: Callable[[], object]) -> tuple[int, int, int]:
    with pytest.MonkeyPatch.context() as patch:
        count = Count(patch)
        act()
    return count.calls, count.names, count.bytes


@pytest.fixture(scope="module")
def worlds() -> Iterator[tuple[World, World]]:
    made = []
    # In memory where that can be had: a hundred thousand names take a busy disk a minute.
    base = tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
    for name, count in (("new", 0), ("old", OLD)):
        world = World(os.path.join(base, name))
        world.clock._wall = time.time()
        one, other = world.session(100, A), world.session(200, B)
        intake.join(world.bus, one, "deploy")
        intake.join(world.bus, other, "deploy")
        put_history(world, count)
        made.append(world)
    yield made[0], made[1]
    shutil.rmtree(base)


def look(world: World) -> list[trays.Slip]:
    return trays.waiting(world.bus.root, A)


def nothing_new(world: World) -> None:
    assert look(world) == []


def drain(world: World) -> None:
    """A drain with mail to show: everything that it does."""
    me = world.arrive(100)
    with ledger.open_ledger(world.bus, me.key) as opened:
        slips = ledger.settled(world.bus, opened, look(world))
        evidence.settle(world.bus, opened, me, slips)
        assert ledger.claim(world.bus, opened, me, slips, conduit="drain", offset=evidence.transcript_end(me))


@pytest.mark.demand("ATT-12", "ATT-9")
def test_a_poll_a_send_and_a_drain_cost_the_same_with_a_hundred_thousand_old_signals(
    worlds: tuple[World, World],
) -> None:
    new, old = worlds
    assert sum(len(os.listdir(entry.path)) for entry in os.scandir(layout.signals(old.bus.root))) == OLD
    assert cost(lambda: nothing_new(old)) == cost(lambda: nothing_new(new))
    assert cost(lambda: nothing_new(old))[:2] <= (2, 0)
    sends = [cost(lambda world=world: world.send(None, "hello", A)) for world in worlds]  # type: ignore[misc]
    assert sends[0][0] + 3 >= sends[1][0]
    assert sends[0][1:] == sends[1][1:]
    drains = [cost(lambda world=world: drain(world)) for world in worlds]  # type: ignore[misc]
    assert drains[0][:2] == drains[1][:2]
    assert abs(drains[0][2] - drains[1][2]) < 200
