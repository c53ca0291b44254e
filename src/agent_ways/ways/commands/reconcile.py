"""`ways reconcile`: make the target right, and nothing else.

Owns the order: everything is judged before anything is touched, then the link, then the registration. In this
version there is one target, the one that the environment means.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_ways.base.errors import StateError
from agent_ways.claude import mcp
from agent_ways.ways import links
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.target import Target, target_of

if TYPE_CHECKING:
    from agent_ways.ways.world import World

_STATUS = {
    "current": Status.OK,
    "added": Status.DONE,
    "replaced": Status.DONE,
    "foreign": Status.NOTE,
    "missing": Status.NOTE,
    "unreadable": Status.FAILED,
    "failed": Status.FAILED,
}


def run(world: World, *, dry_run: bool = False) -> Report:
    """Converge the target. What Claude Code's side refuses is reported and fails nothing (exit 0)."""
    if world.layout.installed() is None:
        raise StateError("nothing is installed here yet", "In the checkout: make install")
    target = target_of(world.env)
    command = world.layout.command("ways-mcp")
    if not world.has_claude and not os.path.isdir(target.place.config_dir):
        absent = Line(
            Status.NOTE,
            "Claude Code",
            f"is not here: no claude on PATH, no {target.place.config_dir}",
            "once it is installed: ways reconcile",
        )
        return Report("reconcile", (absent,))
    links.refuse_foreign(target.link, command, world.layout.data, "Move it aside, then run: ways reconcile")
    if dry_run:
        return _report(_plan(world, target, command))
    with world.lock():
        return _report(_act(world, target, command))


def _report(lines: tuple[Line, ...]) -> Report:
    return Report("reconcile", lines, quiet="nothing to do: link and registration are right")


def _plan(world: World, target: Target, command: str) -> tuple[Line, ...]:
    found = links.judge(target.link, command, world.layout.data)
    linked = found is links.Link.CURRENT
    plan = mcp.plan_registration(mcp.read(target.place.file), target.link)
    status = Status.WOULD if plan.steps else _STATUS[plan.state]
    return (
        _link_line(Status.OK if linked else Status.WOULD, target, command),
        Line(status, "registration", plan.reason, target.place.by_hand(plan.steps, world.env)),
    )


def _act(world: World, target: Target, command: str) -> tuple[Line, ...]:
    ledger = Ledger(world.layout)
    ledger.note_target(target)
    ledger.make_folder(os.path.dirname(target.link))
    linked = links.put(target.link, command, world.layout.data)
    outcome = mcp.register(target.place, target.link, world.claude(target.place), world.env)
    return (
        _link_line(Status.DONE if linked else Status.OK, target, command),
        Line(_STATUS[outcome.state], "registration", outcome.reason, outcome.by_hand),
    )


def _link_line(status: Status, target: Target, command: str) -> Line:
    return Line(status, "link", f"{target.link} -> {command}")
