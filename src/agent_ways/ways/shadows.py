"""Entries elsewhere that stand in the way of our registration, or look like one and are none (LIFE-5).

Owns the places: the project and local scope, a leftover in settings.json, other names that run our server. Reads only;
what is found is a person's to remove.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import Any

from agent_ways.claude.registration import NAME, is_ours
from agent_ways.ways.looks import read_json

_MOST = 500
"""Projects that are looked into."""


@dataclass(frozen=True)
class Shadow:
    """One such entry, and the shell line that removes it where there is one."""

    text: str
    repair: str = ""


def found(global_file: str, settings: str) -> tuple[Shadow, ...]:
    """What shadows or doubles the entry in a global file, by that file, its projects and the target's settings."""
    content = read_json(global_file)
    shadows = list(_doubles(content))
    projects = content.get("projects")
    for folder, project in list(projects.items() if isinstance(projects, dict) else ())[:_MOST]:
        shadows += _of_project(folder, project)
    if NAME in _servers(read_json(settings)):
        text = f"{settings} has an mcpServers block with {NAME}, which the client does not read: take it out"
        shadows.append(Shadow(text))
    return tuple(shadows)


def _doubles(content: dict[str, Any]) -> list[Shadow]:
    doubles = []
    for name, entry in _servers(content).items():
        command = entry.get("command") if isinstance(entry, dict) else None
        if name != NAME and isinstance(command, str) and is_ours(command):
            repair = shlex.join(["claude", "mcp", "remove", name, "--scope", "user"])
            doubles.append(Shadow(f"{name} is registered too and runs {command}: two servers in each session", repair))
    return doubles


def _of_project(folder: str, project: object) -> list[Shadow]:
    shadows = []
    where = shlex.quote(folder)
    if NAME in _servers(project):
        repair = f"cd {where} && claude mcp remove {NAME} --scope local"
        shadows.append(Shadow(f"in {folder} an entry {NAME} of local scope is used in place of ours", repair))
    shared = os.path.join(folder, ".mcp.json")
    if os.path.isabs(folder) and NAME in _servers(read_json(shared)):
        repair = f"cd {where} && claude mcp remove {NAME} --scope project"
        shadows.append(Shadow(f"{shared} has an entry {NAME} that is used there in place of ours", repair))
    return shadows


def _servers(content: object) -> dict[str, Any]:
    servers = content.get("mcpServers") if isinstance(content, dict) else None
    return servers if isinstance(servers, dict) else {}
