"""In which permission mode a session runs, as its transcript tells, and which one it may be in without telling.

Owns one question: may text of a peer stand in a turn of this session? In a mode that asks nobody before it acts it may
not, because what our server posts has the standing of the session's own child (CON-4). Must not know conduits.

The transcript is behind: shift+tab, and a resumption with another mode, write their row with the next typed prompt or
at the end of the client (2.1.285, 2.1.332). But a client reaches the mode that bypasses only where it was launched or
configured to, so that is looked at too.
"""

from __future__ import annotations

from agent_ways.claude import settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_ways.claude.transcript import Row

BYPASS = "bypassPermissions"
_BYPASSING = (BYPASS, "dangerously-skip-permissions")
"""What stands in a word of a command line that makes the mode reachable."""
_UNREAD = ("--settings", "--managed-settings", "--inherit-permission-mode", "--agent")
"""Options that may set a mode by something that is not read here."""
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


def tells(rows: Iterable[Row]) -> bool:
    """Whether there is a mode row at all, whatever it says: the client writes one some time after the first prompt."""
    return any(row.type == "permission-mode" and not row.side for row in rows)


def asks(rows: Iterable[Row]) -> bool:
    """Whether the session is known to run in a mode that asks; unknown counts as one that does not."""
    return mode(rows) in ASKING


def may_bypass(argv: Iterable[str] | None, files: Iterable[str]) -> bool:
    """Whether the client can be in the mode that asks nobody, whatever its transcript says.

    By its command line (None: unreadable, so it may) and its settings `files`.
    """
    if argv is None:
        return True
    for word in argv:
        if any(part in word for part in _BYPASSING) or word.partition("=")[0] in _UNREAD:
            return True
    return any(_default_mode(path) == BYPASS for path in files)


def _default_mode(path: str) -> object:
    permissions = settings.read(path).get("permissions")
    return permissions.get("defaultMode") if isinstance(permissions, dict) else None
