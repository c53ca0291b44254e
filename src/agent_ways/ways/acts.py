"""The steps done: each act, its undoing, and the order that a kill at any moment is survived in.

Owns doing a plan: what it is about to do is noted first, then done, then noted as done. A step that fails rolls its
own target back. Registration comes by the client's own command and never fails a target. Must not judge (`plan.py`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

from agent_ways.base.errors import RefusedError, StateError, WaysError, state_error
from agent_ways.claude import mcp
from agent_ways.ways import layout, links
from agent_ways.ways.report import Line, Status
from agent_ways.ways.settings import file as settings_file
from agent_ways.ways.steps import (
    MoveAside,
    MoveBack,
    PutLink,
    Register,
    Step,
    TakeLink,
    Unregister,
    WriteSettings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_ways.ways.ledger import Ledger
    from agent_ways.ways.plan import Plan
    from agent_ways.ways.targets import TargetList
    from agent_ways.ways.world import World

_REGISTRATION = {
    "current": Status.OK,
    "added": Status.DONE,
    "replaced": Status.DONE,
    "removed": Status.DONE,
    "absent": Status.OK,
    "foreign": Status.NOTE,
    "managed": Status.NOTE,
    "missing": Status.NOTE,
    "unreadable": Status.FAILED,
    "failed": Status.FAILED,
}


@dataclass(frozen=True)
class Hands:
    """What acts are done with."""

    world: World
    ledger: Ledger
    key: str
    """Names this target among others, for its backup."""


@dataclass(frozen=True)
class Done:
    """What came of one step: its line, and how to undo it."""

    line: Line
    undo: Callable[[], None] = lambda: None


def shown(plan: Plan, env: Mapping[str, str]) -> list[Line]:
    """The lines of a dry run: the same words as those of the acts."""
    lines = []
    for step in plan.steps:
        by_hand = step.by_hand(env) if isinstance(step, Register) else ""
        lines.append(Line(Status.WOULD, step.subject, step.text, by_hand, _details(step)))
    return [*lines, *plan.notes, *plan.refusals]


def perform(plan: Plan, hands: Hands, known: TargetList) -> list[Line]:
    """Do the steps. Where one fails, those before it are undone and the lines say so."""
    if plan.refusals:
        return [*plan.notes, *plan.refusals]
    before = known.get(plan.intent.target)
    if not plan.steps and (before == plan.outcome or (before is None and not plan.outcome.links)):
        return list(plan.notes)
    known.put(plan.intent)
    lines: list[Line] = []
    undoing: list[Callable[[], None]] = []
    for step in plan.steps:
        try:
            hands.world.step(step.text)
            done = act(step, hands)
        except (WaysError, OSError) as error:
            lines.append(_failed(step, error))
            lines += _roll_back(undoing, plan)
            if before is not None:
                known.put(before)
            else:
                known.forget(plan.intent.target)
            return [*lines, *plan.notes]
        lines.append(done.line)
        undoing.append(done.undo)
    hands.world.step("note")
    if plan.intent != plan.outcome:
        known.put(plan.outcome)
    return [*lines, *plan.notes]


@singledispatch
def act(step: Step, hands: Hands) -> Done:
    """Do one step; raises `WaysError` or `OSError` where it can not be done, with nothing of it done."""
    raise NotImplementedError(type(step))


@act.register
def _(step: MoveAside, hands: Hands) -> Done:
    del hands
    _rename(step.path, step.to)
    return Done(_done(step), lambda: _rename(step.to, step.path))


@act.register
def _(step: MoveBack, hands: Hands) -> Done:
    del hands
    if os.path.lexists(step.to):
        raise RefusedError(f"{step.to} is there again", f"Look at both, then: mv {step.path} {step.to}")
    _rename(step.path, step.to)
    return Done(_done(step), lambda: _rename(step.to, step.path))


@act.register
def _(step: PutLink, hands: Hands) -> Done:
    data = hands.world.layout.data
    there = os.readlink(step.path) if os.path.islink(step.path) else None
    hands.ledger.make_folder(os.path.dirname(step.path))
    links.put(step.path, step.leads_to, data, step.instead)

    def undo() -> None:
        if there is None:
            links.take(step.path, step.leads_to, data)
        else:
            layout.flip_link(step.path, there)

    return Done(_done(step), undo)


@act.register
def _(step: TakeLink, hands: Hands) -> Done:
    data = hands.world.layout.data
    there = os.readlink(step.path) if os.path.islink(step.path) else ""
    taken = links.take(step.path, step.leads_to, data, step.leads_to)

    def undo() -> None:
        if taken:
            links.put(step.path, there, data)

    return Done(_done(step), undo)


@act.register
def _(step: WriteSettings, hands: Hands) -> Done:
    if step.seen.text is None:
        hands.ledger.make_folder(os.path.dirname(step.seen.real))
    settings_file.write(step.seen, step.merged.text, hands.world.backup(hands.key))

    def undo() -> None:
        if settings_file.look(step.seen.path).text == step.merged.text:
            settings_file.restore(step.seen)

    return Done(_done(step), undo)


@act.register
def _(step: Register, hands: Hands) -> Done:
    run = hands.world.claude(step.place)
    if isinstance(step, Unregister):
        outcome = mcp.unregister(step.place, step.command, run, hands.world.env)
    else:
        outcome = mcp.register(step.place, step.command, run, hands.world.env)
    status = _REGISTRATION[outcome.state]
    if isinstance(step, Unregister) and outcome.state == "missing":
        status = Status.FAILED
    text = step.text if outcome.done else outcome.reason
    return Done(Line(status, step.subject, text, outcome.by_hand))


def _done(step: Step) -> Line:
    return Line(Status.DONE, step.subject, step.text, details=_details(step))


def _details(step: Step) -> tuple[str, ...]:
    return step.details if isinstance(step, WriteSettings) else ()


def _failed(step: Step, error: WaysError | OSError) -> Line:
    if isinstance(error, WaysError):
        return Line(Status.FAILED, step.subject, f"{step.text}: {error.message}", error.hint)
    worded: StateError = state_error("change", getattr(step, "path", step.text), error)
    return Line(Status.FAILED, step.subject, f"{step.text}: {worded.message}", worded.hint)


def _roll_back(undoing: list[Callable[[], None]], plan: Plan) -> list[Line]:
    """Undo what was done in this target, last first."""
    lines = []
    for undo in reversed(undoing):
        try:
            undo()
        except (WaysError, OSError) as error:
            lines.append(Line(Status.FAILED, "undo", str(error), "ways doctor"))
    if undoing and not lines:
        count = f"the {len(undoing)} step{'s' if len(undoing) > 1 else ''} before it"
        lines.append(Line(Status.NOTE, plan.target, f"{count} in this target undone; the next run tries again"))
    return lines


def _rename(path: str, to: str) -> None:
    try:
        os.rename(path, to)
    except OSError as error:
        raise state_error("rename", path, error) from None
