"""Signs of the original agent-ways in the places that we would use: reconcile replaces it only when told to.

Owns the signs. Must not change anything.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_ways.base import paths
from agent_ways.ways.layout import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_ways.claude.registration import Found
    from agent_ways.ways.layout import Layout
    from agent_ways.ways.target import Target

CONFIG = "config.yaml"
"""Its config; ours is a config.toml."""


def leads_there(text: str, layout: Layout) -> bool:
    """Whether a link's text leads into the original's checkout, which lies in the same data dir as our versions."""
    ours = tuple(os.path.join(layout.data, name, "") for name in ("current", "versions"))
    return text.startswith(os.path.join(layout.data, "")) and not text.startswith(ours)


def signs(target: Target, layout: Layout, env: Mapping[str, str], registered: Found) -> tuple[str, ...]:
    """What says that the original is active in a target; empty where nothing does."""
    found = []
    for name in COMMANDS:
        path = os.path.join(target.config_dir, "bin", name)
        if leads_there(_link(path), layout):
            found.append(f"{path} leads to {_link(path)}")
    if os.path.isdir(os.path.join(target.config_dir, "hooks", "ways")):
        found.append(f"its hooks are in {os.path.join(target.config_dir, 'hooks', 'ways')}")
    command = registered.command
    if command is not None and leads_there(command, layout):
        found.append(f"it is registered as {command}")
    config = os.path.join(paths.config_dir(env), CONFIG)
    if found and os.path.isfile(config):
        found.append(f"its config is {config}")
    return tuple(found)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
