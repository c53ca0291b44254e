"""The two events of keepalive: their words, and how one of them is recognised again.

Owns the header that names an event and its text for each conduit. Must not know when one is sent. An event may
start a session's first turn, in which the model has no other words of ours: each stands alone (SRV-3, KA-8).

The wrap asks only for what no permission prompt can stop: reading what is already in the conversation and sending
two messages. A prompt at night would hang until morning (KA-8).
"""

from __future__ import annotations

import os

from agent_ways.base.values import Value
from agent_ways.keepalive.record import PING, WRAP
from agent_ways.keepalive.situation import LOOP
from agent_ways.keepalive.words import spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_OPENING = "[agent-ways keepalive "
_ID_CHARACTERS = frozenset("0123456789abcdef")
_WRAPPERS = ("<channel ", "<cross-session-message ", "<cross-session-message>")
"""What the client puts on the line above our first one (2.1.285, 2.1.332)."""


_PING = """\
Automatic event of this session's own agent-ways server, sent because the operator armed keepalive. No person and no \
other session wrote it. It only keeps the prompt cache warm: answer with the one word ok, use no tools, and go on with \
nothing."""

_WRAP = """\
Automatic event of this session's own agent-ways server, sent because the operator armed keepalive. No person and no \
other session wrote it. The operator has typed nothing for {absent}, so the keepalive window is closed. After this \
turn nothing is sent into this session, mail included, until the operator types again.
Now wrap up. These are the steps of the skill "wrap" of agent-ways; they are complete, so it need not be opened:
1. From what is in this conversation, write a hand-over: what was done, what is open, where to go on.
2. Send it with attend_send (a tool of the MCP server agent-ways; load it first if it is deferred) to "self", and its \
gist in two or three sentences to "operator".
3. End the turn with one line that says so.
Do nothing else: no edits, no commits, no commands, no questions. If a tool is missing or a call is denied, do not try \
again or another way: put the hand-over into your answer and end the turn."""

_WRAP_LINE = (
    "Automatic event of agent-ways: nothing typed for {absent}, the keepalive window is closed. Do the wrap skill's "
    'steps: hand over (done, open, next) by attend_send to "self" and "operator". Ask for no permission, change '
    "nothing, then end the turn and stay quiet."
)
"""One line of at most 400 characters with its header (ATT-8)."""


class Event(Value):
    """What is pushed: `text`, and the `meta` of a channel event. `id` is found again in the transcript."""

    __slots__ = ("id", "kind", "text")

    def __init__(self, *, kind: str, id: str, text: str) -> None:  # noqa: A002  # the field's name everywhere
        self.kind: Final = kind
        self.id: Final = id
        self.text: Final = text

    @property
    def meta(self) -> dict[str, str]:
        """Attributes of the channel's tag; keys and values as CON-5 wants them."""
        return {"kind": f"keepalive_{self.kind}", "id": self.id}


def new_id() -> str:
    """An id that nobody can guess: a peer that quotes our header proves nothing."""
    return os.urandom(8).hex()


def header(kind: str, name: str) -> str:
    """The first line of an event."""
    return f"{_OPENING}{kind} {name}]"


def ping(name: str, conduit: str) -> Event:
    """The event that keeps the cache warm: one word, no tools (KA-3)."""
    return _event(PING, name, conduit, _PING)


def wrap(name: str, conduit: str, typed_ms: int, again: bool = False) -> Event:
    """The event that ends the operator's absence: hand over, then be quiet (KA-6, KA-8).

    `typed_ms` is how long ago the operator typed; `again` says that it is a second try of the same event.
    """
    absent = spell(typed_ms)
    if conduit == LOOP:
        return _event(WRAP, name, conduit, _WRAP_LINE.format(absent=absent))
    told = _WRAP.format(absent=absent)
    if again:
        told += f"\n(Sent a second time. If {header(WRAP, name)} was done already, just answer ok.)"
    return _event(WRAP, name, conduit, told)


def _event(kind: str, name: str, conduit: str, told: str) -> Event:
    between = " " if conduit == LOOP else "\n"
    return Event(kind=kind, id=name, text=f"{header(kind, name)}{between}{told}")


def named_in(text: str) -> tuple[tuple[str, str], ...]:
    """The kinds and ids of our events in a text as the client was given it: our header, below the client's wrapper.

    A header anywhere else is a quotation.
    """
    found = []
    above = ""
    for line in text.split("\n"):
        if above.startswith(_WRAPPERS):
            found.append(_named(line))
        above = line
    return tuple(one for one in found if one is not None)


def named_in_notification(text: str) -> tuple[tuple[str, str], ...]:
    """The same for a task's notification, which holds one or more lines that the sensor loop printed."""
    _, _, inside = text.partition("<event>")
    found = (_named(line) for line in inside.partition("</event>")[0].split("\n"))
    return tuple(one for one in found if one is not None)


def _named(line: str) -> tuple[str, str] | None:
    inside, bracket, _ = line.removeprefix(_OPENING).partition("]")
    kind, _, name = inside.partition(" ")
    if not line.startswith(_OPENING) or not bracket or kind not in (PING, WRAP):
        return None
    return (kind, name) if name and _ID_CHARACTERS.issuperset(name) else None
