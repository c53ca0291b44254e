"""What a module of the server is, and what the server lends it.

Owns the two contracts. A module contributes tools, events, or both (SRV-10); it is one file in
`server/modules/` and one line in `server/registry.py`. Must not know any module, nor how the server is wired.

A module keeps nothing from one call for the next: each call derives what it needs from `world` (SRV-9).
"""

from __future__ import annotations

from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final, Protocol

    from agent_ways.base.process import Process, ProcessTable
    from agent_ways.server.conduits import Conduit
    from agent_ways.server.tools import Tool

    class Host(Protocol):
        """What the server lends a started module. Every callback runs on the server's one thread.

        A callback that raises ends the module's events and is named in `ways_status`; the server goes on.
        """

        @property
        def world(self) -> World:
            """The edges: environment, processes, clocks."""

        def watch(self, fd: int, ready: Callable[[], None]) -> None:
            """Call `ready` whenever `fd` has something to read. What is no open descriptor raises.

            `ready` takes what there is, or gives the watch back: a descriptor that was closed, or has ended with
            nothing left to read, is told of once.
            """

        def unwatch(self, fd: int) -> None:
            """No longer. Must come before `fd` is closed."""

        def at(self, when: float, act: Callable[[], None]) -> None:
            """Call `act` once, when the monotonic clock (`world.monotonic`) passes `when` seconds.

            A server at rest does not wake: ask for a time only while something is outstanding. What is no
            finite number raises.
            """

        def push(self, content: str, meta: dict[str, str]) -> bool:
            """Send an event into the session's turn; True if it was given to a conduit, the best one that may reach it.

            Given is not seen: the client may drop it without a word. False: no conduit leads into the session, or there
            is none to wake (yet), and the event is the module's to keep. `meta` keys are `[a-z_][a-z0-9_]*`.
            """


class World(Value):
    """The edges that a module may use, and what the server says of itself.

    `conduits` are those that push, the one to be tried first at first. `anchor` is the Claude process that was found
    when the handshake ended.
    """

    __slots__ = (
        "anchor",
        "conduits",
        "env",
        "installed_version",
        "monotonic",
        "pid",
        "report",
        "table",
        "version",
        "wall",
    )

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        table: ProcessTable,
        pid: int,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
        version: str,
        installed_version: Callable[[], str | None],
        conduits: tuple[Conduit, ...],
        anchor: Callable[[], Process | None],
        report: Callable[[], Report],
    ) -> None:
        self.env: Final = env
        self.table: Final = table
        self.pid: Final = pid
        self.wall: Final = wall
        self.monotonic: Final = monotonic
        self.version: Final = version
        self.installed_version: Final = installed_version
        self.conduits: Final = conduits
        self.anchor: Final = anchor
        self.report: Final = report


class Report(Value):
    """Which modules live, and which failed with which reason."""

    __slots__ = ("failed", "live")

    def __init__(self, live: tuple[str, ...], failed: tuple[tuple[str, str], ...]) -> None:
        self.live: Final = live
        self.failed: Final = failed


class Module:
    """The base of every module. `tools` are its catalogue entries, `instructions` what a model must know of it."""

    name: str = ""
    instructions: str = ""
    tools: tuple[Tool, ...] = ()

    def __init__(self, world: World) -> None:
        self.world: Final = world

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The structured result of one call; its arguments have been checked.

        Raises `WaysError` for what the caller can mend or must know; the server words it.
        """
        raise NotImplementedError(tool, arguments)

    def start(self, host: Host) -> None:
        """The client has ended its handshake: event sources may begin."""

    def open(self) -> None:
        """Events may leave from now on: a second has passed since the tools were listed first."""
