"""Where the things of the bus lie below its root.

Owns the folder and file names, as pure functions of the root; `docs/reference/bus-format.md` describes them. Must
not know what the files hold, nor touch one. No folder that the hot path lists grows with history: a tray holds
only what waits, and signals, rooms and marks are divided by day.
"""

from __future__ import annotations

import os

from agent_ways.base import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
"""The version (`v`) of every record of the bus."""

OPEN = "open"
"""The room that everybody is in."""
OPERATOR = "+operator"
"""The tray of the person."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"


def bus_root(env: Mapping[str, str]) -> str:
    """The bus's folder; raises `StateError` where there is no home (ATT-1)."""
    return os.path.join(paths.state_root(env), "attend")


def signals(root: str, day: str = "") -> str:
    """The folder of one day's signals, or of all days."""
    return os.path.join(root, "signals", day) if day else os.path.join(root, "signals")


def signal(root: str, day: str, signal_id: str) -> str:
    """The file of one signal."""
    return os.path.join(root, "signals", day, signal_id + ".json")


def archive(root: str) -> str:
    """Where signals go before they are deleted; same division by day as `signals`."""
    return os.path.join(root, "archive")


_HISTORIES = {"sent.": "sent", "thread.": "threads"}


def histories(root: str) -> tuple[tuple[str, str], ...]:
    """The folders of histories, and what stands before the names in them as a room's name."""
    return (os.path.join(root, "rooms"), ""), *((os.path.join(root, at), kind) for kind, at in _HISTORIES.items())


def room(root: str, name: str, day: str = "") -> str:
    """A room's history: one empty file per signal, divided by day."""
    kind, dot, rest = name.partition(".")
    parent = _HISTORIES.get(kind + dot)
    path = os.path.join(root, parent, rest) if parent else os.path.join(root, "rooms", name)
    return os.path.join(path, day) if day else path


def tray(root: str, name: str) -> str:
    """What waits for one session (its id), for the person, an alias, a project or a project's next session."""
    return os.path.join(root, "trays", name)


def trays(root: str) -> str:
    """The folder of all trays."""
    return os.path.join(root, "trays")


def instances(root: str) -> str:
    """The folder of instance records."""
    return os.path.join(root, "instances")


def instance(root: str, key: str) -> str:
    """One instance's record."""
    return os.path.join(root, "instances", key + ".json")


def personas(root: str) -> str:
    """Which nickname belongs to which project."""
    return os.path.join(root, "personas.json")


def aliases(root: str) -> str:
    """The folder of alias records."""
    return os.path.join(root, "aliases")


def alias(root: str, name: str) -> str:
    """One alias's record."""
    return os.path.join(root, "aliases", name + ".json")


def channels(root: str) -> str:
    """The folder of channels."""
    return os.path.join(root, "channels")


def channel(root: str, name: str) -> str:
    """One channel's folder."""
    return os.path.join(root, "channels", name)


def members(root: str, name: str) -> str:
    """A channel's members: one empty file per instance key."""
    return os.path.join(root, "channels", name, "members")


def ledger(root: str, key: str) -> str:
    """One instance's claims: what is on its way to it."""
    return os.path.join(root, "deliveries", key + ".json")


def marks(root: str, key: str, day: str = "") -> str:
    """One instance's seen marks with their proofs, one file per day of the signals, or their folder."""
    folder = os.path.join(root, "seen", key)
    return os.path.join(folder, day + ".jsonl") if day else folder


def lock(root: str, name: str) -> str:
    """A lock's file; never removed."""
    return os.path.join(root, "locks", name + ".lock")


def high_water(root: str) -> str:
    """The latest time that an id was made for."""
    return os.path.join(root, "clock")


def room_of_channel(name: str) -> str:
    """The room that keeps a channel's history."""
    return "channel." + name


def room_of_tray(name: str) -> str:
    """The room that keeps what was ever addressed to a tray."""
    return "tray." + name


def room_of_sender(name: str) -> str:
    """The room that keeps what one session, or the person (`OPERATOR`), has sent."""
    return "sent." + name


def room_of_thread(signal_id: str) -> str:
    """The room that keeps the answers below the signal that began a thread."""
    return "thread." + signal_id


def tray_of_alias(name: str) -> str:
    """Where an alias's mail waits while no live session holds it."""
    return "+alias." + name


def tray_of_project(project: str) -> str:
    """Where a project's mail waits for its next session."""
    return "+project." + project_key(project)


def tray_of_self(project: str) -> str:
    """Where a note waits for the next session of its own project to start."""
    return "+self." + project_key(project)


def project_key(project: str) -> str:
    """A project's path as one name: its last part to recognize it by, and a hash of the whole to tell it apart."""
    last = os.path.basename(project.rstrip("/")) or "root"
    shown = "".join(character if character in _PLAIN else "-" for character in last)[:40]
    return f"{shown}-{spell(fnv(project), 13)}"


def fnv(text: str) -> int:
    """FNV-1a of 64 bits: the same answer on every machine, without importing hashlib."""
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def spell(number: int, width: int) -> str:
    """A number in `width` characters whose order as text is the order of the numbers (Crockford's base 32)."""
    return "".join(_BASE32[(number >> 5 * place) & 31] for place in range(width - 1, -1, -1))


def unspell(text: str) -> int:
    """The number that `spell` wrote; raises ValueError for other text."""
    value = 0
    for character in text:
        value = value << 5 | _BASE32.index(character)
    return value
