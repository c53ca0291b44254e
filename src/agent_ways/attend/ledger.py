"""The ledger: what is on its way to one session, under that session's one lock.

Owns the record of claims, of conduits that are down, of how far transcripts were looked at, and of the last delivery;
and claiming. Must not know how text is shown, nor what a transcript proves. It holds only what is under way: a
claim leaves it with its proof.
"""

from __future__ import annotations

from agent_ways.attend import delivery, disk, layout, seen, trays
from agent_ways.attend.delivery import ANNOUNCED, PUSHED, QUEUED, Claim
from agent_ways.base.errors import DamagedRecordError
from agent_ways.base.process import Owner
from agent_ways.base.records import read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.trays import Slip
    from agent_ways.base.locks import Lock


class Ledger:
    """One instance's ledger in memory; `open_ledger` gives one that may be changed, `read` one to look at.

    `claims` by signal id. `down` has, by conduit, the reason and the process and session that it holds for. `looked`
    has, by session id, how far its transcript was looked at, by the look before the last and by the last. `calls` are
    tool calls seen whose results may come yet. `last` is the last delivery: its ids and its conduit. `cold` proves the
    process whose cold start was made; `counted` is how many signals it only counted. `more` is free for conduits.
    """

    __slots__ = ("_before", "calls", "claims", "cold", "counted", "down", "key", "last", "looked", "more")

    def __init__(self, key: str, record: dict[str, Any] | None = None) -> None:
        raw = record or {}
        self.key: Final = key
        self.claims: Final = _claims(raw.get("claims"))
        self.down: Final[dict[str, Any]] = _object(raw.get("down"))
        self.looked: Final[dict[str, list[int]]] = {
            session: ends
            for session, ends in _object(raw.get("looked")).items()
            if isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, int) for end in ends)
        }
        self.calls: Final[dict[str, str]] = _object(raw.get("calls"))
        self.last: dict[str, Any] = _object(raw.get("last"))
        self.cold: Owner | None = Owner.from_json(raw.get("cold"))
        counted = raw.get("counted")
        self.counted: int = counted if isinstance(counted, int) else 0
        self.more: Final[dict[str, Any]] = _object(raw.get("more"))
        self._before: Final = self.to_record() if record is not None else None

    @property
    def changed(self) -> bool:
        """Whether it is other than on disk; an empty one that was never written is not worth a file."""
        now = self.to_record()
        return now != (self._before if self._before is not None else Ledger(self.key, {}).to_record())

    def to_record(self) -> dict[str, Any]:
        """As it stands on disk."""
        return {
            "v": layout.FORMAT,
            "key": self.key,
            "claims": {signal_id: _claim_json(claim) for signal_id, claim in self.claims.items()},
            "down": dict(self.down),
            "looked": {session: list(ends) for session, ends in self.looked.items()},
            "calls": dict(self.calls),
            "last": dict(self.last),
            "cold": self.cold.to_json() if self.cold else None,
            "counted": self.counted,
            "more": dict(self.more),
        }

    def state(self, signal_id: str) -> str:
        """The state of a signal that is not marked as seen."""
        claim = self.claims.get(signal_id)
        return claim.state if claim else QUEUED

    def offers(self, slip: Slip) -> bool:
        """Whether a conduit may show it: nobody claims it, and it was not left to the inbox."""
        claim = self.claims.get(slip.id)
        if claim is None:
            return True
        return delivery.step(claim.state, delivery.OTHER)[0] != delivery.SHOW_NOTHING and not claim.left

    def why_down(self, conduit: str, client: Owner | None, session: str) -> str:
        """Why a conduit is down for this process and session id, or nothing: a restart or `/clear` tries it again."""
        entry = _object(self.down.get(conduit))
        same = Owner.from_json(entry.get("client")) == client and entry.get("session") == session
        return str(entry.get("reason") or "it failed before") if entry and same else ""


class OpenLedger:
    """A ledger under its lock, for a `with` statement: written back at the end if it was changed and nothing failed."""

    __slots__ = ("_bus", "_lock", "_path", "ledger")

    def __init__(self, bus: Bus, key: str, patience: float | None = None) -> None:
        self._bus: Final = bus
        self._path: Final = layout.ledger(bus.root, key)
        self._lock: Final[Lock] = bus.lock(f"ledger.{key}", patience)
        self.ledger = Ledger(key)

    def __enter__(self) -> Ledger:
        self._lock.acquire()
        try:
            self.ledger = read(self._bus, self.ledger.key)
        except BaseException:
            self._lock.release()
            raise
        return self.ledger

    def save(self) -> None:
        """Write it now: what was changed so far holds from here on, whatever comes."""
        if self.ledger.changed:
            disk.put_record(self._path, self.ledger.to_record())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.save()
        finally:
            self._lock.release()


def open_ledger(bus: Bus, key: str, patience: float | None = None) -> OpenLedger:
    """The ledger of an instance, for a `with` statement. Raises `LockHeldError` and `StateError`."""
    return OpenLedger(bus, key, patience)


def read(bus: Bus, key: str) -> Ledger:
    """The ledger as it stands, to look at only. A damaged one counts as empty: what waits is shown, at worst again."""
    try:
        return Ledger(key, read_record(layout.ledger(bus.root, key), layout.FORMAT))
    except DamagedRecordError:
        return Ledger(key, {})


def retried(ledger: Ledger, client: Owner | None) -> None:
    """A new process of the session: what was left to the inbox may be shown again, what failed is tried afresh."""
    for signal_id, claim in list(ledger.claims.items()):
        if claim.state == QUEUED and claim.client != client:
            del ledger.claims[signal_id]


def settled(bus: Bus, ledger: Ledger, slips: Iterable[Slip]) -> list[Slip]:
    """The slips whose signals are not marked yet; a process killed between mark and drop has left the others."""
    given = list(slips)
    marked = seen.proofs(bus, ledger.key, [slip.id for slip in given]) if given else {}
    for slip in given:
        if slip.id in marked:
            trays.drop(bus, slip)
            ledger.claims.pop(slip.id, None)
    return [slip for slip in given if slip.id not in marked]


def claim(
    bus: Bus, ledger: Ledger, instance: Instance, slips: Iterable[Slip], *, conduit: str, offset: int
) -> list[Slip]:
    """Claim for `conduit` what may be shown of `slips`, and answer it.

    `offset` is the end of the session's transcript now. The ledger must be open, and be saved (`with` ends, or `save`)
    before anything is shown.
    """
    taken = []
    for slip in slips:
        if not ledger.offers(slip):
            continue
        before = ledger.claims.get(slip.id)
        _, state = delivery.step(QUEUED, delivery.TAKEN)
        again = (
            before is not None
            and (before.conduit, before.client) == (conduit, instance.client)
            and instance.session in before.sessions
        )
        ledger.claims[slip.id] = Claim(
            state=state,
            conduit=conduit,
            at=bus.now_ms(),
            since=bus.monotonic(),
            client=instance.client,
            by=bus.owner.pid,
            sessions=(instance.session,),
            offset=offset,
            tries=before.tries + 1 if before and again else 1,
            stalls=before.stalls if before else 0,
        )
        taken.append(slip)
    if taken:
        ledger.last = {"ids": [slip.id for slip in taken], "conduit": conduit, "at": bus.now_ms()}
    return taken


def announced(ledger: Ledger) -> int:
    """How many signals were named to the session and not shown yet."""
    return sum(claim.state == ANNOUNCED for claim in ledger.claims.values())


def under_way(ledger: Ledger) -> bool:
    """Whether a look at the transcript can change anything."""
    return any(claim.state != QUEUED for claim in ledger.claims.values())


def _claim_json(claim: Claim) -> dict[str, Any]:
    record: dict[str, Any] = {name: getattr(claim, name) for name in Claim.__slots__}
    return record | {"client": claim.client.to_json() if claim.client else None, "sessions": list(claim.sessions)}


def _claims(raw: object) -> dict[str, Claim]:
    return {
        signal_id: found for signal_id, value in _object(raw).items() if (found := _claim(_object(value))) is not None
    }


def _claim(raw: dict[str, Any]) -> Claim | None:
    sessions = raw.get("sessions")
    state = raw.get("state")
    if state not in (QUEUED, PUSHED, delivery.ARRIVED, ANNOUNCED) or not isinstance(sessions, list):
        return None
    since = raw.get("since")
    return Claim(
        state=str(state),
        conduit=str(raw.get("conduit") or ""),
        at=_count(raw.get("at")),
        since=float(since) if isinstance(since, (int, float)) else 0.0,
        client=Owner.from_json(raw.get("client")),
        by=_count(raw.get("by")),
        sessions=tuple(session for session in sessions if isinstance(session, str)),
        offset=_count(raw.get("offset")),
        tries=_count(raw.get("tries")),
        stalls=_count(raw.get("stalls")),
        left=raw.get("left") is True,
    )


def _count(raw: object) -> int:
    return raw if isinstance(raw, int) and raw > 0 else 0


def _object(raw: object) -> dict[str, Any]:
    return dict(raw) if isinstance(raw, dict) else {}
