"""The modules of one server, each contained: what fails in one stays in one (SRV-4).

Owns loading, starting and calling modules, their watched descriptors and timers, and the words for their
failures. Must not know any module, the protocol, or where bytes go: a push is handed to `send`, which says
whether it was given to a conduit.

A module that fails at import or start is dead for this server's life. One whose event callback raises loses its
events and keeps its tools. One whose tool raises is named until a call of it works again.
"""

from __future__ import annotations

import os
import sys

from agent_ways.base.errors import WaysError
from agent_ways.server.module import Report
from agent_ways.server.pipes import say
from agent_ways.server.tools import LONGEST_DESCRIPTION, failure_text, problems, result_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Final, NoReturn, TypeVarTuple

    from agent_ways.server.module import Module, World
    from agent_ways.server.registry import Entry
    from agent_ways.server.tools import Tool

    Given = TypeVarTuple("Given")
    Send = Callable[[str, dict[str, str]], bool]

NEVER = float("inf")


class Host:
    """The registry's modules, alive or failed."""

    def __init__(self, registry: Iterable[Entry], world: World, send: Send) -> None:
        self.world: Final = world
        self._send: Final = send
        self._modules: dict[str, Module] = {}
        self._tools: dict[str, Tool] = {}
        self._failed: dict[str, str] = {}
        self._faults: dict[str, str] = {}
        self._watched: dict[int, tuple[str, Callable[[], None]]] = {}
        self._timers: list[tuple[float, str, Callable[[], None]]] = []
        for entry in registry:
            self._guarded(entry.name, "could not be loaded", self._load, entry)

    def _load(self, entry: Entry) -> None:
        __import__(entry.path)
        module = getattr(sys.modules[entry.path], entry.class_name)(self.world)
        if type(module.instructions) is not str:
            raise TypeError("its instructions are no text")
        self._modules[entry.name] = module
        self._tools.update({tool.name: tool for tool in module.tools})

    def instructions(self, opening: str) -> str:
        """The opening and the words of each live module, in the registry's order, within what clients show whole."""
        text = opening
        for name, module in self._modules.items():
            longer = f"{text}\n{module.instructions}" if module.instructions else text
            if len(longer.encode("utf-8", "replace")) <= LONGEST_DESCRIPTION:
                text = longer
            else:
                say(f"the words of {name} find no room in the instructions")
        return text

    def report(self) -> Report:
        """Which modules live, and why the others do not."""
        failed = {**self._faults, **self._failed}
        return Report(live=tuple(name for name in self._modules if name not in failed), failed=tuple(failed.items()))

    def start(self) -> None:
        """The handshake is done: every loaded module may begin its events."""
        for name, module in tuple(self._modules.items()):
            if not self._guarded(name, "could not start", module.start, _Lent(self, name)):
                self._silence(name)
                del self._modules[name]

    def open(self) -> None:
        """Pushed events reach the client from now on."""
        for name, module in tuple(self._modules.items()):
            self._event(name, module.open)

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Run one tool; its result as JSON text, whatever happens in it."""
        name = tool.partition("_")[0]
        module = self._modules.get(name)
        if module is None:
            return failure_text(f"The module {name} is not running: {self._failed.get(name, 'it was not loaded')}.")
        try:
            wrong = problems(self._tools[tool].input_schema, arguments)
            if wrong:
                return failure_text(*wrong)
            try:
                text = result_text(module.call(tool, arguments))
            except WaysError as error:
                return failure_text(*(part for part in (error.message, error.hint) if part))
        except BaseException as error:  # noqa: BLE001 - a module's fault must stay in its module
            self._faults[name] = _told(name, f"{tool} failed", error)
            return failure_text(
                f"{tool} failed: {_worded(error)}.", "This is a defect of agent-ways; ways_status names it."
            )
        self._faults.pop(name, None)
        return text

    @property
    def watched(self) -> tuple[int, ...]:
        """The descriptors that modules want to hear of."""
        return tuple(self._watched)

    def ready(self, fd: int) -> None:
        """A watched descriptor has something to read."""
        if fd in self._watched:
            name, act = self._watched[fd]
            self._event(name, act)

    def ended(self, fd: int) -> None:
        """A watched descriptor was closed, or has nothing to read and never will have: whoever keeps it is told once.

        The poll would tell of it for ever, so a module that goes on watching it then loses its events.
        """
        watched = self._watched.get(fd)
        if watched is None:
            return
        self.ready(fd)
        if self._watched.get(fd) is watched:
            self._event(watched[0], lambda: _refuse(f"descriptor {fd} has ended and is still watched"))

    def next_time(self) -> float | None:
        """When the earliest timer is due, in monotonic seconds; None where nothing is outstanding."""
        return min(self._timers, key=_when)[0] if self._timers else None

    def tick(self, now: float) -> None:
        """Run the timers that are due."""
        if not self._timers:
            return
        due = [timer for timer in self._timers if timer[0] <= now]
        self._timers = [timer for timer in self._timers if timer[0] > now]
        for _, name, act in sorted(due, key=_when):
            self._event(name, act)

    def _event(self, name: str, act: Callable[[], None]) -> None:
        if not self._guarded(name, "stopped its events", act):
            self._silence(name)

    def _silence(self, name: str) -> None:
        self._timers = [timer for timer in self._timers if timer[1] != name]
        self._watched = {fd: one for fd, one in self._watched.items() if one[0] != name}

    def _guarded(self, name: str, what: str, act: Callable[[*Given], None], *given: *Given) -> bool:
        try:
            act(*given)
        except BaseException as error:  # noqa: BLE001 - a module's fault must stay in its module
            self._failed[name] = _told(name, what, error)
            return False
        return True


class _Lent:
    """What one started module may ask of the host; see `module.Host`."""

    __slots__ = ("_host", "_name")

    def __init__(self, host: Host, name: str) -> None:
        self._host: Final = host
        self._name: Final = name

    @property
    def world(self) -> World:
        return self._host.world

    def watch(self, fd: int, ready: Callable[[], None]) -> None:
        if type(fd) is not int:
            _refuse(f"{fd!r} is no descriptor")
        os.fstat(fd)
        self._host._watched[fd] = (self._name, ready)  # noqa: SLF001 - the two are one piece

    def unwatch(self, fd: int) -> None:
        watched = self._host._watched  # noqa: SLF001 - the two are one piece
        if fd in watched and watched[fd][0] == self._name:
            del watched[fd]

    def at(self, when: float, act: Callable[[], None]) -> None:
        time = float(when) if type(when) in (int, float) else NEVER
        if not -NEVER < time < NEVER:
            _refuse(f"{when!r} is no time")
        self._host._timers.append((time, self._name, act))  # noqa: SLF001 - the two are one piece

    def push(self, content: str, meta: dict[str, str]) -> bool:
        return self._host._send(content, meta)  # noqa: SLF001 - the two are one piece


def _when(timer: tuple[float, str, Callable[[], None]]) -> float:
    return timer[0]


def _refuse(why: str) -> NoReturn:
    """A module asked for what can not be: its defect, which must not become the server's."""
    raise ValueError(why)


def _told(name: str, what: str, error: BaseException) -> str:
    """The reason of a failure, which is also said on stderr."""
    reason = f"{what}: {_worded(error)}"
    say(f"module {name} {reason}")
    return reason


def _worded(error: BaseException) -> str:
    """One line that names the error, for a person and a model; an error may fail to say what it is."""
    try:
        said = str(error)
    except BaseException:  # noqa: BLE001 - a module's fault must stay in its module
        said = ""
    said = "".join(character if character.isprintable() else " " for character in said[:3000])
    said = " ".join(said.split())[:300]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
