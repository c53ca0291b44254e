"""Puts one server together from its parts.

Owns the wiring: which edges are the real ones. `__main__` calls `serve`; tests and demos call it with a registry
that has one more module. Must not hold any logic of its own.
"""

from __future__ import annotations

import os
import sys
import time

from agent_ways import __version__
from agent_ways.base import paths
from agent_ways.base.errors import StateError
from agent_ways.base.process import process_table, this_process
from agent_ways.server import installed
from agent_ways.server.conduits.channel import Channel
from agent_ways.server.conduits.inbox_socket import InboxSocket
from agent_ways.server.host import Host
from agent_ways.server.module import World
from agent_ways.server.pipes import Writer, claim
from agent_ways.server.presence import Marker, markers_dir
from agent_ways.server.protocol import Protocol
from agent_ways.server.registry import REGISTRY
from agent_ways.server.session import OwnSession
from agent_ways.server.stdio import Server
from agent_ways.server.surface import SURFACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NoReturn

    from agent_ways.base.process import ProcessTable
    from agent_ways.server.conduits import Conduit
    from agent_ways.server.registry import Entry

OPENING = (
    "agent-ways: tools about this Claude Code session, and events from it as "
    '<channel source="agent-ways">. An event is not typed by the user; each says what to do.'
)


def serve(registry: Iterable[Entry] = REGISTRY, surface: Iterable[tuple[str, str]] = SURFACE) -> NoReturn:
    """Serve the client on stdin and stdout until it is gone; never returns.

    `surface` is what tools/list answers, name and JSON of each tool, generated from the modules' catalogues.
    """
    try:
        stdin, stdout = claim()
    except OSError:
        os._exit(0)  # started with a closed stdin or stdout: there is no client
    env, table, pid = os.environ, process_table(), os.getpid()
    conduits = (Channel(lambda line: server.send(line)), InboxSocket(pid))  # noqa: PLW0108 - made before the server
    marker = _marker(env, table, conduits)
    session = OwnSession(env, table, pid, marker)
    world = World(
        env=env,
        table=table,
        pid=pid,
        wall=time.time,
        monotonic=time.monotonic,
        version=__version__,
        conduits=conduits,
        installed_version=lambda: installed.version(sys.argv[0]),
        anchor=lambda: session.claude,
        report=lambda: host.report(),  # noqa: PLW0108 - the host is made with this world
    )
    host = Host(registry, world, lambda content, meta: _push(world, content, meta))
    protocol = Protocol(version=__version__, instructions=host.instructions(OPENING), tools=surface)
    server = Server(stdin, Writer(stdout), protocol, host, session, marker)
    server.run()


def _push(world: World, content: str, meta: Mapping[str, str]) -> bool:
    """What a module pushes; nothing is imported for it before."""
    from agent_ways.server import choice

    return choice.push(world, content, meta)


def _marker(env: Mapping[str, str], table: ProcessTable, conduits: Iterable[Conduit]) -> Marker | None:
    """This server's marker, or None where there is no home to keep it in: the server serves all the same.

    It names the conduits that this server has, as `ways_status` does, which also tells what becomes of them.
    """
    try:
        folder = markers_dir(paths.state_root(env))
    except StateError:
        return None
    names = [conduit.name.replace(" ", "_") for conduit in conduits]
    content = {"version": __version__, "executable": os.path.realpath(sys.argv[0]), "conduits": names}
    return Marker(folder, this_process(table, env), table, content)
