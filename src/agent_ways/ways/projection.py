"""What belongs in a target: links, and entries in settings.json.

Owns the explicit list, and where each thing comes from: an installed version, or, where another program manages the
package (pipx, uv), its commands and files. Must not look at any target, nor change anything.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ways.ways.layout import COMMANDS, PROJECTED
from agent_ways.ways.settings.merge import Offer
from agent_ways.ways.tool_names import TOOL_NAMES

if TYPE_CHECKING:
    from agent_ways.ways.layout import Layout

SKILLS = ("attend", "wrap")
"""Skills, by the folder's name. A person's own of that name is kept."""
HOOKS = "hooks/agent-ways"
"""Where in a target our hooks lie: one folder of our own name."""
ACTIVE_HOOKS: dict[str, tuple[str, int]] = {
    "SessionStart": ("attend-session-start.sh", 10),
    "Stop": ("attend-drain.sh", 30),
}
"""The event, the script below `HOOKS`, the seconds that it may take."""
GUARD_HOOKS = ("attend-guard-files.sh", "attend-guard-run.sh")
"""Scripts that lie there and are not active: a person turns them on (docs/how-to/install.md)."""

ALLOW = ("permissions", "allow")
MONITOR_RULE = "Bash(attend run)"
"""What the Monitor tool needs to run the sensor loop without asking (seen on both clients), and nothing wider."""


@dataclass(frozen=True)
class Want:
    """One link that belongs in a target. `optional`: what a person has there instead is kept, and said."""

    path: str
    leads_to: str
    optional: bool = False


@dataclass(frozen=True)
class Source:
    """Where what is projected comes from: the folder of the three commands, and that of skills and hooks."""

    commands: str
    projected: str

    def links(self, config_dir: str) -> tuple[Want, ...]:
        """The links of a target; a skill or the hooks that this version does not bring are left out."""
        found = [Want(f"{config_dir}/bin/{name}", f"{self.commands}/{name}") for name in COMMANDS]
        if os.path.isdir(f"{self.projected}/hooks"):
            found.append(Want(f"{config_dir}/{HOOKS}", f"{self.projected}/hooks"))
        skills = [f"skills/{name}" for name in SKILLS if os.path.isdir(f"{self.projected}/skills/{name}")]
        found += [Want(f"{config_dir}/{name}", f"{self.projected}/{name}", optional=True) for name in skills]
        return tuple(found)

    def offers(self, config_dir: str) -> tuple[Offer, ...]:
        """The entries of a target's settings.json."""
        found = [Offer(ALLOW, f"mcp__agent-ways__{name}") for name in TOOL_NAMES]
        found.append(Offer(ALLOW, MONITOR_RULE))
        for event, (script, seconds) in ACTIVE_HOOKS.items():
            if os.path.isfile(f"{self.projected}/hooks/{script}"):
                command = shlex.quote(f"{config_dir}/{HOOKS}/{script}")
                hook = {"type": "command", "command": command, "timeout": seconds}
                found.append(Offer(("hooks", event), {"hooks": [hook]}))
        return tuple(found)


def places(config_dir: str) -> tuple[str, ...]:
    """Every path in a target where a link of ours may stand."""
    names = [*(f"bin/{name}" for name in COMMANDS), HOOKS, *(f"skills/{name}" for name in SKILLS)]
    return tuple(f"{config_dir}/{name}" for name in names)


def source_of(layout: Layout, prefix: str) -> Source | None:
    """The installed version; else the environment at `prefix`, where it brings all three commands."""
    if layout.installed() is not None:
        return Source(layout.current, layout.projected)
    folder = os.path.join(prefix, "bin")
    if prefix and all(os.access(f"{folder}/{name}", os.X_OK) for name in COMMANDS):
        return Source(folder, package_projected())
    return None


def package_projected() -> str:
    """The folder of what is projected, in the package that runs."""
    import agent_ways

    return os.path.join(os.path.dirname(os.path.abspath(agent_ways.__file__)), PROJECTED)
