"""`ways doctor`: tries things for real, and names the repair of each that does not work.

Owns the list of checks. Exit 0 where nothing of ours is broken, 1 where something is; advice and what can not be looked
at from here break nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_ways.base.errors import WaysError
from agent_ways.claude import mcp
from agent_ways.ways import links
from agent_ways.ways.handshake import shake
from agent_ways.ways.layout import COMMANDS, version_of
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.target import target_of

if TYPE_CHECKING:
    from agent_ways.ways.world import World

_INSTALL = "in the checkout: make install"


def run(world: World) -> Report:
    """Run every check; none stops another."""
    lines = [_handshake(world), *_commands(world), _on_path(world), *_registration(world)]
    return Report("doctor", tuple(lines), exit_code=int(any(line.status is Status.FAILED for line in lines)))


def _handshake(world: World) -> Line:
    installed = world.layout.installed()
    if installed is None:
        return Line(Status.FAILED, "handshake", "nothing is installed", _INSTALL)
    found = shake(world.layout.command("ways-mcp"), world.env)
    if found.trouble:
        return Line(Status.FAILED, "handshake", found.trouble, _INSTALL)
    if found.version != version_of(installed):
        return Line(Status.FAILED, "handshake", f"{found.version} answered where {installed} is installed", _INSTALL)
    text = f"ways-mcp {found.version} answered in {found.seconds * 1000:.0f} ms, tools: {', '.join(found.tools)}"
    return Line(Status.OK, "handshake", text)


def _commands(world: World) -> list[Line]:
    lines = []
    for name in COMMANDS:
        path = os.path.join(world.layout.bin, name)
        found = links.judge(path, world.layout.command(name), world.layout.data)
        if found is links.Link.FOREIGN:
            repair = f"move it aside; {_INSTALL}"
            lines.append(Line(Status.FAILED, name, f"{path} is not ours", repair))
        elif found is not links.Link.CURRENT:
            lines.append(Line(Status.FAILED, name, f"{path} is not there", _INSTALL))
    return lines or [Line(Status.OK, "commands", f"{', '.join(COMMANDS)} are linked in {world.layout.bin}")]


def _on_path(world: World) -> Line:
    for name in COMMANDS:
        found = mcp.find_program(world.env, name)
        wanted = os.path.join(world.layout.bin, name)
        if found is None:
            repair = f'add this line to your shell\'s start file: export PATH="{world.layout.bin}:$PATH"'
            return Line(Status.NOTE, "PATH", f"{world.layout.bin} is not on it", repair)
        if os.path.realpath(found) != os.path.realpath(wanted):
            return Line(Status.NOTE, "PATH", f"{found} comes before {wanted}", f"put {world.layout.bin} before it")
    return Line(Status.OK, "PATH", f"{world.layout.bin} is on it")


def _registration(world: World) -> list[Line]:
    try:
        target = target_of(world.env)
    except WaysError as error:
        return [Line(Status.NOTE, "registration", error.message, error.hint)]
    if not world.has_claude:
        return [Line(Status.SKIPPED, "registration", "claude is not on PATH")]
    plan = mcp.plan_registration(mcp.read(target.place(world.env).file), target.link)
    if plan.state != "current":
        text = "not registered" if plan.state == "add" else plan.reason
        return [Line(Status.NOTE, "registration", text, "ways reconcile")]
    command = world.layout.command("ways-mcp")
    if links.judge(target.link, command, world.layout.data) is not links.Link.CURRENT:
        return [Line(Status.FAILED, "registration", f"{target.link} does not lead to our server", "ways reconcile")]
    return [Line(Status.OK, "registration", plan.reason)]
