"""Who calls a verb, and as whom it speaks.

Owns `Caller` (the bus, the proven identity, the frontend) and the rule who may send (ATT-4). Derived afresh for every
call; nothing is kept. Must not know any verb.
"""

from __future__ import annotations

import os

from agent_ways.attend import instances, intake, sending, signals
from agent_ways.attend.bus import open_bus
from agent_ways.attend.inbox import Viewer
from agent_ways.attend.instances import Instance
from agent_ways.attend.perceiver import perceiver
from agent_ways.base.errors import RefusedError, UsageError
from agent_ways.base.process import process_table
from agent_ways.base.values import Value
from agent_ways.claude.identity import identify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.signals import Sender
    from agent_ways.base.process import Process, ProcessTable
    from agent_ways.claude.identity import Identity

COMMAND, SERVER = "command", "server"
"""The two frontends."""
INBOX = "attend inbox"
SEARCH = "Find it: attend search TEXT, or attend watch --last 20"
"""What to do where there is no such message. The person's inbox has only what was written to them and to all."""
_DRIVEN = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID")
"""Variables that the client sets for what it starts: with one of them, it is no plain terminal."""
_NOBODY = "unregistered"
"""Stands for the key of a session that never registered; no instance can have it."""


class Caller(Value):
    """`identity` is of the calling process, `frontend` COMMAND or SERVER, `cwd` where a person works."""

    __slots__ = ("bus", "cwd", "frontend", "identity")

    def __init__(self, bus: Bus, identity: Identity, frontend: str, cwd: str) -> None:
        self.bus: Final = bus
        self.identity: Final = identity
        self.frontend: Final = frontend
        self.cwd: Final = cwd

    @property
    def is_person(self) -> bool:
        """Whether this is a plain terminal: the command, no Claude session above it, and none in the environment."""
        in_client = any(self.bus.env.get(name) for name in _DRIVEN)
        return self.frontend == COMMAND and not self.identity.resolved and not in_client

    def instance(self) -> Instance | None:
        """The registered instance of the calling session, None for a person and for one that never registered."""
        return instances.find(self.bus, self.identity)


def open_caller(
    env: Mapping[str, str],
    frontend: str,
    *,
    table: ProcessTable | None = None,
    pid: int | None = None,
    anchor: Process | None = None,
    cwd: str | None = None,
) -> Caller:
    """The caller that this process is; `anchor` as in `identify`. Raises `StateError` where there is no home."""
    table = table or process_table()
    identity = identify(env, table, os.getpid() if pid is None else pid, anchor=anchor)
    return Caller(open_bus(env, table), identity, frontend, _here() if cwd is None else cwd)


def viewer(caller: Caller) -> Viewer:
    """Whose inbox a reading verb shows. Changes nothing, so a session that never registered stays unregistered."""
    if caller.is_person:
        return Viewer(caller.bus, None)
    record = caller.identity.record
    if record is None:
        raise RefusedError(f"which session this is, is not known: {caller.identity.reason}", "Look with: attend whoami")
    found = caller.instance()
    return Viewer(caller.bus, found or _unregistered(caller))


def member(caller: Caller, reason: str = "") -> Instance:
    """The calling session's instance, registered where the rule allows it; with `reason` it is enrolled.

    Raises `RefusedError` for a person, an identity that is not proven, and a session of -p or an SDK.
    """
    if caller.is_person:
        raise RefusedError(
            "this is a plain terminal, not a session", "Run it inside a session; a person sees all rooms."
        )
    _proven(caller)
    return intake.arrive(caller.bus, caller.identity, reason)


def speaker(caller: Caller) -> tuple[Sender, Instance | None]:
    """As whom the caller sends, and its instance; None for a person.

    Raises `RefusedError` where a session has no process that perceives for it, or nobody can be named.
    """
    if caller.is_person:
        return sending.human_sender(caller.bus, user(caller), caller.cwd), None
    _proven(caller)
    if caller.frontend != SERVER:
        known = caller.instance()
        if perceiver(caller.bus, known.key if known else None, caller.identity.session or "") is None:
            raise RefusedError(
                "this session could not hear an answer: neither its sensor loop nor its server runs",
                "Start the loop with the Monitor tool, then send again: attend run",
            )
    instance = intake.arrive(caller.bus, caller.identity, "sent")
    return sending.session_sender(instance), instance


def named(caller: Caller, text: str) -> str:
    """The whole id that `text` means, as `signals.find`. A person is told of what looks in all rooms."""
    try:
        return signals.find(caller.bus, text)
    except UsageError as error:
        if caller.is_person and INBOX in error.hint:
            raise UsageError(error.message, SEARCH) from None
        raise


def user(caller: Caller) -> str:
    """The person's login name."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return caller.bus.env.get("USER") or f"uid{os.getuid()}"


def _proven(caller: Caller) -> None:
    record = caller.identity.record
    if record is None:
        raise RefusedError(
            f"nothing is written for a session that is not proven: {caller.identity.reason}",
            "Look with: attend whoami. A person at a terminal whose shell a session started: "
            "unset CLAUDECODE CLAUDE_CODE_SESSION_ID",
        )
    if record.is_sdk:
        raise RefusedError(
            "a session of -p or an SDK has no inbox, so it neither sends nor joins",
            "Read with: attend inbox. Send from a session that stays, or from a terminal.",
        )


def _unregistered(caller: Caller) -> Instance:
    record = caller.identity.record
    assert record is not None  # noqa: S101  # `viewer` has looked
    return Instance(
        key=_NOBODY,
        nickname="",
        ordinal=0,
        project=instances.project_of(record.cwd or ""),
        host=caller.bus.owner.host,
        sessions=(record.session,),
        config_dir=record.config_dir,
        client=None,
    )


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep
