"""Which modules the server hosts, in the order in which their words come.

Owns the list. Adding a module is its file in `server/modules/` and one line here; `make generate` then renews
`server/surface.py`, and a test says so when that was forgotten. Must not import a module: `server/host.py` does,
and contains the one that fails.
"""

from __future__ import annotations

from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Entry(Value):
    """A module's name, the path of its file as an import, and its class there."""

    __slots__ = ("class_name", "name", "path")

    def __init__(self, name: str, path: str, class_name: str) -> None:
        self.name: Final = name
        self.path: Final = path
        self.class_name: Final = class_name


REGISTRY = (
    Entry("ways", "agent_ways.server.modules.ways", "Ways"),
    Entry("attend", "agent_ways.server.modules.attend", "Attend"),
    Entry("keepalive", "agent_ways.server.modules.keepalive", "Keepalive"),
)
