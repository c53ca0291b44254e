"""Conduits of the server: paths from it into an idle session's turn.

Owns what a conduit is. Each one answers three questions: can the session be reached through it now (yes, no, unknown,
with the reason and the evidence), what came of pushing this, and what proves that something arrived. A third one is
one more file here and one name in `server/main.py`. Must not know what is pushed, nor keep what was.

A push that was given to a conduit is no delivery: that is proven by the transcript alone (CON-1).
"""

from __future__ import annotations

from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Final, Protocol

    from agent_ways.claude.reach import Reach
    from agent_ways.claude.records import SessionRecord
    from agent_ways.claude.transcript import Row

    class Conduit(Protocol):
        """One path into the session's turn."""

        name: str

        def reach(self, session: View) -> Reach:
            """Whether an event can reach the session now. What is not known is `unknown`."""

        def push(self, session: View, event: Event) -> str | None:
            """Give the event to the client; None where it was given, else the reason why not. Never blocks long."""


class Event(Value):
    """What is pushed: text that stands alone, and words about it for the channel's tag.

    `meta` keys are `[a-z_][a-z0-9_]*`, never `source`. An event that is not `urgent` waits for the end of a running
    turn.
    """

    __slots__ = ("meta", "text", "urgent")

    def __init__(self, text: str, meta: Mapping[str, str] | None = None, *, urgent: bool = True) -> None:
        self.text: Final = text
        self.meta: Final = dict(meta or {})
        self.urgent: Final = urgent


class View(Value):
    """One session as a conduit sees it, gathered afresh for each question.

    `argv` is its client's command line (None: unreadable), `env` our own environment, which the client gave us, `rows`
    gives the transcript's rows of this run of the client.
    """

    __slots__ = ("argv", "config_dir", "env", "record", "rows")

    def __init__(
        self,
        *,
        record: SessionRecord,
        config_dir: str,
        argv: tuple[str, ...] | None,
        env: Mapping[str, str],
        rows: Callable[[], Iterable[Row]],
    ) -> None:
        self.record: Final = record
        self.config_dir: Final = config_dir
        self.argv: Final = argv
        self.env: Final = env
        self.rows: Final = rows
