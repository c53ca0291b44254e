"""The one record that keepalive keeps of a session (KA-7), as a frozen value and as JSON.

Owns its fields and its form on disk, version 1; keys that this version does not know are kept. Must not know files
(`store.py`) nor when what changes (`moves.py`).
"""

from __future__ import annotations

from agent_ways.base.errors import DamagedRecordError
from agent_ways.base.process import Owner
from agent_ways.base.values import Value
from agent_ways.keepalive.situation import Proof, Sight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

VERSION = 1

PING, WRAP = "ping", "wrap"

INTENT = "intent"
"""Written before the push; the push may or may not have happened."""
ARRIVED = "arrived"
"""In the client's queue."""
PROVEN = "proven"
"""Given to the model: the transcript says so."""
UNTRACED = "untraced"
"""Pushed by a server that watched, and no trace in the time given: not delivered. May be tried once more."""
LOST = "lost"
"""No trace, and nobody watched all the time: it is not known what became of it. Never sent again."""
STATES = (INTENT, ARRIVED, PROVEN, UNTRACED, LOST)

WARM, COLD, UNKNOWN = "warm", "cold", "unknown"


class Attempt(Value):
    """One event, from its intent on, over all its tries. Times are ms; `at_ms` and `awake_ms` are the last try's.

    `owner` is the process that wrote the intent, `conduits` those that were tried, in order. `operator_ms` is the
    prompt that it was sent for, `request_ms` the last request before it and `context_tokens` that one's context. A ping
    has a `verdict` once its answer's usage was read back (KA-4): `read_tokens` of the context came from the cache.
    """

    __slots__ = (
        "at_ms",
        "awake_ms",
        "boot",
        "conduits",
        "context_tokens",
        "id",
        "kind",
        "operator_ms",
        "owner",
        "proof",
        "read_tokens",
        "reason",
        "request_ms",
        "rest",
        "state",
        "verdict",
    )

    def __init__(
        self,
        *,
        kind: str,
        id: str,  # noqa: A002  # the field's name on disk
        state: str,
        at_ms: int,
        awake_ms: int,
        boot: str,
        owner: Owner,
        conduits: tuple[str, ...],
        operator_ms: int | None = None,
        request_ms: int | None = None,
        context_tokens: int | None = None,
        proof: Proof | None = None,
        verdict: str = "",
        read_tokens: int | None = None,
        reason: str = "",
        rest: dict[str, Any] | None = None,
    ) -> None:
        self.kind: Final = kind
        self.id: Final = id
        self.state: Final = state
        self.at_ms: Final = at_ms
        self.awake_ms: Final = awake_ms
        self.boot: Final = boot
        self.owner: Final = owner
        self.conduits: Final = conduits
        self.operator_ms: Final = operator_ms
        self.request_ms: Final = request_ms
        self.context_tokens: Final = context_tokens
        self.proof: Final = proof
        self.verdict: Final = verdict
        self.read_tokens: Final = read_tokens
        self.reason: Final = reason
        self.rest: Final = rest or {}


class Down(Value):
    """A conduit that left no trace of an event: not used again by `owner`, the server process that saw it (KA-3)."""

    __slots__ = ("conduit", "owner", "reason")

    def __init__(self, *, conduit: str, owner: Owner, reason: str) -> None:
        self.conduit: Final = conduit
        self.owner: Final = owner
        self.reason: Final = reason


class Record(Value):
    """What is remembered of one session.

    `operator_ms` is the operator's last act, which the window and the budget count from (T in KA-7). Since then:
    `tries` pings were pushed, `pings` of them are proven, and those read back cost `tokens` (in fresh input tokens).
    `act_line` is the transcript's line of that act, None while only the history tells of it; `operator_line` the last
    line of the operator's that was seen. `passed_ms` is a later time that was on record before the clock was set back.
    `stopped` is the reason why nothing more is pushed until the operator types, empty as a rule.
    `armed` and `window_ms` are what the config said last, for the status line, which reads no config.
    """

    __slots__ = (
        "act_line",
        "armed",
        "down",
        "operator_line",
        "operator_ms",
        "operator_sight",
        "passed_ms",
        "ping",
        "pings",
        "request_sight",
        "rest",
        "session",
        "stopped",
        "tokens",
        "tries",
        "window_ms",
        "wrap",
    )

    def __init__(
        self,
        *,
        session: str,
        operator_ms: int | None = None,
        operator_line: int = -1,
        act_line: int | None = None,
        passed_ms: int | None = None,
        tries: int = 0,
        pings: int = 0,
        tokens: int = 0,
        ping: Attempt | None = None,
        wrap: Attempt | None = None,
        stopped: str = "",
        down: tuple[Down, ...] = (),
        request_sight: Sight | None = None,
        operator_sight: Sight | None = None,
        armed: bool = False,
        window_ms: int = 0,
        rest: dict[str, Any] | None = None,
    ) -> None:
        self.session: Final = session
        self.operator_ms: Final = operator_ms
        self.operator_line: Final = operator_line
        self.act_line: Final = act_line
        self.passed_ms: Final = passed_ms
        self.tries: Final = tries
        self.pings: Final = pings
        self.tokens: Final = tokens
        self.ping: Final = ping
        self.wrap: Final = wrap
        self.stopped: Final = stopped
        self.down: Final = down
        self.request_sight: Final = request_sight
        self.operator_sight: Final = operator_sight
        self.armed: Final = armed
        self.window_ms: Final = window_ms
        self.rest: Final = rest or {}

    @property
    def closes_ms(self) -> int | None:
        """When the window closes by the wall clock, None where no prompt is known."""
        return None if self.operator_ms is None else self.operator_ms + self.window_ms

    def to_json(self) -> dict[str, Any]:
        """The form on disk."""
        return {
            **self.rest,
            "v": VERSION,
            **{name: getattr(self, name) for name in _PLAIN},
            "ping": _attempt_json(self.ping),
            "wrap": _attempt_json(self.wrap),
            "down": [
                {"conduit": down.conduit, "owner": down.owner.to_json(), "reason": down.reason} for down in self.down
            ],
            "request_sight": _fields(self.request_sight),
            "operator_sight": _fields(self.operator_sight),
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any], path: str = "the keepalive record") -> Record:
        """The record in what was read; raises `DamagedRecordError` where a field is not what it should be."""
        told = _Told(raw, path)
        return cls(
            session=told.text("session"),
            operator_ms=told.number("operator_ms"),
            operator_line=told.count("operator_line"),
            act_line=told.number("act_line"),
            passed_ms=told.number("passed_ms"),
            tries=told.count("tries"),
            pings=told.count("pings"),
            tokens=told.count("tokens"),
            ping=_attempt(told.part("ping")),
            wrap=_attempt(told.part("wrap")),
            stopped=told.text("stopped"),
            down=tuple(
                Down(conduit=one.text("conduit"), owner=one.owner("owner"), reason=one.text("reason"))
                for one in told.parts("down")
            ),
            request_sight=_sight(told.part("request_sight")),
            operator_sight=_sight(told.part("operator_sight")),
            armed=told.flag("armed"),
            window_ms=told.count("window_ms"),
            rest={key: value for key, value in raw.items() if key != "v" and key not in cls.__slots__},
        )


_PLAIN = (
    "session",
    "armed",
    "window_ms",
    "operator_ms",
    "operator_line",
    "act_line",
    "passed_ms",
    "tries",
    "pings",
    "tokens",
    "stopped",
)


def _fields(value: Value | None) -> dict[str, Any] | None:
    return None if value is None else {name: getattr(value, name) for name in value.__slots__}


def _attempt_json(attempt: Attempt | None) -> dict[str, Any] | None:
    if attempt is None:
        return None
    fields = _fields(attempt) or {}
    del fields["rest"]
    return {
        **attempt.rest,
        **fields,
        "owner": attempt.owner.to_json(),
        "conduits": list(attempt.conduits),
        "proof": _fields(attempt.proof),
    }


def _attempt(told: _Told | None) -> Attempt | None:
    if told is None:
        return None
    proof = told.part("proof")
    return Attempt(
        kind=told.one_of("kind", (PING, WRAP)),
        id=told.text("id"),
        state=told.one_of("state", STATES),
        at_ms=told.count("at_ms"),
        awake_ms=told.count("awake_ms"),
        boot=told.text("boot"),
        owner=told.owner("owner"),
        conduits=told.texts("conduits"),
        operator_ms=told.number("operator_ms"),
        request_ms=told.number("request_ms"),
        context_tokens=told.number("context_tokens"),
        proof=None
        if proof is None
        else Proof(kind=proof.text("kind"), at_ms=proof.number("at_ms"), line=proof.count("line")),
        verdict=told.one_of("verdict", ("", WARM, COLD, UNKNOWN)),
        read_tokens=told.number("read_tokens"),
        reason=told.text("reason"),
        rest={key: value for key, value in told.raw.items() if key not in Attempt.__slots__},
    )


def _sight(told: _Told | None) -> Sight | None:
    if told is None:
        return None
    return Sight(
        stamp_ms=told.count("stamp_ms"),
        age_ms=told.number("age_ms"),
        wall_ms=told.count("wall_ms"),
        steady_ms=told.number("steady_ms"),
        boot=told.text("boot"),
    )


class _Told:
    """One object of the record, read strictly: of a record that is half understood nothing may be concluded."""

    __slots__ = ("_path", "raw")

    def __init__(self, raw: dict[str, Any], path: str) -> None:
        self.raw: Final = raw
        self._path: Final = path

    def _wrong(self, key: str) -> DamagedRecordError:
        return DamagedRecordError(
            f"{self._path} is damaged: {key} is {ascii(self.raw.get(key))[:60]}", "Move it aside; a new one is made."
        )

    def text(self, key: str) -> str:
        value = self.raw.get(key)
        if not isinstance(value, str):
            raise self._wrong(key)
        return value

    def number(self, key: str) -> int | None:
        return None if self.raw.get(key) is None else self.count(key)

    def count(self, key: str) -> int:
        value = self.raw.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(key)
        return value

    def flag(self, key: str) -> bool:
        value = self.raw.get(key)
        if not isinstance(value, bool):
            raise self._wrong(key)
        return value

    def one_of(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.raw.get(key)
        if value not in choices:
            raise self._wrong(key)
        return str(value)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.raw.get(key)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong(key)
        return tuple(value)

    def owner(self, key: str) -> Owner:
        found = Owner.from_json(self.raw.get(key))
        if found is None:
            raise self._wrong(key)
        return found

    def part(self, key: str) -> _Told | None:
        value = self.raw.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._wrong(key)
        return _Told(value, self._path)

    def parts(self, key: str) -> list[_Told]:
        value = self.raw.get(key)
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self._wrong(key)
        return [_Told(one, self._path) for one in value]
