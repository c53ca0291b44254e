"""What is to be done in one target, judged before anything is touched (LIFE-3, LIFE-9).

Owns the judgement: each link, the settings, the registration, and what is refused because it is not ours. The result is
a value; looking twice at the same disk gives it twice. Must not change anything.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_ways.claude import mcp, registration
from agent_ways.ways import links, original, projection
from agent_ways.ways.report import Line, Status
from agent_ways.ways.settings import file as settings_file
from agent_ways.ways.settings.jsonedit import NotEditableError
from agent_ways.ways.settings.merge import Base, Merged, merge, withdraw
from agent_ways.ways.steps import MoveAside, MoveBack, PutLink, Register, Step, TakeLink, Unregister, WriteSettings

if TYPE_CHECKING:
    from agent_ways.ways.projection import Source
    from agent_ways.ways.targets import Known
    from agent_ways.ways.world import World

ASIDE = "before-agent-ways"
"""What the name of something moved aside ends in."""


@dataclass(frozen=True)
class Plan:
    """The steps for a target, in order.

    `notes` are findings without a step, `refusals` say why nothing is touched, `intent` is what is noted before the
    first step and `outcome` after the last.
    """

    intent: Known
    outcome: Known
    steps: tuple[Step, ...] = ()
    notes: tuple[Line, ...] = ()
    refusals: tuple[Line, ...] = ()

    @property
    def target(self) -> str:
        """The config dir that it is for."""
        return self.intent.target.config_dir


@dataclass(frozen=True)
class Licence:
    """What a person allowed beyond the usual: to move aside what is theirs, to replace the original agent-ways."""

    force: bool = False
    take_over: bool = False


def converge(world: World, known: Known, source: Source, licence: Licence) -> Plan:
    """What brings an enabled target to what it should be."""
    target = known.target
    place = target.place(world.env)
    found = mcp.read(place.file)
    signs = original.signs(target, world.layout, world.env, found)
    if signs and not licence.take_over:
        text = f"the original agent-ways is active here: {'; '.join(signs)}"
        line = Line(Status.REFUSED, target.config_dir, text, "ways reconcile --take-over (replaces it)")
        return Plan(known, known, refusals=(line,))
    linking = _Linking(world, known, licence)
    for want in source.links(target.config_dir):
        linking.judge(want)
    linking.withdraw_others({want.path for want in source.links(target.config_dir)})
    merged, step, notes = _settings(known, source)
    wanted = registration.plan_registration(found, target.link)
    steps: list[Step] = [*linking.steps, *([step] if step else [])]
    if wanted.steps:
        steps.append(Register(place, target.link, wanted.reason, wanted.steps))
    elif wanted.state != "current":
        notes.append(_not_registered(wanted, place, target.link, world))
    registered = tuple(sorted({*known.registered, place.named}))
    noted = {**known.links, **linking.noted}
    intent = replace(
        known,
        registered=registered,
        links=noted,
        moved={**known.moved, **linking.moved},
        base=merged.intent if merged else known.base,
    )
    outcome = replace(intent, links=linking.noted, base=merged.base if merged else known.base)
    refusals = tuple(linking.refusals)
    return Plan(intent, outcome, () if refusals else tuple(steps), (*linking.notes, *notes), refusals)


def retreat(world: World, known: Known) -> Plan:
    """What takes everything of ours out of a target: registration, then settings, then links."""
    target = known.target
    steps: list[Step] = []
    notes: list[Line] = []
    for named in sorted({*known.registered, target.place(world.env).named}):
        place = target.place_named(named=named)
        plan = registration.plan_removal(mcp.read(place.file), target.link)
        if plan.steps:
            steps.append(Unregister(place, target.link, plan.reason, plan.steps))
        elif plan.state in ("unreadable", "managed"):
            by_hand = place.by_hand([registration.removal()], world.env) if plan.state == "unreadable" else ""
            notes.append(Line(Status.FAILED, "registration", plan.reason, by_hand))
        elif plan.state != "absent":
            notes.append(Line(Status.NOTE, "registration", plan.reason))
    merged, step, more = _withdrawn(known)
    steps += [step] if step else []
    for path in (*projection.places(target.config_dir), *known.links):
        noted = known.links.get(path, "")
        there = links.judge(path, noted, world.layout.data, noted)
        if there in (links.Link.CURRENT, links.Link.OURS) and TakeLink(path, noted) not in steps:
            steps.append(TakeLink(path, noted))
    taken = {step.path for step in steps if isinstance(step, TakeLink)}
    for path, aside in known.moved.items():
        if os.path.lexists(aside) and (path in taken or not os.path.lexists(path)):
            steps.append(MoveBack(aside, path))
    outcome = replace(known.withdrawn, base=merged.base if merged else known.base)
    return Plan(replace(known, base=merged.intent if merged else known.base), outcome, tuple(steps), (*notes, *more))


class _Linking:
    """The links of one target, judged one after the other."""

    def __init__(self, world: World, known: Known, licence: Licence) -> None:
        self._world = world
        self._known = known
        self._licence = licence
        self.steps: list[Step] = []
        self.notes: list[Line] = []
        self.refusals: list[Line] = []
        self.noted: dict[str, str] = {}
        self.moved: dict[str, str] = {}

    def judge(self, want: projection.Want) -> None:
        path, folder = want.path, os.path.dirname(want.path)
        if os.path.lexists(folder) and not os.path.isdir(folder):
            self._refuse(folder, "is there already and is no folder", "move it aside, then: ways reconcile")
            return
        noted = self._known.links.get(path, "")
        there = links.judge(path, want.leads_to, self._world.layout.data, noted)
        text = _read_link(path)
        if there is links.Link.CURRENT:
            self.noted[path] = want.leads_to
        elif there is not links.Link.FOREIGN:
            self._put(want)
        elif self._licence.take_over and original.leads_there(text, self._world.layout):
            self._put(want, instead=text)
        elif self._licence.force:
            aside = _free(f"{path}.{ASIDE}")
            self.moved[path] = aside
            self.steps.append(MoveAside(path, aside))
            self._put(want)
        elif want.optional:
            self.notes.append(Line(Status.NOTE, "skill", f"{path} is your own and is kept; ours is not linked"))
        else:
            self._refuse(path, "is there already and is not ours", "ways reconcile --force (moves it aside)")

    def withdraw_others(self, wanted: set[str]) -> None:
        """Take away what an earlier version linked and this one does not."""
        for path, text in self._known.links.items():
            if path not in wanted and _read_link(path) == text:
                self.steps.append(TakeLink(path, text))

    def _put(self, want: projection.Want, instead: str = "") -> None:
        self.noted[want.path] = want.leads_to
        self.steps.append(PutLink(want.path, want.leads_to, instead or self._known.links.get(want.path, "")))

    def _refuse(self, path: str, why: str, repair: str) -> None:
        line = Line(Status.REFUSED, path, f"{why}; nothing was touched in this target", repair)
        if line not in self.refusals:
            self.refusals.append(line)


def _settings(known: Known, source: Source) -> tuple[Merged | None, WriteSettings | None, list[Line]]:
    seen = settings_file.look(known.target.settings)
    offers = source.offers(known.target.config_dir)
    if seen.trouble:
        return None, None, [_untouched(seen, seen.trouble)]
    try:
        merged = merge(seen.text, offers, known.base)
    except NotEditableError as error:
        return None, None, [_untouched(seen, str(error))]
    notes = []
    if merged.declined:
        text = f"you took out {', '.join(merged.declined)}; not offered again"
        notes.append(
            Line(Status.NOTE, "settings", text, f"ways target reset {known.target.config_dir} (offers it again)")
        )
    if merged.text == seen.text:
        return merged, None, notes
    if seen.managed:
        names = ", ".join((*merged.added, *merged.removed))
        text = f"{seen.path} {seen.managed}, so another program manages it; left as it is: {names}"
        return None, None, [Line(Status.NOTE, "settings", text, "add the entries where that program has them")]
    return merged, WriteSettings(seen, merged), notes


def _withdrawn(known: Known) -> tuple[Merged | None, WriteSettings | None, list[Line]]:
    seen = settings_file.look(known.target.settings)
    if known.base == Base():
        return None, None, []
    if seen.trouble:
        return None, None, [_untouched(seen, seen.trouble)]
    try:
        merged = withdraw(seen.text, known.base)
    except NotEditableError as error:
        return None, None, [_untouched(seen, str(error))]
    if merged.text == seen.text:
        return merged, None, []
    if seen.managed:
        text = f"{seen.path} {seen.managed}; these entries of ours stay in it: {', '.join(merged.removed)}"
        return None, None, [Line(Status.FAILED, "settings", text, "take them out where that program has them")]
    return merged, WriteSettings(seen, merged), []


def _untouched(seen: settings_file.Seen, why: str) -> Line:
    return Line(Status.FAILED, "settings", f"{seen.path} {why}; it was not touched", "mend it, then: ways reconcile")


def _not_registered(plan: registration.Plan, place: mcp.Place, command: str, world: World) -> Line:
    status = Status.NOTE if plan.state in ("foreign", "managed") else Status.FAILED
    by_hand = place.by_hand(registration.steps_by_hand(plan.state, command), world.env)
    return Line(status, "registration", plan.reason, by_hand)


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _free(path: str) -> str:
    """A name that nothing has, from `path` on."""
    number, name = 1, path
    while os.path.lexists(name):
        number += 1
        name = f"{path}-{number}"
    return name
