"""`ways uninstall`: take back all that was made, and leave what is a person's.

Owns the order (LIFE-9): registrations first, then the links in config dirs, then those on PATH, then the versions.
The user config and the state (messages, records) stay. A second run finds nothing and says so.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_ways.base.errors import UsageError
from agent_ways.claude import mcp
from agent_ways.ways import links
from agent_ways.ways.layout import COMMANDS
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.target import Target, target_of

if TYPE_CHECKING:
    from agent_ways.ways.world import World

_STATUS = {
    "removed": Status.DONE,
    "foreign": Status.NOTE,
    "missing": Status.FAILED,
    "unreadable": Status.FAILED,
    "failed": Status.FAILED,
}


def run(world: World, *, dry_run: bool = False) -> Report:
    """Withdraw everything; exit 1 where a registration had to be left for a person to remove."""
    layout = world.layout
    if not os.path.isdir(layout.data):
        return _report(_path_links(world, dry_run=dry_run))
    if dry_run:
        return _report(_targets(world, Ledger(layout), dry_run=True) + _path_links(world, dry_run=True) + _data(world))
    with world.lock():
        ledger = Ledger(layout)
        lines = _targets(world, ledger, dry_run=False) + _path_links(world, dry_run=False)
        present = layout.on_disk()
        left = layout.remove()
        ledger.remove_empty_folders()
    if left:
        lines.append(Line(Status.NOTE, "data", f"{left[0]} holds files that are not ours; it stays"))
    elif present:
        lines.append(Line(Status.DONE, "versions", f"removed {', '.join(present)} and {layout.data}"))
    return _report(lines)


def _report(lines: list[Line]) -> Report:
    failed = any(line.status is Status.FAILED for line in lines)
    return Report("uninstall", tuple(lines), exit_code=int(failed), quiet="nothing to do: nothing of ours is here")


def _targets(world: World, ledger: Ledger, *, dry_run: bool) -> list[Line]:
    lines = []
    for target in _known(world, ledger):
        lines += _registration(world, target, dry_run=dry_run)
        command = world.layout.command("ways-mcp")
        lines += _link(target.link, command, world.layout.data, dry_run=dry_run)
    return lines


def _known(world: World, ledger: Ledger) -> list[Target]:
    targets = ledger.targets(world.home)
    try:
        here = target_of(world.env)
    except UsageError:
        return targets
    return targets if here in targets else [*targets, here]


def _registration(world: World, target: Target, *, dry_run: bool) -> list[Line]:
    if dry_run:
        plan = mcp.plan_removal(mcp.read(target.place.file), target.link)
        if plan.state == "absent":
            return []
        hand = target.place.by_hand(plan.steps, world.env)
        return [Line(Status.WOULD if plan.steps else _STATUS[plan.state], "registration", plan.reason, hand)]
    outcome = mcp.unregister(target.place, target.link, world.claude(target.place), world.env)
    if outcome.state == "absent":
        return []
    return [Line(_STATUS[outcome.state], "registration", outcome.reason, outcome.by_hand)]


def _path_links(world: World, *, dry_run: bool) -> list[Line]:
    lines = []
    for name in COMMANDS:
        path = os.path.join(world.layout.bin, name)
        lines += _link(path, world.layout.command(name), world.layout.data, dry_run=dry_run)
    return lines


def _link(path: str, command: str, data: str, *, dry_run: bool) -> list[Line]:
    if links.judge(path, command, data) not in (links.Link.CURRENT, links.Link.OURS):
        return []
    if not dry_run:
        links.take(path, command, data)
    return [Line(Status.WOULD if dry_run else Status.DONE, "link", f"remove {path}" if dry_run else f"removed {path}")]


def _data(world: World) -> list[Line]:
    present = world.layout.on_disk()
    return [Line(Status.WOULD, "versions", f"remove {', '.join(present)} and {world.layout.data}")] if present else []
