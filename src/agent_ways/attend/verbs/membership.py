"""The verbs about rooms and names: `join`, `leave`, `channels`, `alias`."""

from __future__ import annotations

from agent_ways.attend import addresses, aliases, instances, intake, rooms
from agent_ways.attend.verbs.caller import member
from agent_ways.base.errors import RefusedError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.rooms import Channel
    from agent_ways.attend.verbs.caller import Caller


def join(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    name = addresses.channel_name(arguments["channel"])
    instance = member(caller, "joined")
    changed = intake.join(caller.bus, instance, name)
    return _membership(caller.bus, name, changed)


def leave(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue. A session that never registered is in no channel, and stays unregistered."""
    name = addresses.channel_name(arguments["channel"])
    if name not in rooms.all_members(caller.bus):
        raise _no_channel(caller.bus, name)
    if caller.is_person:
        member(caller)  # refuses, with what to do
    instance = caller.instance()
    changed = instance is not None and rooms.leave(caller.bus, instance.key, name)
    return _membership(caller.bus, name, changed)


def channels(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    action, name = arguments.get("action", "list"), arguments.get("channel")
    if "description" in arguments and action != "create":
        raise UsageError(f"{action} takes no description", "Describe a new one: attend channels create NAME")
    if action == "list":
        found = rooms.channels(caller.bus)
        if name is not None:
            wanted = addresses.channel_name(name)
            found = [one for one in found if one.name == wanted]
            if not found:
                raise _no_channel(caller.bus, wanted)
    elif name is None:
        raise UsageError(f"{action} needs the channel's name", f"attend channels {action} NAME")
    elif action == "create":
        found = [_create(caller, name, arguments.get("description", ""))]
    else:
        found = [rooms.dissolve(caller.bus, name)]
    return {
        "channels": [
            {"channel": one.name, "description": one.description, "members": _names(caller.bus, one.members)}
            for one in found
        ]
    }


def _create(caller: Caller, text: str, description: str) -> Channel:
    try:
        return rooms.create(caller.bus, text, description)
    except RefusedError as error:  # a person joins no channel, and sees all of them
        name = addresses.channel_name(text)
        hint = f"Write to it: attend send --to '#{name}' TEXT; see who is in it: attend channels"
        raise RefusedError(error.message, hint if caller.is_person else error.hint) from None


def alias(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    name = arguments.get("name")
    changed, mail = False, 0
    if name is None:
        if arguments.get("drop"):
            raise UsageError("which alias is to be let go?", "attend alias NAME --drop")
        instance = caller.instance()
    elif arguments.get("drop"):
        instance = member(caller)
        changed = aliases.drop(caller.bus, instance, name)
    else:
        wanted = addresses.alias_name(name)
        instance = member(caller, "joined")
        changed = wanted not in aliases.held_by(caller.bus, instance.key)
        mail = intake.take_alias(caller.bus, instance, wanted)
    held = aliases.held_by(caller.bus, instance.key) if instance else []
    return {"alias": held, "changed": changed, "mail": mail}


def _membership(bus: Bus, name: str, changed: bool) -> dict[str, Any]:
    return {"channel": name, "changed": changed, "members": _names(bus, rooms.members(bus, name))}


def _names(bus: Bus, keys: Iterable[str]) -> list[str]:
    known = {one.key: one.name for one in instances.read_all(bus)}
    return sorted(known[key] for key in keys if key in known)


def _no_channel(bus: Bus, name: str) -> UsageError:
    near = addresses.near_matches(name, rooms.all_members(bus))
    hint = f"Did you mean #{', #'.join(near)}?" if near else "List those that there are: attend channels"
    return UsageError(f"there is no channel #{name}", hint)
