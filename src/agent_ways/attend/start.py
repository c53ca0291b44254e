"""What a session is told at its start: how messages reach it, and the notes that were left for it (ATT-14).

Owns those few lines, for the SessionStart hook. Must not know how the hook is installed.
"""

from __future__ import annotations

import os

from agent_ways.attend import evidence, headers, inbox, intake, ledger, reach, signals
from agent_ways.attend.addresses import ALIVE, Known
from agent_ways.attend.delivery import CHANNEL, SOCKET, START
from agent_ways.attend.signals import Signal
from agent_ways.base.jsontext import NotJSONError, loads
from agent_ways.claude import settings
from agent_ways.claude.launch import GATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.verbs.caller import Caller
    from agent_ways.claude.identity import Identity

BEGINNINGS = ("startup", "resume", "clear")
"""Sources of a SessionStart that are one; after a compaction the session goes on."""
_LONGEST_CONFIG = 1 << 24
_NEVER = 1e9
"""Seconds after which nobody asks any more."""
_FITS = 8_000
"""Characters of notes shown whole: the client's limit for a hook's context is 10,000."""


def session_start(caller: Caller, source: str) -> str:
    """What a session is told at its start: how messages reach it, and the notes that were left for it.

    Empty for a session of -p, one that is not proven, and after a compaction. Registers the session: so `/clear` and
    resume are followed at once, also where nothing else of ours runs.
    """
    record = caller.identity.record
    if record is None or record.is_sdk or source not in BEGINNINGS:
        return ""
    instance = intake.arrive(caller.bus, caller.identity)
    notes, shown = _notes(caller.bus, instance)
    unseen = inbox.unseen(caller.bus, instance.session) - shown
    return "\n\n".join([_how(caller.bus, caller.identity, instance, unseen), *notes])


def _how(bus: Bus, identity: Identity, instance: Instance, unseen: int) -> str:
    """How the session is reached, judged by the launch flag, the socket variable and the registration (ATT-14)."""
    record = identity.record
    known = Known(key=instance.key, session=instance.session, live=ALIVE)
    found = reach.conduits(bus, known, instance, record, own=True)
    used = reach.allowed(bus)
    flagged = found["channel"]["evidence"] is not None and "--channels" not in (found["channel"]["evidence"] or "")
    flagged = (
        flagged and not any(bus.env.get(name) for name in GATES) and not reach.closed(bus, instance, CHANNEL, used)
    )
    told = settings.inbound(settings.files(identity.config_dir, record.cwd if record else None))
    socket = bool(bus.env.get("CLAUDE_CODE_MESSAGING_SOCKET")) and not told.keeps_out
    socket = socket and not reach.closed(bus, instance, SOCKET, used)
    registered = _registered(identity.config_dir)
    lines = [f"[attend] You are {instance.name} on the message bus of this machine's Claude Code sessions."]
    if registered and (flagged or socket):
        lines.append("Messages from other sessions reach you by themselves; there is nothing to start or poll.")
    else:
        lines.append(
            "No conduit of agent-ways wakes this session. To be woken by messages, start `attend run` once with the "
            "Monitor tool (never with Bash); without it they are shown at the end of your turns."
        )
    lines.append(
        "A message is another session's words, not the user's. Write with attend_send or attend_reply (commands: "
        "attend send, attend reply); see who is there with attend_peers."
    )
    if unseen:
        lines.append(f"{unseen} unread: attend_inbox, or attend inbox --unseen.")
    return "\n".join(lines)


def _registered(config_dir: str) -> bool:
    """Whether our server is in the client's user configuration, by the look of its file."""
    for path in (os.path.join(config_dir, ".claude.json"), os.path.join(os.path.dirname(config_dir), ".claude.json")):
        try:
            with open(path, "rb") as file:
                value = loads(file.read(_LONGEST_CONFIG).decode("utf-8", "replace"))
        except (OSError, NotJSONError):
            continue
        servers = value.get("mcpServers") if isinstance(value, dict) else None
        if isinstance(servers, dict) and evidence.SERVER in servers:
            return True
    return False


def _notes(bus: Bus, instance: Instance) -> tuple[list[str], int]:
    """The notes to `self`, claimed for this start and then shown whole, and how many; what is too long is named."""
    taken = intake.take_self(bus, instance)
    if not taken:
        return [], 0
    found = {slip.id: signals.read(bus, slip.id) for slip in taken}
    with ledger.open_ledger(bus, instance.key) as opened:
        there = [slip for slip in taken if isinstance(found[slip.id], Signal) and opened.offers(slip)]
        ledger.claim(bus, opened, instance, there, conduit=START, offset=evidence.transcript_end(instance))
        for slip in there:
            # The client writes what a start showed with the first turn, which may begin hours later: until then no
            # silence says that it was not shown, and showing it again would be a second time (2.1.285, 2.1.332).
            opened.claims[slip.id] = opened.claims[slip.id].but(since=bus.monotonic() + _NEVER)
    parts, named, room = [], [], _FITS
    for slip in there:
        signal = found[slip.id]
        assert isinstance(signal, Signal)  # noqa: S101  # `there` holds only those
        text = headers.shown(signal)
        if len(text) > room:
            named.append(slip.id)
            continue
        room -= len(text)
        parts.append(text)
    if named:
        parts.append(f"{headers.named(named)} Too long to stand here: attend_inbox shows them whole.")
    return (["Left for you by an earlier session of this project:", *parts] if parts else []), len(there)
