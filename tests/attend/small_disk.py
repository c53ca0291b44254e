"""Acts on a bus that lies on a small disk of its own; run in a mount namespace by `test_full_disk.py`.

`unshare -rm python -m tests.attend.small_disk FOLDER` mounts a tmpfs on FOLDER and prints what each act did, as one
JSON object. Must not know what the answers should be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from agent_ways.attend import evidence, instances, intake, ledger, retention, rooms, seen, trays
from agent_ways.base.errors import WaysError
from tests.attend.world import A, B, C, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_ways.attend.instances import Instance

PAGE = 4096
PAGES_LEFT = range(8)


def mount(folder: str, options: str, how: str = "-t") -> None:
    words = (
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder] if how == "-t" else ["mount", "-o", options, folder]
    )
    subprocess.run(words, check=True)


def fill(path: str, pages_left: int) -> None:
    """Use up the disk but for some pages."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    size = 0
    try:
        while True:
            size += os.write(fd, b"x" * PAGE)
    except OSError:
        pass
    os.ftruncate(fd, max(0, size // PAGE * PAGE - pages_left * PAGE))
    os.close(fd)


def claim(world: World, who: Instance) -> None:
    with ledger.open_ledger(world.bus, who.key) as opened:
        ledger.claim(world.bus, opened, who, trays.waiting(world.bus.root, A), conduit="drain", offset=0)


def mark(world: World, who: Instance) -> None:
    waiting = trays.waiting(world.bus.root, A)
    with ledger.open_ledger(world.bus, who.key) as opened:
        seen.mark(world.bus, who.key, {slip.id: {"kind": "hook", "session": A, "at": None} for slip in waiting})
        ledger.settled(world.bus, opened, waiting)


def acts(world: World, who: Instance) -> dict[str, Callable[[], Any]]:
    return {
        "send": lambda: world.send(None, "x" * 8000, A),
        "send to all": lambda: world.send(None, "x" * 8000, "*", "#deploy", "/p/none"),
        "claim": lambda: claim(world, who),
        "mark": lambda: mark(world, who),
        "join": lambda: rooms.join(world.bus, who.key, "brand-new"),
        "enter": lambda: intake.join(world.bus, who, "brand-new"),
        "start": lambda: instances.register(world.bus, world.identity(300), "sent"),
        "arrive": lambda: world.arrive(300, "sent"),
        "alias": lambda: intake.take_alias(world.bus, who, "captain"),
        "look": lambda: evidence.transcript_end(who),
        "tidy": lambda: retention.tidy(world.bus),
    }


def attempt(world: World, act: Callable[[], Any]) -> dict[str, Any]:
    """One act: the error it met, whether the tree is as before, and what waits for the session then."""
    before = world.tree(but=("clock",))
    try:
        act()
    except WaysError as error:
        after = world.tree(but=("clock",))
        left = {path for path in after if after[path] != before.get(path, "nothing")} | (set(before) - set(after))
        # A lock's file is made before what it protects, and stays.
        left = {path for path in left if not (path.startswith("locks") and after.get(path) in (b"", None))}
        return {"error": error.message, "hint": error.hint, "left": sorted(left), "waiting": len(world.waiting(A))}
    return {"error": None, "waiting": len(world.waiting(A))}


def on_a_fresh_disk(folder: str, options: str, name: str, spoil: Callable[[World], None]) -> dict[str, Any]:
    mount(folder, options)
    try:
        world = World(folder)
        who, other = world.session(100, A), world.session(200, B)
        intake.join(world.bus, other, "deploy")
        world.send(None, "already here", A)
        world.client(300, C)
        act = acts(world, who)[name]
        spoil(world)
        first = attempt(world, act)
        if os.path.exists(os.path.join(folder, "filler")):
            os.unlink(os.path.join(folder, "filler"))
            first["again"] = attempt(world, act)
        return first
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def read_only(world: World) -> None:
    mount(world.home, "remount,ro", "-o")


def no_inodes(world: World) -> None:
    for number in range(10_000):
        try:
            os.close(os.open(os.path.join(world.home, f"filler{number}"), os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError:
            return


def main() -> None:
    folder = sys.argv[1]
    answer: dict[str, Any] = {"full": {}, "read only": {}, "no inodes": {}}
    for name in ("send", "send to all", "claim", "mark", "join", "enter", "start", "arrive", "alias", "look", "tidy"):
        answer["full"][name] = [
            on_a_fresh_disk(
                folder,
                "size=512k,mode=0700",
                name,
                lambda world, pages=pages: fill(os.path.join(world.home, "filler"), pages),  # type: ignore[misc]
            )
            for pages in PAGES_LEFT
        ]
        answer["read only"][name] = on_a_fresh_disk(folder, "size=512k,mode=0700", name, read_only)
        answer["no inodes"][name] = on_a_fresh_disk(folder, "size=1m,nr_inodes=200,mode=0700", name, no_inodes)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
