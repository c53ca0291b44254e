"""Whether a peer's text may stand in a session's turn, or only the doorbell rings (CON-4).

Owns that one judgement, for the server's conduits and for the sensor loop alike: what either brings has the standing of
the session's own child, so in a mode that asks nobody before it acts, or one that is not known, no peer may word it.
Must not know conduits, nor how a doorbell is worded.
"""

from __future__ import annotations

from agent_ways.attend.waking import last_rows
from agent_ways.claude import permission, settings, transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_ways.attend.instances import Instance
    from agent_ways.claude.records import SessionRecord
    from agent_ways.claude.transcript import Row

_CLEARS = 8
"""`/clear`s in a row, without a prompt between them, over which the mode is looked for."""


def may_show(
    instance: Instance, record: SessionRecord | None, rows: Iterable[Row], argv: tuple[str, ...] | None
) -> bool:
    """Whether the session is known to ask before it acts. `rows` are its transcript's last, `argv` its client's.

    `/clear` keeps the mode and begins a new transcript, so the last one before counts where the new one says nothing.
    """
    if record is None or permission.may_bypass(argv, settings.files(instance.config_dir, record.cwd)):
        return False
    if permission.tells(rows):
        return permission.asks(rows)
    if record.started_at is None:
        return False
    for session in reversed(instance.sessions[:-1][-_CLEARS:]):
        path = transcript.find(instance.config_dir, session)
        earlier = last_rows(path) if path else ()
        if permission.tells(earlier):  # a conversation that was cleared early may end without having said it
            newest = max((row.at for row in earlier if row.at is not None), default=0)
            return newest >= record.started_at and permission.asks(earlier)
    return False
