"""`ways target`: the list of config dirs that agent-ways is active in, and what a change to it would do.

Owns the verbs on the list. Each is recorded first and then converged, for that one dir. What is done in a dir is
`reconcile`'s.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent_ways.base.errors import StateError, UsageError
from agent_ways.ways import acts, plan
from agent_ways.ways.commands import reconcile
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.settings.merge import DECLINED, Base
from agent_ways.ways.target import target_at
from agent_ways.ways.targets import Known, TargetList
from agent_ways.ways.update import managed

if TYPE_CHECKING:
    from agent_ways.ways.projection import Source
    from agent_ways.ways.world import World


def show_list(world: World) -> Report:
    """`ways target list`: every target with whether it is as it should be."""
    known = world.targets()
    lines, data = [], []
    for each in reconcile.meant(world, known):
        state = state_of(world, each)
        status = Status.OK if state.is_fine else Status.NOTE
        lines.append(Line(status, each.target.config_dir, state.text, state.repair))
        data.append(as_data(each, state))
    if not lines:
        lines.append(Line(Status.NOTE, "targets", "there is none", "ways target add DIR"))
    return Report("target list", tuple(lines), data={"targets": data, "recorded": known.exists})


@dataclass(frozen=True)
class State:
    """How a target is: one word (active, pending, refused, withdrawn or stale), one sentence, and what mends it."""

    word: str
    text: str
    repair: str = ""

    @property
    def is_fine(self) -> bool:
        """Whether it is as it should be."""
        return self.word in ("active", "withdrawn")


def state_of(world: World, known: Known) -> State:
    """How a target is now. What `ways reconcile` alone can not mend is said with its own reason and repair."""
    source = world.source()
    if source is None:
        return State("pending", "nothing is installed", managed.to_install())
    todo = reconcile.judged(world, known, source, plan.Licence())
    if todo.refusals:
        first = todo.refusals[0]
        return State("refused", f"{first.subject} {first.text}", first.repair)
    stuck = [line for line in todo.notes if line.status is Status.FAILED]
    repair = next((line.repair for line in stuck if line.repair), "ways reconcile")
    reasons = [f"{line.subject}: {line.text}" for line in stuck]
    if not known.enabled:
        if todo.steps or stuck:
            return State("stale", "; ".join(["disabled, and something of ours is there", *reasons]), repair)
        return State("withdrawn", "disabled")
    if todo.steps or stuck:
        left = list(dict.fromkeys(step.subject for step in todo.steps))
        told = [", ".join(left)] if left else []
        return State("pending", f"not as it should be: {'; '.join([*told, *reasons])}", repair)
    declined = known.base.named(DECLINED)
    return State("active", "active" + (f"; you declined {', '.join(declined)}" if declined else ""))


def as_data(known: Known, state: State) -> dict[str, Any]:
    """One target in JSON answers."""
    return {
        "config_dir": known.target.config_dir,
        "enabled": known.enabled,
        "state": state.word,
        "text": state.text,
        "repair": state.repair or None,
        "declined": list(known.base.named(DECLINED)),
    }


def show_plan(world: World, directory: str, *, force: bool = False, take_over: bool = False) -> Report:
    """`ways target plan DIR`: what adding or enabling it would do there; exit 3 where that is refused."""
    known = world.targets()
    target = target_at(directory, world.home)
    found = known.get(target) or Known(target)
    licence = plan.Licence(force=force, take_over=take_over)
    lines = reconcile.shown(world, replace(found, enabled=True), _source(world), licence)
    return reconcile.report("target plan", [_to_be_made(target.config_dir, lines), lines], world, known)


def add(world: World, directory: str, *, dry_run: bool = False, force: bool = False, take_over: bool = False) -> Report:
    """`ways target add DIR`: record it, then converge it; nothing is recorded where that is refused."""
    return _changed(world, "target add", directory, plan.Licence(force, take_over), dry_run=dry_run, new=True)


def enable(
    world: World, directory: str, *, dry_run: bool = False, force: bool = False, take_over: bool = False
) -> Report:
    """`ways target enable DIR`: make a disabled target active again; what was declined stays so."""
    return _changed(world, "target enable", directory, plan.Licence(force, take_over), dry_run=dry_run)


def disable(world: World, directory: str, *, dry_run: bool = False) -> Report:
    """`ways target disable DIR`: take everything of ours out of it; it stays in the list."""
    return _changed(world, "target disable", directory, plan.Licence(), dry_run=dry_run, enabled=False)


def _changed(
    world: World,
    verb: str,
    directory: str,
    licence: plan.Licence,
    *,
    dry_run: bool,
    enabled: bool = True,
    new: bool = False,
) -> Report:
    source = _source(world)
    target = target_at(directory, world.home)
    if dry_run:
        known = world.targets()
        found = _found(world, known, directory, Known(target) if new else None)
        lines = reconcile.shown(world, replace(found, enabled=enabled), source, licence)
        return reconcile.report(verb, [_to_be_made(target.config_dir, lines), lines], world, known)
    with world.lock():
        known = world.targets()
        before = _found(world, known, directory, Known(target) if new else None)
        wanted = replace(before, enabled=enabled)
        todo = reconcile.judged(world, wanted, source, licence)
        if todo.refusals:
            return reconcile.report(verb, [[*todo.notes, *todo.refusals]], world, known)
        _begin(world, known)
        known.put(wanted)
        was_there = os.path.lexists(target.config_dir)
        lines = reconcile.tried(world, wanted, source, licence, known)
        made = not was_there and os.path.isdir(target.config_dir)
        note = [Line(Status.NOTE, target.config_dir, "was not there: made")] if made else []
        return reconcile.report(verb, [note, lines], world, known)


def _to_be_made(config_dir: str, lines: list[Line]) -> list[Line]:
    """Said where what is planned makes the dir: it may be a slip of the fingers."""
    if os.path.lexists(config_dir) or not any(line.status is Status.WOULD for line in lines):
        return []
    return [Line(Status.NOTE, config_dir, "is not there: would be made")]


def remove(world: World, directory: str, *, dry_run: bool = False) -> Report:
    """`ways target remove DIR`: take everything of ours out of it and forget it, also where the dir is gone."""
    if dry_run:
        known = world.targets()
        found = replace(_found(world, known, directory), enabled=False)
        lines = acts.shown(plan.retreat(world, found), world.env)
        gone = Line(Status.WOULD, "targets", f"forgets {found.target.config_dir}")
        return reconcile.report("target remove", [[*lines, gone]], world, known)
    with world.lock():
        known = world.targets()
        found = _found(world, known, directory)
        _begin(world, known)
        known.put(replace(found, enabled=False))
        lines = reconcile.withdrawn(world, replace(found, enabled=False), known)
        if any(line.status is Status.FAILED for line in lines):
            kept = f"{found.target.config_dir} stays in the list, disabled: something of ours is still there"
            return reconcile.report("target remove", [[*lines, Line(Status.FAILED, "targets", kept)]], world, known)
        known.forget(found.target)
        gone = Line(Status.DONE, "targets", f"forgets {found.target.config_dir}")
        return reconcile.report("target remove", [[*lines, gone]], world, known)


def reset(world: World, directory: str, *, dry_run: bool = False) -> Report:
    """`ways target reset DIR`: offer again what was declined in it, and put in what is missing."""
    source = _source(world)
    if dry_run:
        known = world.targets()
        found = _afresh(world, _found(world, known, directory), source)
        return reconcile.report("target reset", [reconcile.shown(world, found, source, plan.Licence())], world, known)
    with world.lock():
        known = world.targets()
        found = _afresh(world, _found(world, known, directory), source)
        _begin(world, known)
        known.put(found)
        lines = reconcile.tried(world, found, source, plan.Licence(), known)
        return reconcile.report("target reset", [lines], world, known)


def _afresh(world: World, known: Known, source: Source) -> Known:
    """The same with nothing declined, what a person took out a moment ago included."""
    base = plan.converge(world, known, source, plan.Licence()).intent.base
    entries = {name: entry for name, entry in base.entries.items() if entry.state != DECLINED}
    return replace(known, base=Base(entries, base.made))


def _source(world: World) -> Source:
    source = world.source()
    if source is None:
        raise StateError("nothing is installed here yet", managed.to_install())
    return source


def _begin(world: World, known: TargetList) -> None:
    """Write the list that was only meant so far, before it is changed."""
    Ledger(world.layout).make_folder(known.path.rpartition("/")[0])
    if not known.exists:
        for each in reconcile.meant(world, known):
            known.put(each)


def _found(world: World, known: TargetList, directory: str, otherwise: Known | None = None) -> Known:
    target = target_at(directory, world.home)
    found = known.get(target) or otherwise
    if found is None and not known.exists:
        found = next((each for each in reconcile.meant(world, known) if each.target == target), None)
    if found is None:
        raise UsageError(
            f"{target.config_dir} is no target", "ways target list shows them; ways target add DIR adds one"
        )
    return found
