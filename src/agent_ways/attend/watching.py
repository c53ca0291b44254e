"""`attend watch`: the bus live, for the operator.

Owns noticing new signals and printing each once. Marks nothing. Must not know what any session was shown.
"""

from __future__ import annotations

import os
import select
import sys

from agent_ways.attend import ids, layout, render, signals
from agent_ways.attend.addresses import OPERATOR
from agent_ways.attend.inbox import DIRECT, room_named
from agent_ways.attend.signals import Signal
from agent_ways.base.errors import RefusedError
from agent_ways.base.jsontext import dumps
from agent_ways.base.watch import file_watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.render import Style
    from agent_ways.attend.verbs.caller import Caller

LAST = 5
_WITHOUT_WATCH = 2.0


def watch(caller: Caller, arguments: dict[str, Any], style: Style, *, as_json: bool, plain: bool) -> int:
    """Print signals as they come, until interrupted or until nobody reads."""
    if not caller.is_person:
        raise RefusedError("watch is for the operator", "A session is told by its loop: attend run; or: attend inbox")
    bus = caller.bus
    room = _address(room_named(bus, arguments.get("room", "")))
    watched = file_watch()
    day = ids.day_of(bus.clock())
    before = signals.all_ids(bus)
    printed = set(before)
    for signal_id in reversed(before[: arguments.get("last", LAST)]):
        _show(bus, signal_id, room, style, as_json=as_json, plain=plain)
    while True:
        told = watched is not None and watched.add(layout.signals(bus.root)) and watched.tells_all(bus.root)
        latest = max(_days(bus), default=day)
        for one in dict.fromkeys((day, latest)):
            told = watched is not None and watched.add(layout.signals(bus.root, one)) and told
        for one in dict.fromkeys((day, latest)):
            for signal_id in sorted(set(_listed(bus, one)) - printed):
                printed.add(signal_id)
                _show(bus, signal_id, room, style, as_json=as_json, plain=plain)
        day = latest
        select.select([watched.fd] if watched else [], [], [], None if told else _WITHOUT_WATCH)
        if watched is not None:
            watched.drain()


def _show(bus: Bus, signal_id: str, room: str, style: Style, *, as_json: bool, plain: bool) -> None:
    found = signals.read(bus, signal_id)
    if not isinstance(found, Signal) or not _is_in(found, room):
        return
    one: dict[str, Any] = {**found.to_json(), "state": None, "proof": None}
    if as_json:
        text = dumps({"v": layout.FORMAT, **one}) + "\n"
    else:
        text = render.flat(one) + "\n" if plain else render.signal(one, style) + "\n"
    sys.stdout.write(text)
    sys.stdout.flush()


def _is_in(signal: Signal, room: str) -> bool:
    return not room or room in signal.to


def _address(room: str) -> str:
    """The address by which signals of that room are known; empty for all rooms."""
    return {DIRECT: OPERATOR, layout.OPEN: "*"}.get(room, room)


def _days(bus: Bus) -> list[str]:
    try:
        return os.listdir(layout.signals(bus.root))
    except OSError:
        return []


def _listed(bus: Bus, day: str) -> list[str]:
    try:
        names = os.listdir(layout.signals(bus.root, day))
    except OSError:
        return []
    return [name[:-5] for name in names if name.endswith(".json") and ids.is_id(name[:-5])]
