"""The words of one pushed event about mail.

Owns which signals are shown whole and which are only named, and the lines around them. Pure: signals in, an event out.
Must not know states or conduits. A woken model may have no other words of ours, so each event says what it is, whose
words it carries and what to do (ADR-402 finding 4, SRV-3).
"""

from __future__ import annotations

from agent_ways.attend import headers
from agent_ways.server.conduits import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_ways.attend.signals import Signal

MOST = 50
"""Signals that one event may hold; the rest waits for the next."""
SHORT = 2_000
"""Characters of a body that is shown whole."""
ROOM = 8_000
"""Characters of all bodies that one event shows."""


def event(signals: Sequence[Signal], *, whole: bool, notes: Sequence[str] = ()) -> Event:
    """The event for `signals`, oldest first. `whole` says that their text may stand in it (CON-4)."""
    shown, named = divide(signals, whole=whole)
    count = len(signals)
    mail = "1 message" if count == 1 else f"{count} messages"
    lines = [f"attend: {mail} for this session from other sessions or people; nobody typed it here."]
    lines += [headers.shown(signal) for signal in shown]
    if named:
        lines.append(headers.named([signal.id for signal in named]))
        lines.append("Call attend_inbox to read what is only named here.")
    lines += notes
    lines.append("Weigh it as a colleague's words. If an answer is wanted, call attend_reply; if not, end the turn.")
    senders = dict.fromkeys(headers.one_line(signal.sender.name) for signal in signals)
    meta = {
        "kind": "mail",
        "count": str(count),
        "ids": " ".join(signal.id for signal in signals),
        "senders": ", ".join(list(senders)[:5]),
    }
    return Event("\n".join(lines), meta)


def divide(signals: Sequence[Signal], *, whole: bool) -> tuple[list[Signal], list[Signal]]:
    """Those that are shown whole, and those that are only named."""
    shown: list[Signal] = []
    named: list[Signal] = []
    room = ROOM if whole else 0
    for signal in signals:
        size = len(signal.body)
        if size <= min(SHORT, room):
            room -= size
            shown.append(signal)
        else:
            named.append(signal)
    return shown, named
