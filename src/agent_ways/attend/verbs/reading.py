"""The verbs that list messages: `inbox`, `show`, `thread`, `search`. They change nothing."""

from __future__ import annotations

import time

from agent_ways.attend import ids, paging, signals
from agent_ways.attend import inbox as boxes
from agent_ways.attend.inbox import Filter, Item
from agent_ways.attend.signals import Note
from agent_ways.attend.verbs.caller import SEARCH, named, viewer
from agent_ways.base.config import duration
from agent_ways.base.errors import UsageError
from agent_ways.claude.transcript import iso_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.inbox import Page
    from agent_ways.attend.verbs.caller import Caller

LIMIT = 25
LAST = "last"


def inbox(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue; `drain` and `format` are the command's own and are not for here."""
    if "id" in arguments or "part" in arguments:
        return _one(caller, arguments)
    page = boxes.listing(
        caller.bus,
        viewer(caller),
        _filter(caller.bus, arguments, text=arguments.get("grep", "")),
        arguments.get("limit", LIMIT),
        _before(arguments),
    )
    return _page(page)


def search(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    page = boxes.search(
        caller.bus,
        viewer(caller),
        _filter(caller.bus, arguments, text=arguments["text"]),
        arguments.get("limit", LIMIT),
        _before(arguments),
    )
    return _page(page)


def thread(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    return _whole(boxes.thread(caller.bus, viewer(caller), named(caller, arguments["id"])))


def show(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue."""
    wanted = arguments.get("id", LAST).lower()
    found = _newest(caller) if wanted == LAST else _found(caller, named(caller, wanted))
    return {"signals": [found.to_json()], "receipts": boxes.receipts(caller.bus, found.signal)}


def _newest(caller: Caller) -> Item:
    """The newest message of all that search finds for the caller."""
    page = boxes.search(caller.bus, viewer(caller), Filter(), 1)
    if not page.items:
        raise UsageError("there is no message yet", "Write one: attend send TEXT")
    return page.items[0]


def _found(caller: Caller, signal_id: str) -> Item:
    found = boxes.show(caller.bus, viewer(caller), signal_id)
    if not isinstance(found, Item):
        why = found.text if isinstance(found, Note) else "it is gone"
        hint = SEARCH if caller.is_person else "List the others with: attend inbox"
        raise UsageError(f"signal {signal_id} can not be read: {why}", hint)
    return found


def read_on_terminal(caller: Caller, document: dict[str, Any]) -> None:
    """Mark what the person was just shown on a terminal as read (ATT-2): to its end, where it came in parts."""
    if caller.is_person:
        whole = (one for one in document["signals"] if one["body"] is not None)
        shown = [one["id"] for one in whole if one.get("part") == one.get("parts")]
        found = signals.read_all(caller.bus, shown, [])
        boxes.read_by_operator(caller.bus, [Item(signal, None, None) for signal in found])


def since_ms(text: str, now_ms: int) -> int:
    """The moment that a person means by `2h`, `2026-11-30` or `2026-11-30T12:00Z`, ms since 1970."""
    back = duration(text)
    if back is not None:
        return now_ms - int(back * 1000)
    fields = text.split("-")
    if len(text) == 10 and len(fields) == 3 and all(field.isascii() and field.isdigit() for field in fields):
        year, month, day = (int(field) for field in fields)
        if year >= 1970 and 0 < month < 13 and 0 < day < 32:
            return int(time.mktime((year, month, day, 0, 0, 0, 0, 0, -1)) * 1000)
    found = iso_ms(text) or iso_ms(f"{text[:16]}:00{text[16:]}")
    if found is None:
        raise UsageError(f"{text!a} is no time", "Write 2h, 3d, 2026-11-30, or 2026-11-30T12:00Z.")
    return found


def _filter(bus: Bus, arguments: dict[str, Any], *, text: str) -> Filter:
    since = arguments.get("since")
    return Filter(
        unseen=arguments.get("unseen", False),
        room=boxes.room_named(bus, arguments.get("room", "")),
        sender=arguments.get("from", ""),
        since=None if since is None else since_ms(since, bus.now_ms()),
        text=text,
    )


def _before(arguments: dict[str, Any]) -> str | None:
    before = arguments.get("before")
    if before is not None and not ids.is_id(before):
        raise UsageError(f"{before!a} is no signal's id", "Give the `next` of the page before.")
    return before


def _one(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """One message; the part asked for of one that is too long for an answer."""
    others = sorted(arguments.keys() - {"id", "part"})
    if others or "id" not in arguments:
        what = f"id goes with part alone, not with {', '.join(others)}" if others else "part needs an id"
        raise UsageError(what, "Read one message: attend inbox --id ID --part 1")
    signal_id = named(caller, arguments["id"])
    one = _found(caller, signal_id).to_json()
    pieces = paging.parts(one["body"]) if paging.cost(one) > paging.ROOM else [one["body"]]
    part = arguments.get("part", 1)
    if part > len(pieces):
        raise UsageError(f"{signal_id} has {len(pieces)} part{'s' if len(pieces) > 1 else ''}", "Ask for one of them.")
    notes = []
    if len(pieces) > 1:
        one |= {"body": pieces[part - 1], "part": part, "parts": len(pieces)}
        more = f"; go on with part {part + 1}" if part < len(pieces) else ""
        notes.append(f"this is part {part} of {len(pieces)} of {signal_id}{more}")
    return {"signals": [one], "total": 1, "next": None, "notes": notes}


def _page(page: Page) -> dict[str, Any]:
    """As many of the page's signals as fit into a tool's result."""
    listed, notes, cut = paging.fitted([item.to_json() for item in page.items])
    following = listed[-1]["id"] if cut else page.next
    notes = paging.few([*notes, *_notes(page.notes)])
    return {"signals": listed, "total": page.total, "next": following, "notes": notes}


def _whole(page: Page) -> dict[str, Any]:
    listed = [item.to_json() for item in page.items]
    return {"signals": listed, "total": page.total, "next": page.next, "notes": _notes(page.notes)}


def _notes(notes: Iterable[Note]) -> list[str]:
    return [f"passed over {note.path}: {note.text}" for note in notes]
