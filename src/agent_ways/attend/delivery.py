"""The delivery state of one signal for one session: five states, and what moves between them.

Owns the table of design section 6 as data, `step` over it, `judge` (which event a look at the world amounts to) and the
table's own drawing for the docs. Pure. Must not know files, transcripts or conduits' workings.

Claim before show, proof from the transcript (CON-1): a push, a print, a busy record and an enqueue are never "seen".
"""

from __future__ import annotations

from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from agent_ways.base.process import Owner

QUEUED, PUSHED, ARRIVED, ANNOUNCED, SEEN = "queued", "pushed", "arrived", "announced", "seen"
STATES = (QUEUED, PUSHED, ARRIVED, ANNOUNCED, SEEN)

CHANNEL, SOCKET, LOOP, DRAIN, START = "channel", "inbox socket", "loop", "drain", "start"
PUSHING = (CHANNEL, SOCKET)
"""Conduits that start a turn and can fail in silence; the others print what the client then shows."""

TRACELESS = 5.0
"""Seconds after which a claim without a trace, or an arrival in an idle session, is taken for a failure."""

# Events.
TAKEN = "a conduit takes it"
ENQUEUED = "an enqueue line holds its id"
PROVEN = "a proof line shows it whole"
NAMED = "a proof line only names it"
READ = "a result of attend_inbox holds it whole"
OTHER = "another conduit looks"
SILENT = "5 s without a trace, the process lives"
SILENT_AGAIN = "the same, after the retry"
UNPRINTED = "5 s without a trace of a print, the process lives"
UNPRINTED_AGAIN = "the same, a second time"
UNREADABLE = "5 s, the transcript can not be read"
STUCK = "the session is idle for 5 s, no proof"
STUCK_AGAIN = "the same, a second time"
MOVED = "the process has a new session id"
GONE = "the process is gone, no proof"

# Actions.
NOTHING = ""
CLAIM = "write the claim, then show"
SHOW_NOTHING = "show nothing of it; announced ones are named by count"
RETRY = "push once more"
DOWN = "this conduit is down until restart or /clear; say why"
LEAVE = "say so, leave it to the inbox"
SAY_UNPROVEN = 'say "shown, unproven"'
MARK = "mark, with the proof"
ANNOUNCE = "keep the claim: only the doorbell was shown"
ADD_ID = "add the id to the claim"
END = "end the claim"


class Rule(Value):
    """One row of the table."""

    __slots__ = ("action", "event", "next", "state")

    def __init__(self, state: str, event: str, action: str, next: str) -> None:  # noqa: A002  # the column's name
        self.state: Final = state
        self.event: Final = event
        self.action: Final = action
        self.next: Final = next


TABLE = (
    Rule(QUEUED, TAKEN, CLAIM, PUSHED),
    Rule(QUEUED, READ, MARK, SEEN),
    Rule(QUEUED, PROVEN, MARK, SEEN),
    Rule(PUSHED, ENQUEUED, NOTHING, ARRIVED),
    Rule(PUSHED, PROVEN, MARK, SEEN),
    Rule(PUSHED, NAMED, ANNOUNCE, ANNOUNCED),
    Rule(PUSHED, READ, MARK, SEEN),
    Rule(PUSHED, OTHER, SHOW_NOTHING, PUSHED),
    Rule(PUSHED, MOVED, ADD_ID, PUSHED),
    Rule(PUSHED, SILENT, RETRY, PUSHED),
    Rule(PUSHED, SILENT_AGAIN, DOWN, QUEUED),
    Rule(PUSHED, UNPRINTED, END, QUEUED),
    Rule(PUSHED, UNPRINTED_AGAIN, LEAVE, QUEUED),
    Rule(PUSHED, UNREADABLE, SAY_UNPROVEN, PUSHED),
    Rule(PUSHED, GONE, END, QUEUED),
    Rule(ARRIVED, PROVEN, MARK, SEEN),
    Rule(ARRIVED, NAMED, ANNOUNCE, ANNOUNCED),
    Rule(ARRIVED, READ, MARK, SEEN),
    Rule(ARRIVED, OTHER, SHOW_NOTHING, ARRIVED),
    Rule(ARRIVED, MOVED, ADD_ID, ARRIVED),
    Rule(ARRIVED, STUCK, END, QUEUED),
    Rule(ARRIVED, STUCK_AGAIN, LEAVE, QUEUED),
    Rule(ARRIVED, GONE, END, QUEUED),
    Rule(ANNOUNCED, PROVEN, MARK, SEEN),
    Rule(ANNOUNCED, READ, MARK, SEEN),
    Rule(ANNOUNCED, OTHER, SHOW_NOTHING, ANNOUNCED),
    Rule(ANNOUNCED, MOVED, ADD_ID, ANNOUNCED),
)
"""What the design's table says, one state to a row, and five rows where it is silent (`docs/explanation/attend.md`)."""

_RULES = {(rule.state, rule.event): rule for rule in TABLE}


def step(state: str, event: str) -> tuple[str, str]:
    """The action and the next state; nothing and the same where the table has no such row. `seen` is final."""
    rule = _RULES.get((state, event))
    return (rule.action, rule.next) if rule else (NOTHING, state)


class Claim(Value):
    """That a conduit shows, or has shown, a signal to a session: written before it does.

    `at` is the wall clock in ms since 1970; `since` counts seconds since the boot that `client` proves. `client` is the
    Claude process, `by` the pid that pushed or printed. `sessions` are the ids that it had meanwhile, `offset` is the
    end of the first one's transcript at that time. `tries` and `stalls` count failures and outlive a return to
    queued. `left` says that no conduit shows it any more.
    """

    __slots__ = ("at", "by", "client", "conduit", "left", "offset", "sessions", "since", "stalls", "state", "tries")

    def __init__(
        self,
        *,
        state: str,
        conduit: str,
        at: int,
        since: float,
        client: Owner | None,
        by: int,
        sessions: tuple[str, ...],
        offset: int = 0,
        tries: int = 1,
        stalls: int = 0,
        left: bool = False,
    ) -> None:
        self.state: Final = state
        self.conduit: Final = conduit
        self.at: Final = at
        self.since: Final = since
        self.client: Final = client
        self.by: Final = by
        self.sessions: Final = sessions
        self.offset: Final = offset
        self.tries: Final = tries
        self.stalls: Final = stalls
        self.left: Final = left


class Look(Value):
    """What one look found of one claimed signal.

    `now` is in seconds since boot, as `Claim.since`. `alive` is of the claim's process; None where that can not be seen
    from here. `idle_for` is how long its session has been idle, None where it is not or nobody knows.
    """

    __slots__ = ("alive", "enqueued", "idle_for", "named", "now", "read", "readable", "whole")

    def __init__(
        self,
        *,
        now: float,
        alive: bool | None = True,
        readable: bool = True,
        enqueued: bool = False,
        whole: bool = False,
        named: bool = False,
        read: bool = False,
        idle_for: float | None = None,
    ) -> None:
        self.now: Final = now
        self.alive: Final = alive
        self.readable: Final = readable
        self.enqueued: Final = enqueued
        self.whole: Final = whole
        self.named: Final = named
        self.read: Final = read
        self.idle_for: Final = idle_for


def judge(claim: Claim, look: Look) -> str:
    """The event that a look amounts to for a claim, or nothing. A proof counts before all that would deny it."""
    if look.read:
        return READ
    if look.whole:
        return PROVEN
    if claim.state in (PUSHED, ARRIVED):
        if look.named:
            return NAMED
        if look.alive is False:
            return GONE
    if claim.state == PUSHED:
        return ENQUEUED if look.enqueued else _silent(claim, look)
    if claim.state == ARRIVED and look.idle_for is not None and look.idle_for >= TRACELESS and _old(claim, look):
        return STUCK_AGAIN if claim.stalls else STUCK
    return NOTHING


def _silent(claim: Claim, look: Look) -> str:
    if not _old(claim, look) or look.alive is None:
        return NOTHING
    if not look.readable:
        return UNREADABLE
    if claim.conduit in PUSHING:
        return SILENT_AGAIN if claim.tries > 1 else SILENT
    return UNPRINTED_AGAIN if claim.tries > 1 else UNPRINTED


def _old(claim: Claim, look: Look) -> bool:
    return look.now - claim.since >= TRACELESS


def drawn() -> str:
    """The table as Markdown, for the docs."""
    rows = ["| state | event | action | next |", "|---|---|---|---|"]
    rows += [
        f"| {rule.state} | {rule.event} | {rule.action or '-'} | {'same' if rule.next == rule.state else rule.next} |"
        for rule in TABLE
    ]
    return "\n".join([*rows, f"| {SEEN} | any | - | final |"]) + "\n"
