"""`ways config`: the user config shown, asked and edited.

Owns the verbs. What a setting is and how the file is edited is `userconfig.py`'s.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_ways.base import paths
from agent_ways.base.config import FILE
from agent_ways.ways import userconfig
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status

if TYPE_CHECKING:
    from agent_ways.ways.userconfig import Setting
    from agent_ways.ways.world import World


def show(world: World) -> Report:
    """`ways config show`: every setting, its value, and where that comes from."""
    found, notes = userconfig.settings(file_of(world))
    lines = [_line(setting) for setting in found]
    lines += [Line(Status.NOTE, "config", note.removeprefix("config: "), f"look at {file_of(world)}") for note in notes]
    data = {
        "file": file_of(world),
        "settings": {
            setting.name: {
                "value": setting.value,
                "default": setting.default,
                "origin": setting.origin,
                "trouble": setting.trouble or None,
                "kind": setting.kind,
                "help": setting.help,
            }
            for setting in found
        },
        "notes": list(notes),
    }
    return Report("config show", tuple(lines), data=data)


def get(world: World, name: str) -> Report:
    """`ways config get NAME`: the value alone."""
    found, _ = userconfig.settings(file_of(world))
    setting = userconfig.find(name, found)
    value = setting.value if isinstance(setting.value, str) else userconfig.shown(setting.value)
    return Report("config get", (), quiet=value, bare=True, data={"name": name, "value": setting.value})


def change(world: World, name: str, value: str) -> Report:
    """`ways config set NAME VALUE`."""
    path = file_of(world)
    parsed = userconfig.parse(name, value)
    done = userconfig.edit(path, name, parsed, Ledger(world.layout).make_folder)
    line = Line(Status.DONE if done else Status.OK, name, f"{userconfig.shown(parsed)} in {path}")
    return Report("config set", (line,), data={"name": name, "value": parsed})


def unset(world: World, name: str) -> Report:
    """`ways config unset NAME`: the default again."""
    path = file_of(world)
    done = userconfig.edit(path, name, None)
    text = f"taken out of {path}; the default is used" if done else "is not set; the default is used"
    return Report("config unset", (Line(Status.DONE if done else Status.OK, name, text),), data={"name": name})


def where(world: World) -> Report:
    """`ways config path`."""
    return Report("config path", (), quiet=file_of(world), bare=True, data={"path": file_of(world)})


def file_of(world: World) -> str:
    """Where the user config lies."""
    return os.path.join(paths.config_dir(world.env), FILE)


def _line(setting: Setting) -> Line:
    text = f"{userconfig.shown(setting.value)}  ({setting.origin}; {setting.help}; {setting.kind})"
    if setting.trouble:
        return Line(Status.NOTE, setting.name, f"{text}: {setting.trouble}", f"ways config set {setting.name} VALUE")
    return Line(Status.OK, setting.name, text)
