"""How much of the inbox fits into one answer, and a body that does not, in parts.

Owns the room that one answer has and the cutting. Pure. Must not know whose inbox it is, nor how an answer is shown.
"""

from __future__ import annotations

from agent_ways.base.jsontext import dumps_readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOM = 45_000
"""Characters of JSON that the messages of one answer take: a tool's result has room for 50,000 (SRV-6)."""
PART = 40_000
"""Characters of JSON that a part of a body takes."""
MOST_NOTES = 10


def cost(value: object) -> int:
    """Characters that a value takes in an answer, with the comma behind it."""
    return len(dumps_readable(value)) + 1


def fitted(listed: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str], bool]:
    """As many of these messages as fit, sentences about them, and whether some had to be left out.

    One that alone does not fit is there without its body, and the sentence says how to read it.
    """
    found: list[dict[str, Any]] = []
    notes: list[str] = []
    room = ROOM
    for one in listed:
        long = cost(one) > ROOM
        shown = {**one, "body": None} if long else one
        size = cost(shown)
        if size > room and found:
            return found, notes, True
        if long:
            notes.append(
                f"{one['id']} has {len(one['body'])} characters, too many for a list: inbox with id {one['id']} shows "
                f"it in {len(parts(one['body']))} parts (in a terminal, whole: attend show {one['id']})"
            )
        room -= size
        found.append(shown)
    return found, notes, False


def parts(body: str) -> list[str]:
    """A body in as few parts as fit, each as long as it may be; cut between characters, nothing is left out."""
    found = []
    while body:
        size = min(len(body), PART)
        while (over := cost(body[:size]) - PART) > 0:
            size -= max(1, over // 6)  # a character takes six at most, as \\u0000
        found.append(body[:size])
        body = body[size:]
    return found or [""]


def few(notes: list[str]) -> list[str]:
    """The first of many sentences, and how many there are beside."""
    return notes if len(notes) <= MOST_NOTES else [*notes[:MOST_NOTES], f"{len(notes) - MOST_NOTES} more notes"]
