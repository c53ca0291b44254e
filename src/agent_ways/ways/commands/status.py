"""`ways status`: what is installed, where it is active, and what runs.

Owns which facts it gathers. Changes nothing and starts nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agent_ways.base import config, paths
from agent_ways.base.errors import WaysError
from agent_ways.claude import mcp, registration
from agent_ways.ways import links, sessions, shadows
from agent_ways.ways.commands import reconcile
from agent_ways.ways.commands.target import as_data, state_of
from agent_ways.ways.layout import COMMANDS, version_of
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.update import managed, versions
from agent_ways.ways.update.plan import SUMS_ONLY, SUMS_ONLY_WORDS

if TYPE_CHECKING:
    from agent_ways.ways.targets import Known
    from agent_ways.ways.world import World

_WORDS = {"add": "not registered", "replace": "registered elsewhere", "current": "registered"}


def run(world: World) -> Report:
    """Gather the facts; always exit 0, `ways doctor` is what judges."""
    installed = world.layout.installed()
    proof = versions.record_of(world.layout, installed).get("proof") if installed else None
    known, lost = _known(world)
    targets = [_target(world, each) for each in known]
    live = sessions.live(world, tuple(each.target.config_dir for each in known))
    settings = config.ConfigFile(os.path.join(paths.config_dir(world.env), config.FILE)).now()
    data = {
        "installed": {"version": version_of(installed), "id": installed, "proof": proof} if installed else None,
        "versions": world.layout.on_disk(),
        "commands": {name: _command(world, name) for name in COMMANDS},
        "targets": targets,
        "sessions": [session.to_json() for session in live],
        "keepalive": {"armed": settings.keepalive_armed, "window_s": settings.keepalive_window},
        "bus": os.path.join(paths.state_root(world.env), "attend"),
    }
    lines = [_installed_line(world, installed), *_kept_lines(world, installed), *_proof_lines(proof), *lost]
    for target in targets:
        lines += _target_lines(target)
    lines += [_session_line(session) for session in live]
    lines += [Line(Status.NOTE, "config", note.removeprefix("config: "), "ways config show") for note in settings.notes]
    lines.append(_keepalive_line(settings))
    return Report("status", tuple(lines), data=data)


def _known(world: World) -> tuple[tuple[Known, ...], list[Line]]:
    try:
        return reconcile.meant(world, world.targets()), []
    except WaysError as error:
        return (), [Line(Status.FAILED, "targets", error.message, error.hint)]


def _command(world: World, name: str) -> dict[str, Any]:
    path = os.path.join(world.layout.bin, name)
    return {"path": path, "link": links.judge(path, world.layout.command(name), world.layout.data).value}


def _target(world: World, known: Known) -> dict[str, Any]:
    place = known.target.place(world.env)
    plan = registration.plan_registration(mcp.read(place.file), known.target.link)
    return {
        **as_data(known, state_of(world, known)),
        "named": place.named,
        "file": place.file,
        "registration": plan.state,
        "reason": _WORDS.get(plan.state, plan.reason),
        "shadows": [shadow.text for shadow in shadows.found(place.file, known.target.settings)],
    }


def _installed_line(world: World, installed: str | None) -> Line:
    if installed is not None:
        return Line(Status.OK, "installed", f"agent-ways {version_of(installed)} ({installed})")
    source = world.source()
    if source is not None:
        return Line(Status.OK, "installed", f"by another program, in {source.commands}")
    return Line(Status.NOTE, "installed", "nothing", managed.to_install())


def _kept_lines(world: World, installed: str | None) -> list[Line]:
    """The other versions that are there, and whether the way back leads to one."""
    before = versions.record_of(world.layout, installed).get(versions.REPLACED) if installed else None
    others = [name for name in world.layout.on_disk() if name != installed and world.layout.is_complete(name)]
    words = {before: "is kept; ways update --rollback puts it in force"}
    used = "is kept while a session uses it, or until the next update"
    return [Line(Status.OK, "version", f"{name} {words.get(name, used)}") for name in others]


def _proof_lines(proof: object) -> list[Line]:
    """Said where a release was taken for its checksum alone (LIFE-2); what was proven is no news."""
    how = proof.get("how") if isinstance(proof, dict) else None
    return [Line(Status.NOTE, "proof", SUMS_ONLY_WORDS)] if how == SUMS_ONLY else []


def _target_lines(target: dict[str, Any]) -> list[Line]:
    repair = target["repair"] or ""
    text = target["text"] if not target["enabled"] else f"{target['text']}; {target['reason']}"
    lines = [Line(Status.NOTE if repair else Status.OK, target["config_dir"], text, repair)]
    return lines + [Line(Status.NOTE, target["config_dir"], shadow) for shadow in target["shadows"]]


def _session_line(session: sessions.Session) -> Line:
    reached = [f"{name} {one['state']}" for name, one in session.conduits.items()]
    text = f"{session.project or 'somewhere'}, {session.status}; {', '.join(reached)}"
    if not session.servers:
        return Line(Status.NOTE, session.id, f"{text}; no server of ours runs in it", "restart that session")
    server = session.servers[0]
    text = f"{text}; server {server.version}, process {server.pid}"
    if session.old:
        return Line(Status.NOTE, session.id, f"{text}: not the installed build", "restart that session")
    return Line(Status.OK, session.id, text)


def _keepalive_line(settings: config.Config) -> Line:
    hours = f"{settings.keepalive_window / 3600:g} h"
    return Line(Status.OK, "keepalive", f"armed, for {hours} after you typed" if settings.keepalive_armed else "off")
