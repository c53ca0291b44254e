"""What a session's transcripts prove of its claims, and what follows.

Owns looking (which transcript, from where, how far) and applying the delivery table to the ledger: marks, slips taken
away, claims ended, conduits down. Must not know how text is shown. Nothing is concluded from what could not be read.
"""

from __future__ import annotations

import os

from agent_ways.attend import delivery, headers, ids, instances, ledger, seen, trays
from agent_ways.attend.addresses import ALIVE, DEAD
from agent_ways.attend.delivery import Look
from agent_ways.attend.signals import iso
from agent_ways.base.jsontext import NotJSONError, loads
from agent_ways.base.values import Value
from agent_ways.claude import proof, transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.delivery import Claim
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.ledger import Ledger
    from agent_ways.attend.trays import Slip
    from agent_ways.claude.proof import Evidence
    from agent_ways.claude.transcript import Row

SERVER = "agent-ways"
"""The server's name in the client's config, which a channel's lines bear."""
READERS = ("mcp__agent-ways__attend_inbox",)
"""Tools whose results show signals whole, as the model calls them."""
_PARTS = "parts"
"""Where a ledger keeps which parts of a long body were read."""
_MOST_IN_PARTS = 32
_ALIGN = 1 << 16
_WAITED = frozenset(
    (
        *(delivery.NOTHING, delivery.UNREADABLE, delivery.SILENT, delivery.SILENT_AGAIN),
        *(delivery.UNPRINTED, delivery.UNPRINTED_AGAIN, delivery.STUCK, delivery.STUCK_AGAIN),
    )
)
"""Events that say only that time has passed."""
_UNCLAIMED = 1 << 20
"""Bytes of a transcript that are looked at where nothing is claimed and no look was made before."""


class Found(Value):
    """What the transcripts hold of signals: ids by kind of evidence, and in `proofs` how each shown one is known."""

    __slots__ = ("enqueued", "named", "proofs", "read", "readable", "whole")

    def __init__(
        self,
        *,
        readable: bool,
        enqueued: frozenset[str],
        whole: frozenset[str],
        named: frozenset[str],
        read: frozenset[str],
        proofs: dict[str, dict[str, Any]],
    ) -> None:
        self.readable: Final = readable
        self.enqueued: Final = enqueued
        self.whole: Final = whole
        self.named: Final = named
        self.read: Final = read
        self.proofs: Final = proofs


class Settled(Value):
    """What a look changed that its caller acts on: ids now seen, and ids to be pushed once more.

    What else there is to say stands in the ledger: `attend status` says it.
    """

    __slots__ = ("retry", "seen")

    def __init__(self, seen: tuple[str, ...] = (), retry: tuple[str, ...] = ()) -> None:
        self.seen: Final = seen
        self.retry: Final = retry


def transcript_end(instance: Instance) -> int:
    """The end of the last whole line of the session's transcript, 0 where there is none yet: a claim's offset."""
    path = transcript.find(instance.config_dir, instance.session)
    return transcript.tail(path, _ALIGN).end if path else 0


def settle(
    bus: Bus, opened: Ledger, instance: Instance, slips: Sequence[Slip], idle_for: float | None = None
) -> Settled:
    """Look at the transcripts, apply the table to every claim, mark and drop what is proven.

    `opened` is the instance's open ledger, `slips` what waits for it. `idle_for` is how many seconds the session has
    been idle (ID-9), None where it is not or nobody looked. Marks are on disk before their slips go.
    """
    if not ledger.under_way(opened) and not slips:
        return Settled()
    state, now = instances.now_of(bus, instance)
    _follow(opened, (*instance.sessions, now) if state == ALIVE else instance.sessions)
    found = look(opened, instance, now)
    waiting = {slip.id: slip for slip in slips}
    if found.read - waiting.keys():
        # The inbox shows what is held back too.
        waiting |= {slip.id: slip for slip in trays.waiting(bus.root, instance.session, held=True)}
    proofs, retry = _apply(bus, opened, instance, found, idle_for)
    for signal_id in (found.read | found.whole) & waiting.keys():
        if opened.state(signal_id) == delivery.QUEUED:
            proofs.setdefault(signal_id, found.proofs[signal_id])
    if proofs:
        seen.mark(bus, instance.key, proofs)
        for signal_id in proofs:
            opened.claims.pop(signal_id, None)
            if signal_id in waiting:
                trays.drop(bus, waiting[signal_id])
    if not ledger.under_way(opened):
        # The next look begins at its claims, however long the transcript has become by then.
        opened.looked.clear()
        opened.calls.clear()
    return Settled(tuple(proofs), tuple(retry))


def _follow(opened: Ledger, sessions: Sequence[str]) -> None:
    """`/clear` between claim and proof: events cross it, so all transcripts since the claim count from here on."""
    for signal_id, claim in opened.claims.items():
        if delivery.step(claim.state, delivery.MOVED)[0] != delivery.ADD_ID:
            continue
        first = claim.sessions[0] if claim.sessions else ""
        since = sessions[sessions.index(first) :] if first in sessions else sessions[-1:]
        new = tuple(dict.fromkeys((*claim.sessions, *since)))
        if new != claim.sessions:
            opened.claims[signal_id] = claim.but(sessions=new)


def look(opened: Ledger, instance: Instance, session: str) -> Found:
    """Read what came to the transcripts of all claims' sessions since the look before the last one.

    Each line is read twice, since related lines may be written in either order. Moves `opened.looked` on.
    """
    sessions = dict.fromkeys(
        (
            *(one for claim in opened.claims.values() if claim.state != delivery.QUEUED for one in claim.sessions),
            session,
        )
    )
    rows: list[tuple[str, Row]] = []
    # A transcript that is not there yet has nothing in it, which is known; a folder that can not be listed is not.
    readable = os.access(instance.config_dir, os.R_OK | os.X_OK)
    for one in sessions:
        path = transcript.find(instance.config_dir, one)
        if path is None:
            continue
        new, good = _rows(opened, one, path)
        readable = readable and good
        rows += [(one, row) for row in new]
    for one in [name for name in opened.looked if name not in sessions]:
        del opened.looked[one]
    return _found(opened, rows, readable)


def _rows(opened: Ledger, session: str, path: str) -> tuple[list[Row], bool]:
    before = opened.looked.get(session)
    start = before[0] if before else _first_offset(opened, session, path)
    rows: list[Row] = []
    at = start
    while True:
        part = transcript.since(path, at)
        if part.problem or part.absent:
            return rows, False
        if part.rewritten:
            rows.clear()
        rows += part.rows
        at = part.end
        if not part.more:
            break
    opened.looked[session] = [before[1] if before and before[1] <= at else start, at]
    return rows, True


def _first_offset(opened: Ledger, session: str, path: str) -> int:
    """Where to begin: at the oldest claim made in this session; nothing claimed: a little before the end."""
    offsets = [
        claim.offset if claim.sessions[:1] == (session,) else 0
        for claim in opened.claims.values()
        if claim.state != delivery.QUEUED and session in claim.sessions
    ]
    return min(offsets) if offsets else transcript.tail_start(path, _UNCLAIMED)


def _found(opened: Ledger, rows: Sequence[tuple[str, Row]], readable: bool) -> Found:
    whole: set[str] = set()
    named: set[str] = set()
    read: set[str] = set()
    enqueued: set[str] = set()
    proofs: dict[str, dict[str, Any]] = {}
    for session in dict.fromkeys(session for session, _ in rows):
        its = [row for name, row in rows if name == session]
        opened.calls.update({call: name for call, name in proof.calls(its).items() if name in READERS})
        for evidence in proof.shown(its):
            shown_whole, only_named = headers.read_back(evidence.text)
            for signal_id in shown_whole | only_named:
                if _is_ours(evidence, opened, signal_id):
                    (whole if signal_id in shown_whole else named).add(signal_id)
                    proofs.setdefault(signal_id, _proof(evidence, session))
        for evidence in proof.tool_results(its, READERS, opened.calls):
            for signal_id, part, parts in in_result(evidence.text):
                if _is_whole(opened, signal_id, part, parts):
                    read.add(signal_id)
                    proofs[signal_id] = _proof(evidence, session)
        for evidence in proof.arrivals(its):
            enqueued.update(*headers.read_back(evidence.text))
    for call in list(opened.calls)[:-64]:
        del opened.calls[call]
    return Found(
        readable=readable,
        enqueued=frozenset(enqueued),
        whole=frozenset(whole),
        named=frozenset(named - whole),
        read=frozenset(read),
        proofs=proofs,
    )


def _is_ours(evidence: Evidence, opened: Ledger, signal_id: str) -> bool:
    """Whether a line is of the kind that our conduits make: our server's channel, the process that we push from."""
    if evidence.kind == proof.CHANNEL:
        return evidence.source == SERVER
    if evidence.kind == proof.PEER:
        claim = opened.claims.get(signal_id)
        return claim is not None and evidence.source in ("", str(claim.by))
    return True


def _proof(evidence: Evidence, session: str) -> dict[str, Any]:
    return {"kind": evidence.kind, "session": session, "at": iso(evidence.at) if evidence.at else None}


def in_result(text: str) -> list[tuple[str, int, int]]:
    """The signals that a tool's result holds with their bodies, by its JSON, not by what a body may quote.

    Each with the part of its body that stands there, and how many parts it has.
    """
    try:
        value = loads(text)
    except NotJSONError:
        return []
    listed = value.get("signals") if isinstance(value, dict) else None
    found = []
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and ids.is_id(one.get("id")) and isinstance(one.get("body"), str):
            part, parts = one.get("part", 1), one.get("parts", 1)
            if isinstance(part, int) and isinstance(parts, int) and 0 < part <= parts:
                found.append((one["id"], part, parts))
    return found


def _is_whole(opened: Ledger, signal_id: str, part: int, parts: int) -> bool:
    """Whether the model has been given all parts of a body, which the ledger remembers, in whatever order."""
    known = opened.more.get(_PARTS)
    known = dict(known) if isinstance(known, dict) else {}
    before = known.pop(signal_id, None)
    had = {one for one in before if isinstance(one, int)} if isinstance(before, list) else set()
    had.add(part)
    whole = had >= set(range(1, parts + 1))
    if not whole:
        known[signal_id] = sorted(had)
    opened.more.pop(_PARTS, None)
    if known:
        opened.more[_PARTS] = dict(list(known.items())[-_MOST_IN_PARTS:])
    return whole


def _apply(
    bus: Bus, opened: Ledger, instance: Instance, found: Found, idle_for: float | None
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    proofs: dict[str, dict[str, Any]] = {}
    retry: list[str] = []
    for signal_id, claim in list(opened.claims.items()):
        if claim.state == delivery.QUEUED:
            continue
        verdict = claim.client.verdict(bus.owner, bus.table) if claim.client else DEAD
        event = delivery.judge(
            claim,
            Look(
                now=bus.monotonic(),
                alive={ALIVE: True, DEAD: False}.get(verdict),
                readable=found.readable,
                enqueued=signal_id in found.enqueued,
                whole=signal_id in found.whole,
                named=signal_id in found.named,
                read=signal_id in found.read,
                idle_for=idle_for,
            ),
        )
        if event in _WAITED and _stands_still(bus, claim):
            # Stopped (ctrl-Z), it can neither take nor show anything: its time counts from when it goes on.
            opened.claims[signal_id] = claim.but(since=bus.monotonic())
            continue
        action, state = delivery.step(claim.state, event)
        if action == delivery.MARK:
            proofs[signal_id] = found.proofs[signal_id]
            continue
        if action == delivery.RETRY:
            retry.append(signal_id)
            claim = claim.but(tries=claim.tries + 1, since=bus.monotonic())  # noqa: PLW2901  # the claim as changed
        if state == delivery.QUEUED:
            if action == delivery.DOWN:
                _give_up(opened, instance, claim.conduit)
            claim = claim.but(  # noqa: PLW2901
                left=action == delivery.LEAVE, stalls=claim.stalls + (claim.state == delivery.ARRIVED)
            )
        opened.claims[signal_id] = claim.but(state=state)
    return proofs, retry


def _stands_still(bus: Bus, claim: Claim) -> bool:
    """Whether the claim's process is stopped; asked in time that no silence is concluded right after it goes on."""
    waited = bus.monotonic() - claim.since >= delivery.TRACELESS / 2
    return waited and claim.client is not None and bus.table.stopped(claim.client.pid)


def _give_up(opened: Ledger, instance: Instance, conduit: str) -> None:
    """The conduit is down for this process and session id."""
    opened.down[conduit] = {
        "reason": "two pushes in a row left no trace in the transcript",
        "client": instance.client.to_json() if instance.client else None,
        "session": instance.session,
    }
