"""In which permission mode a session runs, as its transcript tells.

Owns one question: may text of a peer stand in a turn of this session? In a mode that asks nobody before it acts it may
not, because what our server posts has the standing of the session's own child (CON-4). Pure; must not know conduits.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_ways.claude.transcript import Row

ASKING = frozenset(("default", "acceptEdits", "plan", "auto", "dontAsk"))
"""Modes in which the client, a classifier or a rule stands between a text and an act. Any other name is not known."""


def mode(rows: Iterable[Row]) -> str | None:
    """The session's permission mode by its newest `permission-mode` row; None where there is none."""
    found = None
    for row in rows:
        if row.type == "permission-mode" and not row.side:
            value = row.raw.get("permissionMode")
            found = value if isinstance(value, str) else None
    return found


def asks(rows: Iterable[Row]) -> bool:
    """Whether the session is known to run in a mode that asks; unknown counts as one that does not."""
    return mode(rows) in ASKING
