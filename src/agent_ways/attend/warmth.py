"""Keepalive as the sensor loop sees it: its eyes, its records, its settings (KA-9).

Owns putting those parts together for the loop, which acts, and for `attend keepwarm`, which only tells. Where the
session's server could push, the server keeps the cache warm and the loop does not. Must not know the judge's rules.
"""

from __future__ import annotations

import os

from agent_ways.attend import evidence, instances, perceiver, reach
from agent_ways.attend.addresses import ALIVE, Known
from agent_ways.base import config, paths
from agent_ways.claude.identity import identify
from agent_ways.claude.reach import NO
from agent_ways.keepalive.look import SessionEyes, read_clock
from agent_ways.keepalive.situation import LOOP, Conduits, settings
from agent_ways.keepalive.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.attend.bus import Bus
    from agent_ways.claude.identity import Identity
    from agent_ways.claude.records import SessionRecord
    from agent_ways.keepalive.situation import Settings


def eyes(bus: Bus, *, in_loop: bool) -> SessionEyes:
    """What looks at the session of this process; `in_loop` says that this process is the loop itself."""

    def who() -> Identity:
        return identify(bus.env, bus.table, os.getpid())

    def conduits(record: SessionRecord) -> Conduits:
        if in_loop or _loop(bus, who(), record):
            return Conduits((LOOP,))
        return Conduits((), "no sensor loop runs: attend run under the Monitor tool starts one")

    return SessionEyes(
        identify=who,
        conduits=conduits,
        clock=lambda: read_clock(bus.clock, bus.monotonic, boot=bus.owner.boot),
        owner=bus.owner,
        server=evidence.SERVER,
        elsewhere=lambda record: elsewhere(bus, record),
    )


def elsewhere(bus: Bus, record: SessionRecord) -> str:
    """Which other process keeps the session warm: its server, where it may push; empty where there is none."""
    servers = perceiver.servers(bus, record.session)
    if not servers:
        return ""
    instance = next((one for one in instances.read_all(bus) if record.session in one.sessions), None)
    known = Known(key=instance.key if instance else None, session=record.session, live=ALIVE)
    found = reach.conduits(bus, known, instance, record, own=True)
    if found["channel"]["state"] == found["inbox_socket"]["state"] == NO:
        return ""
    return f"the session's server ({servers[0]}) keeps it warm"


def store(bus: Bus) -> Store:
    """Where keepalive's records lie."""
    return Store(paths.state_root(bus.env), bus.owner)


def settings_file(bus: Bus) -> config.ConfigFile:
    """The user config, read again when it was written."""
    return config.ConfigFile(os.path.join(paths.config_dir(bus.env), config.FILE))


def settings_now(file: config.ConfigFile) -> Settings:
    """What the operator set."""
    return settings(file.now())


def _loop(bus: Bus, identity: Identity, record: SessionRecord) -> bool:
    instance = instances.find(bus, identity)
    return instance is not None and perceiver.loop(bus, instance.key, record.session) is not None
