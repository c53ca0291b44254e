"""The edges that the verbs of `ways` act through, in one value: tests bring their own.

Owns no logic. Must not import what a verb does not always need.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ways.base import paths
from agent_ways.base.locks import Lock
from agent_ways.base.process import process_table, this_process
from agent_ways.claude import mcp
from agent_ways.ways.layout import Layout, layout_of
from agent_ways.ways.projection import Source, source_of
from agent_ways.ways.targets import TargetList

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_ways.base.process import ProcessTable

PATIENCE = 120.0
"""Seconds that another install or reconcile is waited for."""


@dataclass(frozen=True)
class World:
    """What a verb needs of the machine."""

    env: Mapping[str, str]
    home: str
    layout: Layout
    table: ProcessTable
    claude_patience: float = mcp.PATIENCE
    prefix: str = ""
    """The environment that this command runs in, where another program manages the package; empty where none is."""
    step: Callable[[str], None] = lambda _: None
    """Told before each act; tests stop there."""

    def claude(self, place: mcp.Place) -> mcp.Run:
        """What calls `claude mcp` for a config dir."""
        return mcp.runner(place, self.env, self.claude_patience)

    @property
    def has_claude(self) -> bool:
        """Whether there is a `claude` to call."""
        return mcp.find_program(self.env) is not None

    def targets(self) -> TargetList:
        """The list of targets as it is now."""
        return TargetList(paths.state_root(self.env), self.home)

    def source(self) -> Source | None:
        """Where what is projected into targets comes from; None where nothing is installed."""
        return source_of(self.layout, self.prefix)

    def backup(self, key: str) -> str:
        """Where a settings.json is kept as it was before we last wrote it."""
        return os.path.join(paths.state_root(self.env), "backups", f"settings-{key}.json")

    def lock(self) -> Lock:
        """The lock of the installation."""
        return Lock(self.layout.lock, this_process(self.table, self.env), PATIENCE)


def this_world(env: Mapping[str, str] | None = None) -> World:
    """The machine as it is."""
    env = dict(os.environ if env is None else env)
    prefix = sys.prefix if sys.prefix != sys.base_prefix else ""
    return World(env=env, home=paths.home(env), layout=layout_of(env), table=process_table(), prefix=prefix)
