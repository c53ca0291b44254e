"""The session that a process is part of.

Owns the way from a process up to the Claude Code process that started it, and what is said where that does not
resolve. Must not know what is done with the answer: nothing may be written under an id that did not resolve (ID-2).
Environment, process table and record reader come in by argument; nothing is remembered between two calls.
"""

from __future__ import annotations

from agent_ways.base.process import Process, alive
from agent_ways.base.values import Value
from agent_ways.claude import dirs, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Final, Protocol

    from agent_ways.base.process import ProcessTable
    from agent_ways.claude.records import SessionRecord

    class ReadRecord(Protocol):
        """`records.read`, or a test's own."""

        def __call__(self, config_dir: str, pid: int, table: ProcessTable) -> SessionRecord | None:
            """The record of the live process `pid`, or None."""


REACH = 15
"""Processes looked at on the way up, the first one included (ID-1)."""
HANDSHAKE = "AGENT_WAYS_HANDSHAKE"
"""Set by our own handshakes, which are no session (SRV-11)."""


class Identity(Value):
    """Who this process belongs to, and how that is known.

    `source` is "record" (proven), "environment" (a hint: the id at the time this process was started) or None, and
    `session` is then None too. `claude_process` is the session's Claude process where the record proves it.
    `disagreement` and `reason` (why nothing is proven) are plain sentences.
    """

    __slots__ = ("claude_process", "config_dir", "disagreement", "reason", "record", "session", "source")

    def __init__(
        self,
        *,
        config_dir: str,
        session: str | None = None,
        source: str | None = None,
        record: SessionRecord | None = None,
        claude_process: Process | None = None,
        disagreement: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.config_dir: Final = config_dir
        self.session: Final = session
        self.source: Final = source
        self.record: Final = record
        self.claude_process: Final = claude_process
        self.disagreement: Final = disagreement
        self.reason: Final = reason

    @property
    def resolved(self) -> bool:
        """Whether a live client's own record proves the session: only then may anything be written under its id."""
        return self.source == "record"


def identify(
    env: Mapping[str, str],
    table: ProcessTable,
    pid: int,
    anchor: Process | None = None,
    read: ReadRecord = records.read,
) -> Identity:
    """The session of process `pid`: its nearest ancestor, itself included, with a session record (ID-1).

    `anchor` is the Claude process found by an earlier call. Where the chain of parents no longer reaches it, because a
    launcher between them exited, the answer is looked for from there as long as that very process lives; once it is
    gone nothing resolves, whoever adopted this process meanwhile.

    Nothing resolves in a handshake of our own, nor where the environment's entrypoint is not the record's: then
    this process was started by something inside that session, a health check say (SRV-11). Raises `StateError`
    where there is no home directory to look in.
    """
    config_dir = dirs.config_dir(env)
    if env.get(HANDSHAKE):
        return Identity(config_dir=config_dir, reason="This is a handshake of agent-ways itself, not a session.")
    hint = records.session_name(env.get("CLAUDE_CODE_SESSION_ID"))
    found, reason = _nearest(table, pid, anchor, config_dir, read)
    if found is not None:
        process, record = found
        reason = _outsider(env.get("CLAUDE_CODE_ENTRYPOINT"), record)
        if not reason:
            return Identity(
                config_dir=config_dir,
                session=record.session,
                source="record",
                record=record,
                claude_process=process,
                disagreement=_disagreement(hint, record),
            )
    return Identity(
        config_dir=config_dir,
        session=hint,
        source="environment" if hint else None,
        reason=reason,
    )


def _nearest(
    table: ProcessTable, pid: int, anchor: Process | None, config_dir: str, read: ReadRecord
) -> tuple[tuple[Process, SessionRecord] | None, str]:
    """The nearest process with a record and that record, or None and the reason."""
    chain = list(_chain(table, pid))
    if not chain:
        return None, "The process table can not be read here, so no ancestor was found."
    if anchor is not None:
        if not alive(table, anchor.pid, anchor.start):
            return None, f"Claude Code (process {anchor.pid}), which started this process, has ended."
        if all(process.pid != anchor.pid for process in chain):
            chain = list(_chain(table, anchor.pid))
    for process in chain:
        record = read(config_dir, process.pid, table)
        if record is not None and record.start == process.start:
            return (process, record), ""
    return None, f"No ancestor of this process has a live session record in {config_dir}/sessions."


def _chain(table: ProcessTable, pid: int) -> Iterator[Process]:
    """The process and its ancestors, nearest first; a loop, which only a made-up table has, ends it."""
    seen: set[int] = set()
    while pid > 0 and pid not in seen and len(seen) < REACH:
        seen.add(pid)
        process = table.look(pid)
        if process is None:
            return
        yield process
        pid = process.parent


def _outsider(entrypoint: str | None, record: SessionRecord) -> str:
    """Why a process with that entrypoint is not the record's session's own, or nothing."""
    if not entrypoint or entrypoint == record.entrypoint:
        return ""
    if record.entrypoint is None and not records.is_sdk(entrypoint):
        return ""  # a record that tells no entrypoint does not differ, but a health check's is never a session's
    return (
        f"This process was started with entrypoint {entrypoint}, but the session record of process {record.pid} "
        f"says {record.entrypoint or 'nothing of one'}: it runs inside that session and is not part of it."
    )


def _disagreement(hint: str | None, record: SessionRecord) -> str | None:
    if hint is None or hint == record.session:
        return None
    return (
        f"CLAUDE_CODE_SESSION_ID is {hint}, the id when this process was started, but the session record of process "
        f"{record.pid} now says {record.session}, which counts."
    )
