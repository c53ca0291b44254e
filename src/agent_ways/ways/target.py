"""One config dir that agent-ways is active in.

Owns which one an environment means, and where our link and our registration lie in it. Must not change anything.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ways.base import paths
from agent_ways.base.errors import UsageError
from agent_ways.claude import dirs
from agent_ways.claude.mcp import Place

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Target:
    """A config dir, as the client is told of it."""

    place: Place

    @property
    def link(self) -> str:
        """The command that is registered: a link that an update does not change."""
        return os.path.join(self.place.config_dir, "bin", "ways-mcp")

    @classmethod
    def at(cls, *, config_dir: str, named: bool, home: str) -> Target:
        """The target at a config dir."""
        return cls(Place(config_dir=config_dir, named=named, home=home))


def target_of(env: Mapping[str, str]) -> Target:
    """The target that an environment means: CLAUDE_CONFIG_DIR where it names one, else the default."""
    home = paths.home(env)
    if not dirs.is_named(env):
        return Target.at(config_dir=dirs.config_dir({"HOME": home}), named=False, home=home)
    named = env[dirs.VARIABLE]
    if not os.path.isabs(named):
        raise UsageError(
            f"CLAUDE_CONFIG_DIR is {named}, which is another folder in each working directory",
            "Set it to an absolute path, or unset it, then run: ways reconcile",
        )
    return Target.at(config_dir=dirs.config_dir(env), named=True, home=home)
