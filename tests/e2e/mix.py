"""Messages at random moments of a session's life, each of which its model must be given exactly once.

    python -m tests.e2e.mix [messages per conduit and client, 200] [seed] [channel | "inbox socket" | loop]...

Owns the situations and the count. How often a message was given is read from the API requests; whether what
agent-ways says of it agrees, from its own state. Sleeping is the point here: the moments are what is varied.
"""

from __future__ import annotations

import functools
import json
import os
import random
import re
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.e2e import inside, needs
from tests.e2e.attend.mail import MONITOR, TOOL, Mail
from tests.e2e.attend.sender import Sender
from tests.e2e.clients import tracked
from tests.e2e.lab import CHANNEL_FLAG, Lab
from tests.e2e.waiting import TooLongError, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.clients import Client
    from tests.e2e.lab import Session
    from tests.e2e.stub_api import ApiRequest

FLAGS = {"channel": CHANNEL_FLAG, "inbox socket": (), "loop": ()}
"""The launch flags by what then brings a message to an idle session; the model starts the loop first."""
LOOP = "loop"
DOORBELL = f'CALL:{TOOL}inbox:{{"unseen":true}}'
TOOL_CALL = "CALL:Bash:" + json.dumps({"command": "sleep 0.6"})
ASKS = "CALL:Bash:" + json.dumps({"command": "touch asked"})

_GIVEN = re.compile(r"\[attend signal (\S+) |\[attend waiting ([^\]]*)\]")


@dataclass
class Told:
    """What came of a message: the situation and the moment it was sent at, how often it was given, its state."""

    signal: str
    situation: str
    moment: float
    given: int = 0
    state: str = ""

    @property
    def good(self) -> bool:
        return (self.given, self.state) in ((1, "seen"), (0, "queued"))


@dataclass
class Mix:
    """One session, one person who writes to it, and chance."""

    lab: Lab
    session: Session
    mail: Mail
    chance: random.Random
    told: list[Told] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._counts = Counts()

    def run(self, count: int) -> list[Told]:
        """Send `count` messages, one in each situation in turn; what came of each."""
        sender = Sender(self.lab)
        for number in range(count):
            name, situation = list(SITUATIONS.items())[number % len(SITUATIONS)]
            self.session.wait_at_rest()
            moment = situation(self, functools.partial(self._send, sender, number))
            self.told[-1].situation, self.told[-1].moment = name, moment
            signal = self.told[-1].signal
            try:
                until(f"{signal}, sent in: {name}", lambda its=signal: self._given(its), patience=15)  # type: ignore[misc]
            except TooLongError:
                continue  # it may still wait; the count at the end says so
        for one in self.told:
            one.state = self._settled(one.signal)
            one.given = self._given(one.signal)
        return self.told

    def _send(self, sender: Sender, number: int) -> None:
        signal, _, _ = sender.send(self.session.id, f"SAY:number {number}")
        self.told.append(Told(signal, "", 0.0))

    def _given(self, signal: str) -> int:
        return self._counts.of(self.lab.api.requests, signal)

    def _settled(self, signal: str) -> str:
        try:
            return str(self.mail.wait_state(signal, "seen")["state"])
        except AssertionError:
            return self.mail.state(signal)

    # -- for the situations

    def pause(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def around(self, send: Callable[[], None], act: Callable[[], object], earliest: float, latest: float) -> float:
        """Send at a random moment around an act: seconds after it began, negative for before."""
        moment = self.chance.uniform(earliest, latest)
        if moment < 0:
            send()
            self.pause(-moment)
            act()
        else:
            act()
            self.pause(moment)
            send()
        return moment

    def enter(self) -> None:
        self.session.terminal.press("Enter")


class Counts:
    """How often each message came into a conversation; looks at each request once."""

    def __init__(self) -> None:
        self._looked = 0
        self._last: dict[str, dict[str, int]] = {}
        self._total: dict[str, int] = {}

    def of(self, requests: list[ApiRequest], signal: str) -> int:
        while self._looked < len(requests):
            request = requests[self._looked]
            self._looked += 1
            if request.is_turn:
                self._take(request)
        return self._total.get(signal, 0)

    def _take(self, request: ApiRequest) -> None:
        """A request holds the whole conversation so far: what it holds more of than the one before it is new."""
        now: dict[str, int] = {}
        for text in request.texts():
            for whole, named in _GIVEN.findall(text):
                for signal in [whole] if whole else named.split(" "):
                    now[signal] = now.get(signal, 0) + 1
        before = self._last.get(request.session, {})
        for signal, count in now.items():
            self._total[signal] = self._total.get(signal, 0) + max(0, count - before.get(signal, 0))
        self._last[request.session] = now


def enter_race(mix: Mix, send: Callable[[], None]) -> float:
    mix.session.terminal.write("SAY:typed")
    return mix.around(send, mix.enter, -0.2, 0.3)


def streaming(mix: Mix, send: Callable[[], None]) -> float:
    mix.session.terminal.write("SLEEP:0.7 SAY:streamed")
    return mix.around(send, mix.enter, 0.1, 1.1)


def tool(mix: Mix, send: Callable[[], None]) -> float:
    mix.session.terminal.write(TOOL_CALL)
    return mix.around(send, mix.enter, 0.1, 1.3)


def clear_while_busy(mix: Mix, send: Callable[[], None]) -> float:
    mix.session.terminal.type(TOOL_CALL)
    old = mix.session.id
    mix.session.terminal.write("/clear")
    moment = mix.around(send, mix.enter, -0.3, 0.9)
    until("the clear", lambda: mix.session.id != old, instead=mix.session.terminal.screen)
    return moment


def clear_race(mix: Mix, send: Callable[[], None]) -> float:
    old = mix.session.id
    mix.session.terminal.write("/clear")
    moment = mix.around(send, mix.enter, -0.3, 0.3)
    until("the clear", lambda: mix.session.id != old, instead=mix.session.terminal.screen)
    return moment


def permission_prompt(mix: Mix, send: Callable[[], None]) -> float:
    mix.session.terminal.write(ASKS)
    moment = mix.around(send, mix.enter, 0.0, 0.8)
    mix.session.terminal.until("the permission prompt", lambda screen: "Do you want" in screen)
    mix.pause(mix.chance.uniform(0.0, 0.4))
    mix.session.terminal.press_until(mix.chance.choice(["Escape", "Enter"]), lambda screen: "Do you want" not in screen)
    return moment


SITUATIONS: dict[str, Callable[[Mix, Callable[[], None]], float]] = {
    "Enter race": enter_race,
    "streaming": streaming,
    "tool": tool,
    "/clear while busy": clear_while_busy,
    "/clear race": clear_race,
    "permission prompt": permission_prompt,
}


def mixed(client: Client, conduit: str, count: int, seed: int, ways_mcp: str) -> list[Told]:
    """What came of `count` messages to a session that `conduit` wakes, at moments that `seed` decides."""
    with Lab(client) as lab:
        mail = Mail.set_up(lab, ways_mcp, "Bash(sleep *)", "Bash(attend run)", "Monitor(*)")
        lab.api.habits["[attend waiting "] = DOORBELL
        session = lab.start(*FLAGS[conduit])
        session.say("SAY:here")
        if conduit == LOOP:
            session.call("Monitor", MONITOR)
            until("a loop that perceives", lambda: mail.reached(session, "loop") == "yes")
        return Mix(lab, session, mail, random.Random(seed)).run(count)  # noqa: S311 - moments, no secret


def program(argv: list[str]) -> int:
    count = int(argv[0]) if argv else 200
    seed = int(argv[1]) if argv[1:] else random.SystemRandom().randrange(1 << 30)
    sys.stdout.write(f"{count} messages per conduit and client, seed {seed}\n")
    bad = 0
    for client in tracked(dict(os.environ)):
        for conduit in argv[2:] or FLAGS:
            told = mixed(client, conduit, count, seed, needs.product(dict(os.environ)))
            wrong = [one for one in told if not one.good]
            bad += len(wrong)
            seen = sum(one.state == "seen" and one.good for one in told)
            waiting = sum(one.state == "queued" and one.good for one in told)
            sys.stdout.write(f"{client}  {conduit:<13} given once {seen}, still queued {waiting}, else {len(wrong)}\n")
            sys.stdout.writelines(f"    {one}\n" for one in wrong)
            sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(inside.run("tests.e2e.mix", program, sys.argv[1:]))
