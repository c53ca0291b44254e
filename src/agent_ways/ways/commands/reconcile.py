"""`ways reconcile`: make every target what it should be, and take everything of ours out of the disabled ones.

Owns which targets are looked at, and how their lines come together. Each is judged whole before it is touched, and
tried whatever happened to the others.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from agent_ways.base.errors import StateError, UsageError
from agent_ways.claude import dirs
from agent_ways.ways import acts, plan
from agent_ways.ways.acts import Hands
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.target import same_dir, target_of
from agent_ways.ways.targets import Known, TargetList
from agent_ways.ways.update import managed

if TYPE_CHECKING:
    from agent_ways.ways.plan import Licence, Plan
    from agent_ways.ways.projection import Source
    from agent_ways.ways.world import World

REFUSED = 3
BROKEN = 1
_QUIET = "nothing to do: links, settings and registration are right"


def run(world: World, *, dry_run: bool = False, force: bool = False, take_over: bool = False) -> Report:
    """Converge. Exit 1 where something could not be done, 3 where a target was refused; registration fails nothing."""
    licence = plan.Licence(force=force, take_over=take_over)
    source = world.source()
    if source is None:
        raise StateError("nothing is installed here yet", managed.to_install())
    if dry_run:
        known = world.targets()
        return report("reconcile", [shown(world, each, source, licence) for each in meant(world, known)], world, known)
    with world.lock():
        known = world.targets()
        done = [tried(world, each, source, licence, known) for each in meant(world, known)]
        return report("reconcile", done, world, known)


def meant(world: World, known: TargetList) -> tuple[Known, ...]:
    """The targets of the list; where there is no list yet, the dir in force. Raises `UsageError` for a relative one."""
    return tuple(known) if known.exists else (Known(target_of(world.env)),)


def judged(world: World, known: Known, source: Source, licence: Licence) -> Plan:
    """The plan for one target, as it is enabled or not."""
    if not known.enabled:
        return plan.retreat(world, known)
    return plan.converge(world, known, source, licence)


def tried(world: World, known: Known, source: Source, licence: Licence, targets: TargetList) -> list[Line]:
    """Judge one target and do what is to be done; never raises for what is in it."""
    absent = _absent(world, known)
    if absent is not None:
        return [absent]
    todo = judged(world, known, source, licence)
    ledger = Ledger(world.layout)
    if todo.steps:
        ledger.make_folder(os.path.dirname(targets.path))
    lines = acts.perform(todo, Hands(world, ledger, _key(known)), targets)
    if not known.enabled:
        clean_up(world, known, ledger)
    return lines or [_right(known)]


def withdrawn(world: World, known: Known, targets: TargetList) -> list[Line]:
    """Take everything of ours out of one target."""
    ledger = Ledger(world.layout)
    todo = plan.retreat(world, known)
    if todo.steps:
        ledger.make_folder(os.path.dirname(targets.path))
    lines = acts.perform(todo, Hands(world, ledger, _key(known)), targets)
    clean_up(world, known, ledger)
    return lines


def clean_up(world: World, known: Known, ledger: Ledger) -> None:
    """Take away what only a target that is active needs: folders that we made, and the backup of its settings."""
    ledger.remove_empty_folders(known.target.config_dir)
    backup = world.backup(_key(known))
    try:
        os.unlink(backup)
        os.rmdir(os.path.dirname(backup))
    except OSError:
        pass  # there is none, or another target has one


def shown(world: World, known: Known, source: Source, licence: Licence) -> list[Line]:
    """The lines of a dry run for one target."""
    absent = _absent(world, known)
    if absent is not None:
        return [absent]
    return acts.shown(judged(world, known, source, licence), world.env) or [_right(known)]


def report(verb: str, lines: list[list[Line]], world: World, known: TargetList) -> Report:
    """The lines of all targets, with the exit code that they mean."""
    found = [line for each in lines for line in each]
    if known.exists and not list(known):
        found.append(Line(Status.OK, "targets", "there is none: ways target add DIR"))
    found += _unlisted(world, known)
    refused = any(line.status is Status.REFUSED for line in found)
    failed = any(line.status is Status.FAILED and line.subject != "registration" for line in found)
    return Report(verb, tuple(found), exit_code=REFUSED if refused else BROKEN if failed else 0, quiet=_QUIET)


def _right(known: Known) -> Line:
    what = "links, settings and registration are right" if known.enabled else "disabled, and nothing of ours is there"
    return Line(Status.OK, known.target.config_dir, what)


def _absent(world: World, known: Known) -> Line | None:
    """Said where there is neither a client nor anything of one."""
    if world.has_claude or not known.enabled or os.path.isdir(known.target.config_dir):
        return None
    text = f"is not here: no claude on PATH, no {known.target.config_dir}"
    return Line(Status.NOTE, "Claude Code", text, "once it is installed: ways reconcile")


def _unlisted(world: World, known: TargetList) -> list[Line]:
    """The dir that `CLAUDE_CONFIG_DIR` names, where it is none of the targets."""
    named = world.env.get(dirs.VARIABLE, "")
    if not named or not known.exists:
        return []
    try:
        target = target_of(world.env)
    except UsageError as error:
        return [Line(Status.NOTE, dirs.VARIABLE, error.message.removeprefix(f"{dirs.VARIABLE} "), error.hint)]
    if any(same_dir(each.target.config_dir, target.config_dir) for each in known):
        return []
    text = f"names {target.config_dir}, which is none of your targets"
    return [Line(Status.NOTE, dirs.VARIABLE, text, f"ways target add {target.config_dir}")]


def _key(known: Known) -> str:
    return hashlib.sha256(os.fsencode(known.target.config_dir)).hexdigest()[:12]
