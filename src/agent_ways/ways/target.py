"""One config dir that agent-ways is, or may be, active in.

Owns what a config dir is called and where in it our things lie. Must not change anything.
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
    """A config dir, by its absolute path without a trailing slash, and the home that it belongs to."""

    config_dir: str
    home: str

    @property
    def link(self) -> str:
        """The command that is registered: a link that an update does not change."""
        return os.path.join(self.config_dir, "bin", "ways-mcp")

    @property
    def settings(self) -> str:
        """The client's settings there."""
        return os.path.join(self.config_dir, "settings.json")

    @property
    def is_default(self) -> bool:
        """Whether a client without `CLAUDE_CONFIG_DIR` means it."""
        return same_dir(self.config_dir, default_dir(self.home))

    def place(self, env: Mapping[str, str]) -> Place:
        """Where sessions that this environment starts have their registration (LIFE-5).

        The default dir has two files: `~/.claude.json`, and where the variable names it, the one in the dir.
        """
        return self.place_named(named=not self.is_default or names(env, self.config_dir))

    def place_named(self, *, named: bool) -> Place:
        """Where the registration is of sessions that are told of the config dir, or are not."""
        return Place(config_dir=self.config_dir, named=named, home=self.home)


def default_dir(home: str) -> str:
    """The config dir of a client that is told of none."""
    return dirs.config_dir({"HOME": home})


def names(env: Mapping[str, str], config_dir: str) -> bool:
    """Whether `CLAUDE_CONFIG_DIR` is set, and to this dir."""
    named = env.get(dirs.VARIABLE, "")
    return os.path.isabs(named) and same_dir(dirs.config_dir(env), config_dir)


def same_dir(one: str, other: str) -> bool:
    """Whether two paths are one folder, links followed as far as there is something."""
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def target_of(env: Mapping[str, str]) -> Target:
    """The target that an environment means: CLAUDE_CONFIG_DIR where it names one, else the default."""
    home = paths.home(env)
    if not dirs.is_named(env):
        return Target(default_dir(home), home)
    named = env[dirs.VARIABLE]
    if not os.path.isabs(named):
        raise UsageError(
            f"CLAUDE_CONFIG_DIR is {named}, which is another folder in each working directory",
            "Set it to an absolute path, or unset it, then run: ways reconcile",
        )
    return Target(dirs.config_dir(env), home)


def target_at(typed: str, home: str) -> Target:
    """The target that a person typed: relative to the working directory, `~` is the home."""
    if not typed.strip():
        raise UsageError("the name of a config dir is missing")
    path = home + typed[1:] if typed == "~" or typed.startswith("~/") else typed
    return Target(dirs.config_dir({dirs.VARIABLE: path}), home)
