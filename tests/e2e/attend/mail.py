"""A lab with the message bus: the person at a terminal who writes to sessions, and what is known of each message.

Owns counting: how often a session's model was given a message is read from the API requests alone, what agent-ways
says of it from its own command. Must not know the client's dialogs, nor how a conduit works.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.e2e.needs import REPOSITORY, command
from tests.e2e.waiting import TooLongError, until

if TYPE_CHECKING:
    from tests.e2e.lab import Lab, Session
    from tests.e2e.stub_api import ApiRequest

TOOL = "mcp__agent-ways__attend_"
HOOKS = os.path.join(REPOSITORY, "src", "agent_ways", "projected", "hooks")

MONITOR = {"command": "attend run", "description": "attend", "timeout_ms": 1_800_000}
"""The Monitor tool's input that starts the sensor loop."""

NO_SOCKET = {"CLAUDE_CODE_HARBOR_KITE": "0"}
"""The client's own switch: it binds no inbox socket (2.1.285, 2.1.332)."""


def hook(script: str) -> list[dict[str, Any]]:
    """One of our hook scripts as settings.json registers it."""
    return [{"hooks": [{"type": "command", "command": f"sh '{os.path.join(HOOKS, script)}'"}]}]


@dataclass
class Mail:
    """The bus of one lab; `ids` are the messages that the person sent."""

    lab: Lab
    attend: str
    ids: list[str] = field(default_factory=list)

    @classmethod
    def set_up(cls, lab: Lab, ways_mcp: str, *allow: str, drain: bool = True, **settings: Any) -> Mail:
        """Register the server, put `attend` on PATH, allow its tools and register the hooks, as an install does.

        `settings` are more of the client's own.
        """
        attend = command(ways_mcp, "attend")
        os.symlink(attend, os.path.join(lab.home.bin, "attend"))
        hooks = {"SessionStart": hook("attend-session-start.sh")}
        if drain:
            hooks["Stop"] = hook("attend-drain.sh")
        lab.home.settings("mcp__agent-ways", *allow, hooks=hooks, **settings)
        lab.register(ways_mcp)
        return cls(lab, attend)

    # -- what a person does -----------------------------------------------------------------------------------------

    def run(self, *words: str) -> Any:
        """Run `attend` as a person does at a terminal outside of every session; its JSON."""
        done = subprocess.run(
            [self.attend, "--json", *words],
            cwd=self.lab.home.project,
            env=self.lab.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"attend {' '.join(words)}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def send(self, to: Session | str, body: str) -> str:
        """Send a message to a session; its id."""
        address = to if isinstance(to, str) else to.id
        sent = self.run("send", "--to", address, "--", body)
        self.ids.append(sent["id"])
        return str(sent["id"])

    def reached(self, session: Session, conduit: str) -> str:
        """Whether a conduit reaches a session, as a person is told: yes, no or unknown."""
        (peer,) = [one for one in self.run("peers")["peers"] if one["session"] == session.id]
        return str(peer["conduits"][conduit]["state"])

    # -- what is so afterwards --------------------------------------------------------------------------------------

    def receipt(self, signal: str) -> dict[str, Any]:
        """What the bus says of a message for its only recipient: `{session, name, state, proof}`."""
        (receipt,) = self.run("show", signal)["receipts"]
        assert isinstance(receipt, dict)
        return receipt

    def state(self, signal: str) -> str:
        return str(self.receipt(signal)["state"])

    def wait_state(self, signal: str, *states: str) -> dict[str, Any]:
        """The receipt once the bus says one of these of the message."""

        def there() -> dict[str, Any] | None:
            receipt = self.receipt(signal)
            return receipt if receipt["state"] in states else None

        try:
            return until(f"{signal} to be {' or '.join(states)}", there, patience=25)
        except TooLongError as error:
            told = f"{self.run('show', signal)}\nshown {self.shown(signal)} times"
            raise AssertionError(f"{error}\n{told}") from None

    def wait_seen(self, signal: str) -> str:
        """The kind of the proof by which the bus came to know that the model was given the message."""
        return str(self.wait_state(signal, "seen")["proof"]["kind"])

    def shown(self, signal: str) -> int:
        """How often a model was given the message whole, counted in the API requests."""
        return given(self.lab.api.requests, f"[attend signal {signal} ")

    def named(self, signal: str) -> int:
        """How often a model was told only that the message waits."""
        return given(self.lab.api.requests, f"[attend waiting {signal}]")

    def is_truthful(self, signal: str) -> bool:
        """Whether what the bus says is so: seen and shown once, or still queued and never shown."""
        return (self.state(signal), self.shown(signal)) in (("seen", 1), ("queued", 0))


def given(requests: list[ApiRequest], needle: str) -> int:
    """How often `needle` came into a conversation.

    Each request holds the whole conversation so far: what one holds more of than the request before it is new.
    """
    found: dict[str, int] = {}
    total = 0
    for request in requests:
        if request.is_turn:
            count = sum(text.count(needle) for text in request.texts())
            total += max(0, count - found.get(request.session, 0))
            found[request.session] = count
    return total
