"""Rooms: the open one, channels, and the histories of all.

Owns channels (a folder with a record and one empty file per member, so that joining needs no lock and loses none) and
reading a room's history by id. Must not know addresses, nor who is alive. Members are instance keys: they
follow `/clear` and resume.
"""

from __future__ import annotations

import os

from agent_ways.attend import disk, ids, layout
from agent_ways.attend.addresses import channel_name
from agent_ways.base.errors import RefusedError, StateError, UsageError, state_error
from agent_ways.base.records import read_record, write_record
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from agent_ways.attend.bus import Bus

_LONGEST_DESCRIPTION = 200


class Channel(Value):
    """One channel: its name without `#`, what it is for, and its members' instance keys."""

    __slots__ = ("description", "members", "name")

    def __init__(self, name: str, description: str, members: tuple[str, ...]) -> None:
        self.name: Final = name
        self.description: Final = description
        self.members: Final = members


def channels(bus: Bus) -> list[Channel]:
    """All channels by name. One whose record is damaged is there all the same, without a description."""
    return [_channel(bus, name) for name in _channel_names(bus)]


def all_members(bus: Bus) -> dict[str, tuple[str, ...]]:
    """The members' keys by channel name."""
    return {name: members(bus, name) for name in _channel_names(bus)}


def members(bus: Bus, name: str) -> tuple[str, ...]:
    """A channel's members."""
    return tuple(key for key in disk.names(layout.members(bus.root, name)) if not key.startswith("."))


def joined(bus: Bus, key: str) -> list[str]:
    """The channels that an instance is in."""
    return [name for name in _channel_names(bus) if os.path.lexists(os.path.join(layout.members(bus.root, name), key))]


def create(bus: Bus, text: str, description: str = "") -> Channel:
    """Make a channel without joining it; raises `RefusedError` where it is there already."""
    name = channel_name(text)
    described = _description(description)
    if name in _channel_names(bus):
        raise RefusedError(f"#{name} is there already", f"Join it with: attend join {name}")
    _make(bus, name, described)
    return _channel(bus, name)


def join(bus: Bus, key: str, text: str) -> bool:
    """Let an instance be a member, making the channel where it is missing; False where it was one already."""
    name = channel_name(text)
    if name not in _channel_names(bus):
        _make(bus, name, "")
    path = os.path.join(layout.members(bus.root, name), key)
    try:
        return disk.touch(path)
    except OSError as error:
        raise state_error("write", path, error) from None


def leave(bus: Bus, key: str, text: str) -> bool:
    """End a membership; False where there was none. The channel stays, also without members."""
    name = channel_name(text)
    path = os.path.join(layout.members(bus.root, name), key)
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise state_error("remove", path, error) from None
    return True


def dissolve(bus: Bus, text: str) -> Channel:
    """Take a channel away for everybody. Its history stays until its age ends it; raises `UsageError` for none."""
    name = channel_name(text)
    if name not in _channel_names(bus):
        raise UsageError(f"there is no channel #{name}", "List those that there are: attend channels")
    found = _channel(bus, name)
    folder = layout.channel(bus.root, name)
    aside = os.path.join(layout.channels(bus.root), f".{name}.{os.urandom(4).hex()}")
    try:
        os.rename(folder, aside)  # at once for everybody; what is left of it then is nobody's
    except OSError as error:
        raise state_error("remove", folder, error) from None
    sweep_aside(aside)
    return found


def sweep_aside(folder: str) -> None:
    """Take away what a dissolved channel left."""
    inner = os.path.join(folder, "members")
    for path in [os.path.join(inner, key) for key in disk.names(inner)] + [os.path.join(folder, "channel.json")]:
        disk.forget(path)
    for path in (inner, folder):
        try:
            os.rmdir(path)
        except OSError:
            pass


def newest_first(bus: Bus, room: str) -> Iterator[str]:
    """The ids in a room's history, newest first, one day's listing at a time."""
    for day in reversed(disk.names(layout.room(bus.root, room))):
        yield from reversed([name for name in disk.names(layout.room(bus.root, room, day)) if ids.is_id(name)])


def holds(bus: Bus, room: str, signal_id: str) -> bool:
    """Whether a room's history has that signal."""
    return os.path.lexists(os.path.join(layout.room(bus.root, room, ids.day(signal_id)), signal_id))


def record_in(bus: Bus, room: str, signal_id: str) -> None:
    """Keep a signal that is there in one more room's history."""
    path = os.path.join(layout.room(bus.root, room, ids.day(signal_id)), signal_id)
    try:
        disk.touch(path)
    except OSError as error:
        raise state_error("write", path, error) from None


def _channel_names(bus: Bus) -> list[str]:
    return [name for name in disk.names(layout.channels(bus.root)) if not name.startswith(".")]


def _channel(bus: Bus, name: str) -> Channel:
    try:
        record = read_record(os.path.join(layout.channel(bus.root, name), "channel.json"), layout.FORMAT)
    except StateError:
        record = None
    described = record.get("description") if record else ""
    return Channel(name, described if isinstance(described, str) else "", members(bus, name))


def _make(bus: Bus, name: str, description: str) -> None:
    members_folder = layout.members(bus.root, name)
    try:
        made = disk.make_folders(members_folder)
    except OSError as error:
        raise state_error("make", members_folder, error) from None
    try:
        write_record(
            os.path.join(layout.channel(bus.root, name), "channel.json"),
            {"v": layout.FORMAT, "channel": name, "description": description, "made": bus.now_ms()},
        )
    except StateError:
        disk.remove_folders(made)
        raise


def _description(text: str) -> str:
    if len(text) > _LONGEST_DESCRIPTION or not all(character.isprintable() for character in text):
        raise UsageError(
            "a channel's description is one printable line", f"Use at most {_LONGEST_DESCRIPTION} characters."
        )
    return text
