"""`ways uninstall`: take back all that was made, and leave what is a person's.

Owns the order (LIFE-9): in each target registration, settings entries, links; then the links on PATH, then versions.
The user config and the state (messages, records, what was declined) stay, unless purged. A second run finds nothing
and says so. Needs the standard library alone: a checkout runs it without anything installed.
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from agent_ways.base import paths
from agent_ways.base.errors import RefusedError, UsageError
from agent_ways.ways import acts, links, original, plan
from agent_ways.ways.commands import reconcile
from agent_ways.ways.layout import COMMANDS
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.target import target_of
from agent_ways.ways.targets import FILE as TARGETS
from agent_ways.ways.targets import Known, TargetList

if TYPE_CHECKING:
    from agent_ways.ways.world import World


def run(world: World, *, dry_run: bool = False, purge: bool = False) -> Report:
    """Withdraw everything; exit 1 where something had to be left for a person to take away."""
    refuse_odd(world, purge=purge)
    layout = world.layout
    if dry_run:
        lines = _planned(world)
        return _report(lines + (_purge(world, dry_run=True) if purge else _stays(world)))
    if not os.path.isdir(layout.data) and not world.targets().exists:
        return _report(_path_links(world, dry_run=False) + (_purge(world, dry_run=False) if purge else _stays(world)))
    with world.lock():
        ledger = Ledger(layout)
        known = world.targets()
        lines = []
        for each in _all(world, known):
            lines += reconcile.withdrawn(world, each, known)
        lines += _path_links(world, dry_run=False)
        world.step("versions")
        present = layout.on_disk()
        known.remove()
        if purge:
            lines += _purge(world, dry_run=False)
        left = layout.remove()
        ledger.remove_empty_folders()
    if left:
        lines.append(Line(Status.NOTE, "data", f"{left[0]} holds files that are not ours; it stays"))
    elif present:
        lines.append(Line(Status.DONE, "versions", _versions(present, layout.data)))
    return _report(lines + ([] if purge else _stays(world)))


def refuse_odd(world: World, *, purge: bool) -> None:
    """Raise `RefusedError` for a layout in which taking ours away could take more."""
    places = {
        "data": world.layout.data,
        "state": paths.state_root(world.env),
        "configuration": paths.config_dir(world.env),
    }
    for name, path in places.items():
        if os.path.islink(path) and (purge or name == "data"):
            raise RefusedError(
                f"the {name} dir {path} is a symbolic link", "Look at what it leads to, and remove it by hand."
            )
        for other, inside in places.items():
            if name != other and (path == inside or inside.startswith(os.path.join(path, ""))):
                raise RefusedError(
                    f"the {name} dir {path} and the {other} dir {inside} are not apart",
                    "Give XDG_DATA_HOME, XDG_STATE_HOME and XDG_CONFIG_HOME a folder each, then run it again.",
                )


def _report(lines: list[Line]) -> Report:
    failed = any(line.status is Status.FAILED for line in lines)
    return Report("uninstall", tuple(lines), exit_code=int(failed), quiet="nothing to do: nothing of ours is here")


def _planned(world: World) -> list[Line]:
    known = world.targets()
    lines = []
    for each in _all(world, known):
        lines += acts.shown(plan.retreat(world, each), world.env)
    lines += _path_links(world, dry_run=True)
    present = world.layout.on_disk()
    return lines + ([Line(Status.WOULD, "versions", _versions(present, world.layout.data))] if present else [])


def _all(world: World, known: TargetList) -> list[Known]:
    """The targets of the list, and the dir in force: the list may have been lost."""
    found = list(known)
    try:
        here = target_of(world.env)
    except UsageError:
        return found
    return found if known.get(here) else [*found, Known(here)]


def _path_links(world: World, *, dry_run: bool) -> list[Line]:
    lines = []
    for name in COMMANDS:
        path = os.path.join(world.layout.bin, name)
        command = world.layout.command(name)
        if links.judge(path, command, world.layout.data) not in (links.Link.CURRENT, links.Link.OURS):
            continue
        if not dry_run:
            world.step(path)
            links.take(path, command, world.layout.data)
        lines.append(Line(Status.WOULD if dry_run else Status.DONE, "link", f"takes {path} away"))
    return lines


def _shared(world: World) -> bool:
    """Whether the original agent-ways keeps its files in the same places."""
    config = paths.config_dir(world.env)
    return os.path.exists(os.path.join(config, original.CONFIG)) or os.path.isdir(
        os.path.join(world.layout.data, ".git")
    )


def _stays(world: World) -> list[Line]:
    """What is a person's and stays, by its path, and how it is removed."""
    state, config = paths.state_root(world.env), paths.config_dir(world.env)
    found = {config: "your settings stay"} if os.path.isdir(config) else {}
    # The list of targets and the backups of settings go by themselves, but for what a person decided.
    decided = any(not known.withdrawn.is_plain for known in world.targets())
    if decided or {*_names(state)} - {TARGETS, "backups"}:
        found = {state: "your messages and records stay", **found}
    by_hand = "" if _shared(world) else "; to remove them: rm -r "
    return [Line(Status.NOTE, path, what + (by_hand and by_hand + shlex.quote(path))) for path, what in found.items()]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _purge(world: World, *, dry_run: bool) -> list[Line]:
    """Take the state and the user config away, whole."""
    config = paths.config_dir(world.env)
    if _shared(world):
        text = "state and configuration are shared with the original agent-ways; they stay"
        return [Line(Status.FAILED, "purge", text, "remove its files first, or take ours out by hand")]
    lines = []
    for path in (paths.state_root(world.env), config):
        if not os.path.isdir(path):
            continue
        if not dry_run:
            world.step(path)
            shutil.rmtree(path, ignore_errors=True)
        gone = dry_run or not os.path.exists(path)
        status = Status.WOULD if dry_run else Status.DONE if gone else Status.FAILED
        lines.append(Line(status, "purge", f"removes {path} with all that is in it"))
    return lines


def _versions(present: list[str], data: str) -> str:
    return f"removes {', '.join(present)} and {data}"
