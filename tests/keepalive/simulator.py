"""Days in milliseconds: one session, its client, its prompt cache and the processes that keep it warm.

Owns a world with a true time, of which the wall clock, the two monotonic clocks and the cache's age are seen only
through what the product sees. It plays the client (turns, queue, dialogs, `/clear`, compaction) and drives the real
`Keeper`. Every push is held to what may never happen, by the true time, at the moment of the push. Times are ms.
"""

from __future__ import annotations

import heapq
import itertools
import json
from typing import TYPE_CHECKING

from agent_ways.base.process import Owner
from agent_ways.claude.cache import FIVE_MINUTES, HOUR, CacheEvidence
from agent_ways.claude.idle import Idle
from agent_ways.keepalive.keeper import Keeper
from agent_ways.keepalive.moves import quiet
from agent_ways.keepalive.record import Record
from agent_ways.keepalive.situation import Clock, Conduits, Proof, Settings, Situation, Trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_ways.keepalive.events import Event
    from agent_ways.keepalive.keeper import Step

S, MIN, H = 1_000, 60_000, 3_600_000
EPOCH = 1_796_040_000_000
TTL = {HOUR: H, FIVE_MINUTES: 5 * MIN}


class Crash(BaseException):
    """The process that hosts the keeper dies on the spot."""


class Request:
    """One answered request of the main thread, and when its answer can be read."""

    def __init__(self, *, true: int, stamp: int, tier: str, context: int, read: int, readable: int) -> None:
        self.true = true
        self.stamp = stamp
        self.readable = readable
        self.evidence = CacheEvidence(
            last_request_ms=stamp,
            tier=tier,
            context_tokens=context,
            last_read_tokens=read,
            last_write_tokens=context - read,
        )


def _in_order(requests: list[Request]) -> list[Request]:
    """Without those whose stamp is later than that of a request written after them, as `look` leaves out rows."""
    kept: list[Request] = []
    for one in reversed(requests):
        if not kept or one.stamp <= kept[-1].stamp + MIN:
            kept.append(one)
    return kept[::-1]


class Talk:
    """What the files say of one session id."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.requests: list[Request] = []
        self.history: int | None = None
        self.typed: list[tuple[int, int]] = []  # (line, stamp) of human rows in the transcript
        self.compacted_at = -1
        self.arrived: dict[str, int] = {}  # event -> true time from which it can be read
        self.given: dict[str, tuple[int, int]] = {}  # event -> (readable, stamp)
        self.answered: dict[str, Request] = {}


class Server:
    """One process that hosts a keeper."""

    def __init__(self, world: World, pid: int) -> None:
        self.world = world
        self.owner = Owner(host="here", boot=world.boot, namespace="", pid=pid, start=str(pid))
        self.keeper = Keeper(self, world, self._push, new_id=world.new_id)
        self.look_at_awake = world.awake  # when the next look is due, by the clock that timers use
        self.steps: list[Step] = []
        self.dead = False

    # Eyes
    def session(self) -> str:
        return self.world.talk.name

    def still_idle(self, session: str) -> bool:
        return session == self.world.talk.name and self.world.idle

    def look(self, record: Record | None) -> Situation:
        return self.world.look(self.owner, record)

    def _push(self, conduit: str, event: Event) -> str:
        return self.world.push(conduit, event)

    def step(self) -> None:
        if self.world.idle:
            self.world.rested_true = self.world.true
        step = self.keeper.step(self.world.settings)
        self.steps = [*self.steps[-3:], step]
        after = step.after_ms if step.after_ms is not None else self.world.settings.tick_ms
        if self.world.leap:  # nothing else changes the answer: look no more often than the judge asks for
            due = step.answer.after_ms
            after = min(after, due) if due is not None and due <= after else max(after, due or 10 * MIN)
        self.look_at_awake = self.world.awake + after


class World:
    """See the module's docstring. `do(at, act)` plans an act; `run(until)` plays."""

    def __init__(
        self,
        *,
        settings: Settings | None = None,
        tier: str = HOUR,
        conduits: tuple[str, ...] = ("channel", "inbox_socket"),
        leap: bool = False,
    ) -> None:
        self.settings = settings or Settings(armed=True)
        self.tier = tier
        self.usable = conduits
        self.swallowing: set[str] = set()
        self.refusing: set[str] = set()
        self.leap = leap
        self.true = 0
        self.slept = 0
        self.stepped = 0
        self.set_back = False
        self.boot = "boot-1"
        self.steady_known = True
        self.context = 50_000
        self.turn_lasts = 4 * S
        self.longest_turn = 0
        self.busy_until = 0
        self.dialog = False
        self.stopped = False
        self.stops_at_push = False
        self.pipe: list[str] = []  # what was pushed at a stopped client
        self.api_down = False
        self.cache_lost = False  # the API lost it, where nobody can see
        self.talk = Talk("session-1")
        self.queue: list[str] = []  # events, and "" for what is none of ours
        self.crash_next = ""  # "before" or "after" the push is delivered
        self.records: dict[str, str] = {}
        self._parsed: dict[str, Record] = {}
        self.saves = 0
        self._ids = itertools.count(1)
        self._lines = itertools.count(0, 100)
        self._order = itertools.count()
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self.pushes: list[tuple[int, str, str]] = []  # (true, kind, conduit) of every push
        self.delivered: list[tuple[int, str, str]] = []  # (true, kind, id) of those that came through
        self.mail: list[tuple[int, bool]] = []  # (true, given)
        self.typed_true: int | None = None
        self.rested_true = 0  # the last look that found the session at rest
        self.unrested = 0  # how long there had been none when the operator acted last
        self.wraps = 0  # delivered since the operator's last act
        self.pings = 0
        self.pings_of_stretch = 0
        self.crashed = False
        self._pids = itertools.count(100)
        self.servers = [Server(self, next(self._pids))]

    # Clocks
    @property
    def wall(self) -> int:
        return EPOCH + self.true + self.stepped

    @property
    def awake(self) -> int:
        return 7 * H + self.true - self.slept

    def clock(self) -> Clock:
        steady = 9 * H + self.true if self.steady_known else None
        return Clock(wall_ms=self.wall, awake_ms=self.awake, steady_ms=steady, boot=self.boot)

    # The store, with the form on disk in between
    def read(self, session: str) -> Record | None:
        text = self.records.get(session)
        if text is None:
            return None
        if text not in self._parsed:
            self._parsed = {text: Record.from_json(json.loads(text))}  # the same text again is the same record
        return self._parsed[text]

    def change(self, session: str, change: Callable[[Record | None], Record | None]) -> None:
        before = self.read(session)
        after = change(before)
        if after is not None and after != before:
            self.records[session] = json.dumps(after.to_json())
            self.saves += 1

    @property
    def record(self) -> Record:
        found = self.read(self.talk.name)
        assert found is not None
        return found

    def new_id(self) -> str:
        return f"{next(self._ids):016x}"

    # What there is to see
    @property
    def busy(self) -> bool:
        return self.true < self.busy_until

    @property
    def idle(self) -> bool:
        return not self.busy and not self.dialog and not self.stopped

    def look(self, owner: Owner, record: Record | None) -> Situation:
        talk = self.talk
        readable = _in_order([one for one in talk.requests if one.readable <= self.true])
        newest = max(readable, key=lambda one: one.stamp, default=None)
        cache = newest.evidence if newest else CacheEvidence(reason="no answered request")
        if newest and talk.compacted_at >= newest.true:
            cache = CacheEvidence(reason="the conversation was compacted after its last request")
        line, typed = talk.typed[-1] if talk.typed else (-1, None)
        attempts = [] if record is None else [one for one in (record.ping, record.wrap) if one is not None]
        why = "waiting for: dialog open" if self.dialog else "busy"
        return Situation(
            clock=self.clock(),
            session=talk.name,
            owner=owner,
            idle=Idle(not self.busy and not self.dialog, "idle" if self.idle else why),
            cache=cache,
            conduits=Conduits(self.usable, "" if self.usable else "no launch flag and no inbox socket"),
            history_ms=talk.history,
            typed_ms=typed,
            typed_line=line,
            traces=tuple((one.id, self._trace(one.id)) for one in attempts),
            stopped=self.stopped,
        )

    def _trace(self, event: str) -> Trace:
        talk = self.talk
        arrived = talk.arrived.get(event, self.true + 1) <= self.true
        readable, stamp = talk.given.get(event, (self.true + 1, 0))
        if readable > self.true:
            return Trace(arrived=arrived)
        answer = talk.answered.get(event)
        seen = answer is not None and answer.readable <= self.true
        return Trace(
            arrived=True,
            proof=Proof(kind="channel", at_ms=stamp, line=7),
            answer=answer.evidence if answer is not None and seen else None,
            compacted=answer is not None and talk.compacted_at >= readable,
        )

    # What happens
    def do(self, at: int, act: Callable[[], None]) -> World:
        heapq.heappush(self._agenda, (at, next(self._order), act))
        return self

    def run(self, until: int) -> World:
        while self.true < until:
            looks = [self.true + max(0, one.look_at_awake - self.awake) for one in self.servers]
            times = [until, *looks, *([self._agenda[0][0]] if self._agenda else [])]
            if self.busy:
                times.append(self.busy_until)
            self.true = max(self.true, min(times))
            if not self.busy and self.queue and not self.dialog and not self.stopped:
                self._turn(self.queue.pop(0))
            while self._agenda and self._agenda[0][0] <= self.true:
                heapq.heappop(self._agenda)[2]()
            for server in list(self.servers):
                if server.look_at_awake <= self.awake:
                    self._step(server)
        return self

    def _step(self, server: Server) -> None:
        try:
            server.step()
        except Crash:
            self.crashed = True
            self.servers.remove(server)
            self.do(self.true + 20 * S, self.start_server)

    def start_server(self) -> None:
        """Another server of this session begins."""
        self.servers.append(Server(self, next(self._pids)))

    def restart(self) -> None:
        """Every server ends, and a new one begins."""
        self.servers.clear()
        self.start_server()

    def types(self, same: bool = False) -> None:
        """The operator types. The history skips a prompt that is the same as the one before."""
        self._acts(history=not same, row=True)
        if self.busy:
            self.queue.append("")
        elif not self.dialog:
            self._turn("")

    def _acts(self, *, history: bool, row: bool) -> None:
        if history or self.talk.history is None:
            self.talk.history = max(self.wall, self.talk.history or 0)
        if row:
            self.talk.typed.append((next(self._lines), self.wall))
        self.typed_true = self.true
        self.unrested = self.true - self.rested_true
        self.wraps = self.pings = 0

    def gets_mail(self) -> None:
        """Addressed mail for the session: given at once, unless the session is quiet."""
        saved = self.read(self.talk.name)
        stamps = [stamp for _, stamp in self.talk.typed]
        held = quiet(saved, max(stamps, default=None))
        if self.wraps:
            assert held, "mail after a wrap, before the operator typed"
        self.mail.append((self.true, not held))
        if not held and self.idle:
            self._turn("")

    def suspend(self, lasts: int) -> None:
        """The machine sleeps."""
        self.true += lasts
        self.slept += lasts

    def step_clock(self, by: int) -> None:
        """Somebody sets the wall clock."""
        self.stepped += by
        self.set_back = self.set_back or by < 0

    def clear(self) -> None:
        """The operator clears the conversation: another session id in the same process."""
        self._acts(history=True, row=False)
        self.typed_true = None
        self.talk = Talk(f"session-{next(self._ids) + 1000}")
        self.pings_of_stretch = 0
        self.context = 20_000

    def compact(self) -> None:
        """The conversation is compacted: what the cache holds is of no more use."""
        if self.idle:
            self.talk.compacted_at = self.true
            self.context = 5_000

    @property
    def warm(self) -> bool:
        last = self.talk.requests[-1] if self.talk.requests else None
        if last is None or self.talk.compacted_at >= last.true:
            return False
        return self.true - last.true < TTL[last.evidence.tier or HOUR]

    def _turn(self, event: str) -> None:
        self.busy_until = self.true + self.turn_lasts
        self.longest_turn = max(self.longest_turn, self.turn_lasts)
        talk = self.talk
        if event:
            talk.given[event] = (self.true + 200, self.wall)
        if self.api_down:
            return
        read = self.context if self.warm and not self.cache_lost else 0
        self.context += 500
        request = Request(
            true=self.true + 100,
            stamp=self.wall + 100,
            tier=self.tier,
            context=self.context,
            read=read,
            readable=self.busy_until,
        )
        talk.requests.append(request)
        self.pings_of_stretch = 0
        if event:
            talk.answered[event] = request

    def push(self, conduit: str, event: Event) -> str:
        """The conduit of the product's push, and the judge of the product's judge."""
        self._allowed(conduit, event)
        self.pushes.append((self.true, event.kind, conduit))
        crash, self.crash_next = self.crash_next, ""
        if crash == "before":
            raise Crash
        if conduit in self.refusing:
            return "nobody listens there"
        if conduit not in self.swallowing:
            self._deliver(event)
        if crash == "after":
            raise Crash
        return ""

    def _deliver(self, event: Event) -> None:
        self.delivered.append((self.true, event.kind, event.id))
        self.talk.arrived[event.id] = self.true + 100
        if event.kind == "wrap":
            self.wraps += 1
            assert self.wraps == 1, "two wraps for one prompt"
        else:
            self.pings += 1
            self.pings_of_stretch += 1
            assert self.pings_of_stretch == 1, "two pings in one idle stretch"
            assert self.pings * 100 <= self.settings.limit(self.tier), "the spend limit was passed"
        if self.stops_at_push:
            self.stops_at_push, self.stopped = False, True
        if self.stopped:
            del self.talk.arrived[event.id]
            self.pipe.append(event.id)
        elif self.idle:
            self._turn(event.id)
        else:
            self.queue.append(event.id)

    def continues(self) -> None:
        """The client runs again, and reads what waited in its pipes."""
        self.stopped = False
        for event in self.pipe:
            self.talk.arrived[event] = self.true + 100
        self.queue += self.pipe
        self.pipe = []

    def _allowed(self, conduit: str, event: Event) -> None:
        assert self.settings.armed, "a push while unarmed"
        assert conduit in self.usable, "a push without a conduit"
        assert self.idle, "a push into a session that is not idle"
        assert self.warm, "an expired cache was woken"
        assert self.wraps == 0, "a push after the wrap"
        assert self.typed_true is not None, "a push before the operator ever typed"
        typed = self.true - self.typed_true
        if event.kind == "ping":
            assert typed < self.settings.window_ms, "a ping after the window closed"
        else:
            apparent = self.wall - self.talk.typed[-1][1]  # by the wall clock, which may have been set since
            # A prompt that came with no look at rest since the clock was set back may be taken for as old as that look.
            early = self.settings.tick_ms + max(self.longest_turn, self.unrested) if self.set_back else 0
            assert max(typed, apparent) >= self.settings.window_ms - early, "a wrap in an open window"

    # What came of it
    def kinds(self) -> list[str]:
        """The kinds of the events that came through, in order."""
        return [kind for _, kind, _ in self.delivered]

    def answer(self) -> str:
        """The reason that the first server's judge gave last."""
        return self.servers[0].steps[-1].answer.reason

    def rule(self) -> str:
        """The rule by which the first server's judge answered last."""
        return self.servers[0].steps[-1].answer.rule
