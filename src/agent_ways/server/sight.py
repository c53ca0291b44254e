"""One fresh look at the session from inside its server: who it is, and what a conduit needs to know of it.

Owns how the two are gathered from a world's edges. Must not keep anything, nor judge.
"""

from __future__ import annotations

from agent_ways.claude.identity import identify
from agent_ways.server.conduits import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_ways.claude.identity import Identity
    from agent_ways.claude.records import SessionRecord
    from agent_ways.claude.transcript import Row
    from agent_ways.server.module import World


def identity(world: World) -> Identity:
    """Who we are now. Raises `StateError` where there is no home directory to look in."""
    return identify(world.env, world.table, world.pid, anchor=world.anchor())


def is_own(env: Mapping[str, str], record: SessionRecord) -> bool:
    """Whether this is that session's own server, which may push, register and be present there.

    Not in a session of `-p` or an SDK (ID-5), and not where the session's own Bash tool or a hook started us, which the
    client gives its pid.
    """
    return not record.is_sdk and env.get("CLAUDE_PID") != str(record.pid)


def view(world: World, record: SessionRecord, config_dir: str) -> View:
    """What a conduit may look at."""
    return View(
        record=record,
        config_dir=config_dir,
        argv=world.table.argv(record.pid),
        env=world.env,
        rows=lambda: rows_of_this_run(config_dir, record, world.env.get("CLAUDE_CODE_SESSION_ID")),
    )


def over_rows(session: View, rows: Iterable[Row]) -> View:
    """The same over rows that are at hand: to choose a conduit for a push, no 4 MiB are read beside them.

    A proof that lies further back is not seen then: the conduit counts as unknown, and is tried all the same.
    """
    started = session.record.started_at
    own = [row for row in rows if started is not None and row.at is not None and row.at >= started]
    return View(
        record=session.record, config_dir=session.config_dir, argv=session.argv, env=session.env, rows=lambda: own
    )


def rows_of_this_run(config_dir: str, record: SessionRecord, first: str | None) -> Iterable[Row]:
    """The transcripts' rows since this client process started: a resumed one also holds those of earlier runs.

    After `/clear` the session `first`, which the server was started in, has a transcript of this run too (ID-6).
    """
    from agent_ways.claude import transcript

    if record.started_at is None:
        return []
    paths = [transcript.find(config_dir, one) for one in dict.fromkeys((first, record.session)) if one]
    rows = [row for path in paths if path for row in transcript.tail(path)]
    return [row for row in rows if row.at is not None and row.at >= record.started_at]
