"""`ways status`: what is installed, registered and running.

Owns which facts it gathers. Changes nothing and starts nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agent_ways.base.errors import WaysError
from agent_ways.claude import mcp
from agent_ways.ways import links
from agent_ways.ways.layout import COMMANDS, version_of
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.running import running
from agent_ways.ways.target import target_of

if TYPE_CHECKING:
    from agent_ways.ways.running import Running
    from agent_ways.ways.target import Target
    from agent_ways.ways.world import World

_WORDS = {"add": "not registered", "replace": "registered elsewhere"}


def run(world: World) -> Report:
    """Gather the facts; always exit 0, `ways doctor` is what judges."""
    installed = world.layout.installed()
    targets = [_target(world, target) for target in _targets(world)]
    sessions = [_session(server, installed) for server in running(world)]
    data = {
        "installed": {"version": version_of(installed), "id": installed} if installed else None,
        "versions": world.layout.on_disk(),
        "commands": {name: _command(world, name) for name in COMMANDS},
        "targets": targets,
        "sessions": sessions,
    }
    lines = [_installed_line(installed)]
    lines += [_target_line(target) for target in targets]
    lines += [_session_line(session) for session in sessions]
    return Report("status", tuple(lines), data=data)


def _targets(world: World) -> list[Target]:
    known = Ledger(world.layout).targets(world.home)
    try:
        here = target_of(world.env)
    except WaysError:
        return known
    return known if here in known else [*known, here]


def _command(world: World, name: str) -> dict[str, Any]:
    path = os.path.join(world.layout.bin, name)
    return {"path": path, "link": links.judge(path, world.layout.command(name), world.layout.data).value}


def _target(world: World, target: Target) -> dict[str, Any]:
    plan = mcp.plan_registration(mcp.read(target.place.file), target.link)
    command = world.layout.command("ways-mcp")
    return {
        "config_dir": target.place.config_dir,
        "named": target.place.named,
        "file": target.place.file,
        "link": links.judge(target.link, command, world.layout.data).value,
        "registration": plan.state,
        "reason": _WORDS.get(plan.state, plan.reason),
    }


def _session(server: Running, installed: str | None) -> dict[str, Any]:
    folder = os.path.basename(os.path.dirname(server.executable))
    old = installed is not None and version_of(folder) is not None and folder != installed
    return {
        "session": server.session,
        "pid": server.pid,
        "version": server.version,
        "alive": server.alive,
        "old": old,
    }


def _installed_line(installed: str | None) -> Line:
    if installed is None:
        return Line(Status.NOTE, "installed", "nothing", "in the checkout: make install")
    return Line(Status.OK, "installed", f"agent-ways {version_of(installed)} ({installed})")


def _target_line(target: dict[str, Any]) -> Line:
    fine = target["registration"] == "current" and target["link"] == "current"
    text = f"{target['reason']}; link {target['link']}"
    return Line(Status.OK if fine else Status.NOTE, target["config_dir"], text, "" if fine else "ways reconcile")


def _session_line(session: dict[str, Any]) -> Line:
    text = f"server {session['version']}, process {session['pid']}"
    if session["old"]:
        return Line(Status.NOTE, session["session"], f"{text}: not the installed build", "restart that session")
    return Line(Status.OK, session["session"], text)
