"""A real client in an isolated home against the stub: registered to, started, typed to, asked and ended.

Must not know what the product promises; the tests do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from tests.e2e import processes
from tests.e2e.home import Home
from tests.e2e.stub_api import Answer, ApiRequest, StubApi
from tests.e2e.terminal import Terminal
from tests.e2e.waiting import until

if TYPE_CHECKING:
    import signal

    from tests.e2e.clients import Client

CHANNEL_FLAG = ("--dangerously-load-development-channels", "server:agent-ways")

# The dialog that the channel flag opens at every start; its first choice, the one to take, is the default.
_CHANNEL_DIALOG = "I am using this for local development"


@dataclass(frozen=True)
class ToolAnswer:
    """What a tool call gave, as the client handed it to the model."""

    text: str
    request: ApiRequest

    @property
    def value(self) -> Any:
        """The result read as JSON: structured content comes as its text."""
        return json.loads(self.text)


class Session:
    """One interactive client at its prompt, with its MCP server connected."""

    def __init__(self, home: Home, api: StubApi, terminal: Terminal, debug_log: str) -> None:
        self.home = home
        self._debug_log = debug_log
        self.api = api
        self.terminal = terminal
        self.pid = terminal.pid

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    def record(self) -> dict[str, Any]:
        """The session record, which must be there. The client writes it in place: half of one is looked at again."""
        return until(f"a whole record of client {self.pid}", lambda: self.home.record(self.pid), patience=5)

    @property
    def id(self) -> str:
        return str(self.record["sessionId"])

    def rows(self) -> list[dict[str, Any]]:
        """The transcript of the conversation that the session is in now."""
        return self.home.transcript(self.id)

    def servers(self, path: str) -> list[processes.Process]:
        """The client's direct children that run the program at `path`."""
        return [child for child in processes.children(self.pid) if child.runs(path)]

    @property
    def at_rest(self) -> bool:
        """Whether the client says that no turn runs; `shell` while a background command or a monitor still does."""
        return self.record["status"] in ("idle", "shell")

    def wait_at_rest(self) -> None:
        """Wait until no turn runs."""
        until("a client at rest", lambda: self.at_rest, instead=self.terminal.screen)

    @property
    def connected(self) -> bool:
        """Whether its server is connected and its channel decided on, by the client's own debug log."""
        try:
            with open(self._debug_log, encoding="utf-8", errors="replace") as file:
                return 'MCP server "agent-ways": Channel notifications' in file.read()
        except FileNotFoundError:
            return False

    def wait_connected(self) -> None:
        """Wait until its server is connected and its channel decided on."""
        until(
            "the server's connection",
            lambda: self.connected,
            instead=lambda: "\n".join([self.terminal.screen(), *self.home.debug_lines("agent-ways")]),
        )

    # -- what a person does ---------------------------------------------------------------------------------------

    def say(self, text: str) -> Answer:
        """Type a prompt and wait for its turn to end."""
        since = len(self.api.answers)
        self.terminal.type(text)
        return self.turn_with(text, since=since)

    def turn_with(self, needle: str, *, since: int) -> Answer:
        """Wait for the turn whose newest user text holds `needle`, from answer number `since` on, and for its end."""

        def is_it(answer: Answer) -> bool:
            texts = answer.request.last_user_texts()
            return answer.request.is_turn and any(needle in text for text in texts)

        answer = self.api.wait_answer(f"the turn of {needle!r}", is_it, since=since)
        if answer.tool_use_id is None:
            self.settled(answer)
        return answer

    def call(self, tool: str, given: dict[str, Any] | None = None) -> ToolAnswer:
        """Make the model call a tool, through a typed prompt; what came back, once the turn is over."""
        since = len(self.api.answers)
        self.terminal.type(f"CALL:{tool}:{json.dumps(given or {})}")
        return self.tool_answer(since=since)

    def tool_answer(self, *, since: int) -> ToolAnswer:
        """What the first tool call from answer number `since` on gave, once its turn is over."""
        asked = self.api.wait_answer("a tool call", lambda answer: answer.tool_use_id, since=since)
        use = asked.tool_use_id or ""
        told = self.api.wait_answer(f"the result of {use}", lambda answer: _holds(answer, use), since=since)
        self.settled(told)
        return ToolAnswer(told.request.tool_result(use) or "", told.request)

    def clear(self) -> str:
        """Type /clear; the new session's id."""
        before = self.id
        self.terminal.type("/clear")
        return until("a new session id after /clear", lambda: self.id if self.id != before else None)

    def settled(self, answer: Answer) -> None:
        """Wait until the answer stands in the transcript and the client says that it is idle."""

        def written() -> bool:
            return any(row.get("message", {}).get("id") == answer.message_id for row in self.rows())

        until(f"{answer.message_id} in the transcript", written, instead=self.terminal.screen)
        self.wait_at_rest()

    # -- how it ends ----------------------------------------------------------------------------------------------

    def exit(self) -> None:
        """End it as a person does."""
        self.terminal.type("/exit")
        self._gone("/exit")

    def kill(self, number: signal.Signals) -> None:
        """End it by a signal to the client alone.

        A lock on its global file that it held then is taken away: the next client would wait ten seconds for it.
        """
        os.kill(self.pid, number)
        self._gone(number.name)
        shutil.rmtree(f"{self.home.global_config}.lock", ignore_errors=True)

    def _gone(self, how: str) -> None:
        if not processes.wait_gone(self.pid, 20):
            raise AssertionError(f"client {self.pid} lives 20 s after {how}\n{self.terminal.screen()}")

    def close(self) -> None:
        self.terminal.close()


def _holds(answer: Answer, tool_use_id: str) -> bool:
    return answer.request.tool_result(tool_use_id) is not None


@dataclass
class Lab:
    """A home, a stub and a client that belong together, as a context manager that leaves nothing behind."""

    client: Client
    home: Home = field(default_factory=Home.make)
    api: StubApi = field(default_factory=StubApi)
    _sessions: list[Session] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.api.__enter__()
        self.home.seed()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for session in self._sessions:
                session.close()
            left = processes.marked(self.home.name)
            for process in left:
                processes.end(process.pid)
        finally:
            self.api.__exit__()
        self.home.remove()
        if left:
            raise AssertionError(f"processes were left behind and had to be ended: {left}")

    @property
    def env(self) -> dict[str, str]:
        return self.home.environment(self.client, self.api.url)

    def claude(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run the client's own command to its end."""
        return subprocess.run(
            [self.client.executable, *args],
            cwd=self.home.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def register(self, command: str, *args: str, **env: str) -> None:
        """Register a server as agent-ways at user scope, through the client's own command."""
        entry: dict[str, Any] = {"type": "stdio", "command": command, "args": list(args)}
        if env:
            entry["env"] = env
        done = self.claude("mcp", "add-json", "agent-ways", json.dumps(entry), "--scope", "user")
        if done.returncode:
            raise AssertionError(f"claude mcp add-json: {done.stdout}{done.stderr}")

    def start(self, *args: str, mode: str = "default", project: str | None = None, **env: str) -> Session:
        """Start the client as `launch` does, and wait until its server is connected and its channel decided on."""
        session = self.launch(*args, mode=mode, project=project, **env)
        session.wait_connected()
        return session

    def launch(self, *args: str, mode: str = "default", project: str | None = None, **env: str) -> Session:
        """Start the client in a terminal, say yes to the channel dialog, wait for its session.

        Permission mode is `default`: the client's own default (auto) asks a classifier that the stub does not play.
        `env` comes on top of the lab's.
        """
        number = len(self._sessions)
        folder = os.path.join(self.home.root, f"terminal-{number}")
        os.mkdir(folder)
        debug_log = os.path.join(self.home.root, f"debug-{number}.txt")
        argv = [self.client.executable, *args, "--permission-mode", mode, "--debug-file", debug_log]
        terminal = Terminal(folder, {**self.env, **env}, project or self.home.project, argv)
        session = Session(self.home, self.api, terminal, debug_log)
        self._sessions.append(session)

        def at_its_prompt(screen: str) -> bool:
            return _CHANNEL_DIALOG in screen or self.home.record(session.pid) is not None

        if _CHANNEL_DIALOG in terminal.until("the dialog or the prompt", at_its_prompt):
            terminal.press_until("Enter", lambda screen: _CHANNEL_DIALOG not in screen)
            terminal.until("the prompt", lambda _: self.home.record(session.pid) is not None)
        return session
