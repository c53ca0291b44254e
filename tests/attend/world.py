"""A machine with made-up sessions and a real bus on disk, for the tests of `attend`.

Owns `World`: a home, a process table in memory, client records as the client writes them, clocks that stand still. Must
not know what a test shows. Files are real; processes are real only where a test forks (`children.py`).
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from agent_ways.attend import intake, layout, ledger, sending, signals, trays
from agent_ways.attend.bus import Bus
from agent_ways.base.process import Owner
from agent_ways.claude import identity
from tests.support.clock import FakeClock
from tests.support.fake_proc import FakeTable
from tests.support.transcripts import lines

if TYPE_CHECKING:
    from pathlib import Path

    from agent_ways.attend.instances import Instance
    from agent_ways.attend.sending import Sent
    from agent_ways.attend.trays import Slip
    from agent_ways.claude.identity import Identity

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "bbbbbbbb-0000-4000-8000-000000000002"
C = "cccccccc-0000-4000-8000-000000000003"
D = "dddddddd-0000-4000-8000-000000000004"
WEB = "/home/person/web"


class World:
    """One machine. Sessions are named by their pid; a pid's start in the table is its proof."""

    def __init__(self, home: Path | str, host: str = "north", boot: str = "boot-1") -> None:
        self.home = str(home)
        self.config = os.path.join(self.home, ".claude")
        os.makedirs(os.path.join(self.config, "sessions"), exist_ok=True)
        os.makedirs(os.path.join(self.config, "projects"), exist_ok=True)
        self.table = FakeTable()
        self.clock = FakeClock()
        self.host, self.boot = host, boot
        self.bus = self.open()

    def open(self, patience: float = 2.0, pid: int | None = None) -> Bus:
        """The bus as this machine's process `pid` (the test's own by default) sees it."""
        own = os.getpid() if pid is None else pid
        env = {"HOME": self.home}
        return Bus(
            layout.bus_root(env),
            owner=Owner(host=self.host, boot=self.boot, namespace="ns", pid=own, start=f"s{own}"),
            table=self.table,
            env=env,
            config_dirs=(self.config,),
            clock=self.clock.wall,
            monotonic=self.clock.monotonic,
            patience=patience,
        )

    def client(self, pid: int, session: str, cwd: str = WEB, **more: Any) -> None:
        """A live client of that session; called again for a pid it is `/clear` or `/resume`."""
        process = self.table.look(pid) or self.table.add(pid, argv=("claude",))
        record = {
            "pid": pid,
            "sessionId": session,
            "cwd": cwd,
            "procStart": process.start,
            "status": "idle",
            "entrypoint": "cli",
            **more,
        }
        with open(os.path.join(self.config, "sessions", f"{pid}.json"), "w", encoding="utf-8") as file:
            json.dump(record, file)

    def end(self, pid: int) -> None:
        """The client is killed: its process goes, its record stays."""
        self.table.end(pid)

    def identity(self, pid: int) -> Identity:
        """Who a process of that client's session is."""
        return identity.identify({"HOME": self.home}, self.table, pid)

    def arrive(self, pid: int, reason: str = "", bus: Bus | None = None) -> Instance:
        """What the perceiving role does when it finds its session."""
        return intake.arrive(bus or self.bus, self.identity(pid), reason)

    def session(self, pid: int, session: str, cwd: str = WEB, reason: str = "sent") -> Instance:
        """A live, registered and enrolled session."""
        self.client(pid, session, cwd)
        return self.arrive(pid, reason)

    def send(self, sender: Instance | None, body: str, *to: str, bus: Bus | None = None, **more: Any) -> Sent:
        """Send as a session, or as the person."""
        used = bus or self.bus
        who = sending.session_sender(sender) if sender else sending.human_sender(used, "person", WEB)
        return sending.send(used, who, sender, body, to=to, **more)

    def reply(self, sender: Instance | None, body: str, re: str | None = None) -> Sent:
        """Reply as a session, or as the person."""
        who = sending.session_sender(sender) if sender else sending.human_sender(self.bus, "person", WEB)
        return sending.reply(self.bus, who, sender, body, re=re)

    def waiting(self, session: str) -> list[Slip]:
        """What waits in a tray and can be read."""
        return [slip for slip in trays.waiting(self.bus.root, session) if self.body(slip.id) is not None]

    def bodies(self, session: str) -> list[str]:
        """The texts that wait in a tray, oldest first."""
        return [body for slip in self.waiting(session) if (body := self.body(slip.id)) is not None]

    def body(self, signal_id: str) -> str | None:
        """A signal's text."""
        found = signals.read(self.bus, signal_id)
        return found.body if isinstance(found, signals.Signal) else None

    def claim(self, who: Instance, conduit: str = "channel", offset: int = 0, bus: Bus | None = None) -> list[str]:
        """Claim all that may be shown, as a conduit does before it shows."""
        used = bus or self.bus
        with ledger.open_ledger(used, who.key) as opened:
            slips = ledger.settled(used, opened, trays.waiting(used.root, who.session))
            taken = ledger.claim(used, opened, who, slips, conduit=conduit, offset=offset)
        return [slip.id for slip in taken]

    def write(self, session: str, *rows: dict[str, Any]) -> None:
        """Append rows to a session's transcript."""
        folder = os.path.join(self.config, "projects", "-home-person-web")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{session}.jsonl"), "ab") as file:
            file.write(lines(rows))

    def asks(self, session: str, mode: str = "default") -> None:
        """The session's transcript says in which permission mode it runs."""
        self.write(session, {"type": "permission-mode", "permissionMode": mode, "sessionId": session})

    def tree(self, *, but: tuple[str, ...] = ("clock",)) -> dict[str, bytes | None]:
        """Every path below the bus and its content (None for a folder), for comparing before and after."""
        found: dict[str, bytes | None] = {}
        for folder, _, files in os.walk(self.bus.root):
            found[os.path.relpath(folder, self.bus.root)] = None
            for name in files:
                path = os.path.join(folder, name)
                key = os.path.relpath(path, self.bus.root)
                if key in but:
                    continue
                with open(path, "rb") as file:
                    found[key] = file.read()
        return found
