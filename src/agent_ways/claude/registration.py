"""What stands in the client's global file under our name, and what is to be done about it (LIFE-5).

Owns the entry that registers our server, how an entry is known for ours, and the two plans. Pure: functions over
values. Must not know the file nor `claude`: `mcp.py` reads the one, calls the other, and proves what came of a plan.
"""

from __future__ import annotations

import os

from agent_ways.base.jsontext import NotJSONError, dumps, loads
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

NAME = "agent-ways"
"""The server's name in the client's configuration."""
STEM = "ways-mcp"
"""The command's file stem, by which an entry is known for ours."""


class Found(Value):
    """What stands in the global file under our name: state `absent`, `entry` or `unreadable` (with the reason).

    `managed` is the file's path where it is read-only, so that another program manages it.
    """

    __slots__ = ("entry", "managed", "reason", "state")

    def __init__(self, state: str, entry: Any = None, reason: str = "", managed: str = "") -> None:
        self.state: Final = state
        self.entry: Final = entry
        self.reason: Final = reason
        self.managed: Final = managed

    @property
    def command(self) -> str | None:
        """The entry's command, where it is one that starts a program."""
        if not isinstance(self.entry, dict) or self.entry.get("type", "stdio") != "stdio":
            return None
        command = self.entry.get("command")
        return command if isinstance(command, str) and command else None


class Plan(Value):
    """What is to be done, before it is done: the words after `claude`, call by call.

    `state` of a registration is current, add, replace, foreign, managed or unreadable; of a removal absent, remove,
    foreign, managed or unreadable. Only add, replace and remove have steps. `reason` is a plain sentence.
    """

    __slots__ = ("reason", "state", "steps")

    def __init__(self, state: str, reason: str, steps: tuple[tuple[str, ...], ...] = ()) -> None:
        self.state: Final = state
        self.reason: Final = reason
        self.steps: Final = steps


def desired(command: str) -> dict[str, Any]:
    """The entry that registers `command`."""
    return {"type": "stdio", "command": command, "args": []}


def is_ours(command: str) -> bool:
    """Whether a command is a server of ours, wherever it lies: its file stem says so."""
    return os.path.splitext(os.path.basename(command))[0] == STEM


def plan_registration(found: Found, command: str) -> Plan:
    """What brings `command` to stand under our name. Judged by the entry's command alone."""
    if found.state == "unreadable":
        return Plan("unreadable", found.reason)
    if found.state == "absent":
        wanted = Plan("add", f"registers {command}", (add(desired(command)),))
        return _managed(found.managed, desired(command)) if found.managed else wanted
    registered = found.command
    if registered is None or not (is_ours(registered) or _same(registered, command)):
        return Plan("foreign", f"an entry {NAME} that is not ours is kept: it runs {worded(found.entry)}")
    if _same(registered, command):
        return Plan("current", f"registered: {command}")
    entry = {**desired(command), **found.entry, "type": "stdio", "command": command}
    if found.managed:
        return _managed(found.managed, entry)
    return Plan("replace", f"replaces {registered} by {command}", (removal(), add(entry)))


def plan_removal(found: Found, command: str) -> Plan:
    """What takes the registration of `command` away; an entry with another command is not this target's."""
    if found.state == "unreadable":
        return Plan("unreadable", found.reason)
    if found.state == "absent":
        return Plan("absent", "not registered")
    if found.command is None or not _same(found.command, command):
        return Plan("foreign", f"an entry {NAME} that is not from here is kept: it runs {worded(found.entry)}")
    if found.managed:
        return Plan("managed", f"{found.managed} is read-only, so another program manages it; its {NAME} stays there")
    return Plan("remove", f"withdraws {command}", (removal(),))


def _managed(path: str, entry: dict[str, Any]) -> Plan:
    """No call at all: `claude` would fail, or put a file of its own in the place of the other program's link."""
    text = f"{path} is read-only, so another program manages it; its mcpServers needs {dumps({NAME: entry})}"
    return Plan("managed", text)


def parse(data: bytes) -> Found:
    """What a global file with this content has under our name."""
    try:
        value = loads(data.decode("utf-8-sig"))
    except (NotJSONError, UnicodeDecodeError) as error:
        return Found("unreadable", reason=f"is not JSON ({error})" if data.strip() else "is empty")
    if not isinstance(value, dict):
        return Found("unreadable", reason="is not a JSON object")
    servers = value.get("mcpServers")
    if servers is None:
        return Found("absent")
    if not isinstance(servers, dict):
        return Found("unreadable", reason="has an mcpServers that is not an object")
    return Found("entry", servers[NAME]) if NAME in servers else Found("absent")


def steps_by_hand(state: str, command: str) -> tuple[tuple[str, ...], ...]:
    """What a person may do about an entry that we leave alone, by the state of its plan."""
    steps = {"foreign": (removal(), add(desired(command))), "unreadable": (add(desired(command)),)}
    return steps.get(state, ())


def _same(one: str, other: str) -> bool:
    return os.path.normpath(one) == os.path.normpath(other)


def add(entry: dict[str, Any]) -> tuple[str, ...]:
    """The words that put an entry in."""
    return ("mcp", "add-json", NAME, dumps(entry), "--scope", "user")


def removal() -> tuple[str, ...]:
    """The words that take the entry away."""
    return ("mcp", "remove", NAME, "--scope", "user")


def worded(entry: object) -> str:
    """An entry in short, without its `env`, which may hold secrets."""
    if not isinstance(entry, dict):
        return "something that is no object"
    args = entry.get("args")
    words = [entry.get("command"), *(args if isinstance(args, list) else [])] if entry.get("command") else []
    text = " ".join(str(word) for word in words) or str(entry.get("url", "nothing that we know"))
    return text if len(text) <= 200 else f"{text[:197]}..."
