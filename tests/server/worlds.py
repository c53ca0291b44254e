"""A world of made-up edges for tests of the host and of modules."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agent_ways.base.process import ProcTable
from agent_ways.server.module import Report, World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_ways.base.process import Process, ProcessTable


def world(
    env: Mapping[str, str] | None = None,
    table: ProcessTable | None = None,
    pid: int | None = None,
    anchor: Process | None = None,
    report: Report | None = None,
    **more: Any,
) -> World:
    """A world whose clocks stand at zero unless `more` brings others."""
    edges: dict[str, Any] = {"wall": lambda: 0.0, "monotonic": lambda: 0.0, **more}
    return World(
        env={"HOME": "/nonexistent"} if env is None else env,
        table=ProcTable("/nonexistent") if table is None else table,
        pid=os.getpid() if pid is None else pid,
        version="1.2.3",
        installed_version=lambda: None,
        conduits=(),
        anchor=lambda: anchor,
        report=lambda: report or Report(live=(), failed=()),
        **edges,
    )
