"""What happens to the sessions: people write, sessions answer, things are killed, suspended, cleared, and a disk fills.

Owns the order and the chance of it, all from one seed. Must not judge what came of it (`account.py`).
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

from agent_ways.attend import bus as buses
from agent_ways.attend import sending, trays
from agent_ways.base.errors import WaysError
from tests.soak.session import KINDS, Session
from tests.support.fake_client import ClientError

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

ACTS = {
    "person writes": 34,
    "session writes": 18,
    "session answers": 10,
    "prompt": 10,
    "tool": 7,
    "dialog": 3,
    "escape": 2,
    "clear": 2,
    "kill server": 2,
    "stop server": 1.5,
    "kill loop": 1,
    "kill client": 1.5,
    "suspend client": 1.5,
    "exit": 1,
}
"""How often each happens, against the others."""
HARM = ("clear", "kill server", "stop server", "kill client", "suspend client", "exit", "dialog", "escape", "kill loop")
CHANNEL = "#soak"
SPELL = 3.0
"""Seconds that the disk stays full."""


class Storm:
    """The sessions of one run, and what is yet to come: `later` holds acts with the time that they are due."""

    def __init__(self, root: str, count: int, chance: Random, *, disk: str | None) -> None:
        """`disk`: a small file system of its own that the state lies on; None where none can be mounted."""
        self.chance = chance
        self.disk = disk
        self.run = f"{os.getpid()}-{chance.randrange(1 << 30)}"
        self.bus = buses.open_bus({"HOME": os.path.join(root, "home")})
        self.done: Counter[str] = Counter()
        self.trouble: Counter[str] = Counter()
        self.accepted: set[str] = set()
        self.full = False
        self.later: list[tuple[float, Callable[[], None]]] = []
        calm = max(2, count // 8)
        self.sessions = [
            Session(root, number, KINDS[number % len(KINDS)], calm=number < calm, chance=chance, run=self.run)
            for number in range(count)
        ]
        self._acts: dict[str, Callable[[Session], None]] = {
            "session writes": self._session_writes,
            "session answers": self._session_answers,
            "prompt": self._prompt,
            "tool": self._tool,
            "dialog": self._dialog,
            "escape": self._escape,
            "clear": self._clear,
            "kill server": self._kill_server,
            "stop server": self._stop_server,
            "kill loop": self._kill_loop,
            "kill client": self._kill_client,
            "suspend client": self._suspend,
            "exit": self._exit,
        }

    def begin(self) -> None:
        """Every session starts; some join a channel."""
        for session in self.sessions:
            session.start()
        for session in self.sessions:
            if session.client is not None:
                session.client.wait_handshake(timeout=60)
                session.pump()
                if session.number % 2:
                    session.call("attend_join", {"channel": CHANNEL})

    def step(self) -> None:
        """One act of chance, and what is due."""
        self.due()
        self.look()
        names = list(ACTS)
        name = self.chance.choices(names, [ACTS[name] for name in names])[0]
        if name == "person writes":
            self._person_writes()
            return
        session = self.chance.choice(self.sessions)
        if session.calm and name in HARM:
            return
        try:
            self._acts[name](session)
        except ClientError as error:
            self.trouble[f"{name}: {str(error).splitlines()[0][:80]}"] += 1

    def due(self, *, all_of_it: bool = False) -> None:
        """Do what is due; `all_of_it`: everything that was put off."""
        now = time.monotonic()
        ripe = [one for one in self.later if all_of_it or one[0] <= now]
        self.later = [one for one in self.later if one not in ripe]
        for _, act in ripe:
            try:
                act()
            except ClientError as error:
                self.trouble[str(error).splitlines()[0][:80]] += 1

    def look(self) -> None:
        """Take in what was told; a model that heard a doorbell asks for its mail."""
        for session in self.sessions:
            session.pump()
            if session.to_read and session.serves and not session.dialog and not session.tool:
                session.read_inbox()
                self.done["inbox read"] += 1

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Put something off."""
        self.later.append((time.monotonic() + seconds, act))

    # ---- the person and the sessions

    def write(self, to: str) -> bool:
        """The person at a terminal writes; whether it was accepted."""
        body = f"{self.chance.randrange(1 << 40):x} " + "word " * self.chance.choice((1, 5, 40))
        try:
            sender = sending.human_sender(self.bus, "me", "/home/me")
            sent = sending.send(self.bus, sender, None, body, to=[to] if to else [])
        except WaysError as error:
            self.trouble[f"send refused: {type(error).__name__}"] += 1
            return False
        self.accepted.add(sent.signal.id)
        return True

    def _person_writes(self) -> None:
        to = self._address()
        for _ in range(self.chance.choice((1, 1, 1, 1, 1, 12))):
            if self.write(to):
                self.done["person writes"] += 1

    def _address(self) -> str:
        roll = self.chance.random()
        if roll < 0.04:
            return "*"
        if roll < 0.1:
            return CHANNEL
        session = self.chance.choice(self.sessions)
        return self.chance.choice(session.ids) if roll < 0.3 else session.id  # an id from before `/clear` too

    def _session_writes(self, session: Session) -> None:
        if not session.serves:
            return
        found = session.call(
            "attend_send", {"to": [self._address()], "body": f"from {session.number}: {time.time_ns()}"}
        )
        self._accepted("session writes", found and found.get("id"))

    def _session_answers(self, session: Session) -> None:
        if not session.serves or not session.shows:
            return
        found = session.call("attend_reply", {"re": list(session.shows)[-1], "body": f"yes {time.time_ns()}"})
        self._accepted("session answers", found and found.get("id"))

    def _accepted(self, name: str, signal_id: object) -> None:
        if isinstance(signal_id, str):
            self.accepted.add(signal_id)
            self.done[name] += 1
        else:
            self.trouble[f"{name}: refused"] += 1

    def _prompt(self, session: Session) -> None:
        if session.usable and session.client:
            session.client.type(f"go on {time.time_ns()}")
            self.done["prompt"] += 1

    def _tool(self, session: Session) -> None:
        """A tool of the client's own runs for a while: busy, and what comes meanwhile is absorbed with its result."""
        client = session.client
        if not session.usable or session.tool or session.dialog or client is None:
            return
        life, session.tool = session.life, client.begin_tool()

        def end() -> None:
            if session.usable and session.life == life and session.client and session.tool:
                tool, session.tool = session.tool, ""
                session.client.end_tool(tool)

        self.after(self.chance.uniform(0.1, 3), end)
        self.done["tool"] += 1

    def _dialog(self, session: Session) -> None:
        if not session.usable or session.dialog or session.tool or session.client is None:
            return
        session.dialog, life = True, session.life
        session.client.open_dialog()

        def close() -> None:
            if session.usable and session.life == life and session.client:
                session.dialog = False
                session.client.close_dialog()

        self.after(self.chance.uniform(0.2, 8), close)
        self.done["dialog"] += 1

    def _escape(self, session: Session) -> None:
        if session.usable and session.client:
            session.tool = ""
            session.client.interrupt()
            self.done["escape"] += 1

    def _clear(self, session: Session) -> None:
        if session.usable and not session.dialog and not session.tool:
            session.clear()
            self.done["clear"] += 1

    # ---- harm

    def _kill_server(self, session: Session) -> None:
        if session.serves and session.client:
            session.client._server_handles[session.server_pid].kill()
            self.after(self.chance.uniform(0.2, 6), lambda: self._again(session))
            self.done["kill server"] += 1

    def _again(self, session: Session) -> None:
        session.pump()
        if session.usable and not session.server_lives:
            session.restart_server()

    def _stop_server(self, session: Session) -> None:
        client = session.client
        if not session.serves or client is None:
            return
        handle, pid, session.server_stopped = client._server_handles[session.server_pid], session.server_pid, True
        handle.send_signal(signal.SIGSTOP)

        def go_on() -> None:
            if session.client is client:
                handle.send_signal(signal.SIGCONT)
                if session.server_pid == pid:
                    session.server_stopped = False

        self.after(self.chance.uniform(0.3, 7), go_on)
        self.done["stop server"] += 1

    def _kill_loop(self, session: Session) -> None:
        if session.usable and session.kill_loop():
            life = session.life
            self.after(
                self.chance.uniform(0.2, 8),
                lambda: session.start_loop() if session.usable and session.life == life else None,
            )
            self.done["kill loop"] += 1

    def _kill_client(self, session: Session) -> None:
        if session.usable:
            session.kill()
            self._resume(session)
            self.done["kill client"] += 1

    def _exit(self, session: Session) -> None:
        if session.usable:
            session.exit()
            self._resume(session)
            self.done["exit"] += 1

    def _resume(self, session: Session) -> None:
        self.after(self.chance.uniform(0.2, 10), lambda: session.start() if session.client is None else None)

    def _suspend(self, session: Session) -> None:
        """ctrl-Z: the client stands still, its server does not."""
        client = session.client
        if not session.usable or client is None:
            return
        session.frozen = True
        client.freeze()

        def thaw() -> None:
            if session.client is client:
                client.thaw()
                session.frozen = False

        self.after(self.chance.uniform(0.3, 9), thaw)
        self.done["suspend client"] += 1

    # ---- the disk

    def fill_disk(self) -> None:
        """Leave no byte free for some seconds."""
        if self.disk is None or self.full:
            return
        self.full = True
        path = os.path.join(self.disk, "filler")
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            while os.write(fd, b"x" * 4096):
                pass
        except OSError:
            pass
        os.close(fd)

        def free() -> None:
            os.unlink(path)
            self.full = False

        self.after(SPELL, free)
        self.done["full disk"] += 1

    # ---- the end

    def settle(self, patience: float) -> None:
        """Everything goes on that stood still, everyone is back, and all mail is given the time to arrive."""
        self.due(all_of_it=True)
        for session in self.sessions:
            if session.client is None:
                session.start()
            session.pump()
            if session.client and session.tool:
                session.tool = ""
                session.client.interrupt()
            if not session.server_lives:
                session.restart_server()
        end = time.monotonic() + patience
        asked = time.monotonic() + min(12.0, patience / 3)
        while time.monotonic() < end:
            self.due()
            self.look()
            waiting = [session for session in self.sessions if self.waits(session)]
            if not waiting:
                return
            for session in waiting:
                if session.client and session.kind == "drain":
                    session.client.type(f"anything new? {time.time_ns()}")
                if time.monotonic() > asked and session.serves:
                    session.to_read = True  # what is left to the inbox, or lies behind a guard, is read there
            time.sleep(0.5)

    def waits(self, session: Session) -> bool:
        """Whether addressed mail waits that was not shown or read."""
        known = session.shows.keys() | session.reads
        return any(slip.addressed and slip.id not in known for slip in trays.waiting(self.bus.root, session.id))
