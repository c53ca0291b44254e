"""Sessions of `-p` get the tools and nothing else: they are not registered, not written to and not woken."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.attend.mail import TOOL, Mail
from tests.e2e.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.lab import Lab

STREAM = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")


class Streamed:
    """A session of `-p` that waits for its next line of input."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        argv = [lab.client.executable, *STREAM, "--permission-mode", "default"]
        self._errors = open(os.path.join(lab.home.root, "stream-errors.txt"), "w", encoding="utf-8")  # noqa: SIM115
        self._child = subprocess.Popen(
            argv,
            cwd=lab.home.project,
            env=lab.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.pid = self._child.pid

    def call(self, tool: str, given: object) -> str:
        """Let the model call a tool; its result as the model is told it."""
        assert self._child.stdin is not None
        since = len(self._lab.api.answers)
        message = {"role": "user", "content": f"CALL:{tool}:{json.dumps(given)}"}
        self._child.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
        self._child.stdin.flush()
        use = self._lab.api.wait_answer("the call", lambda one: one.tool_use_id, since=since).tool_use_id or ""
        told = self._lab.api.wait("the result", lambda one: one.tool_result(use) is not None)
        return told.tool_result(use) or ""

    def close(self) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.stdout.read()
        self._child.wait(20)
        self._child.stdout.close()
        self._errors.close()


@pytest.fixture
def streamed(lab: Lab, ways_mcp: str) -> Iterator[tuple[Mail, Streamed]]:
    mail = Mail.set_up(lab, ways_mcp)
    session = Streamed(lab)
    yield mail, session
    session.close()


@pytest.mark.demand("ID-5", "CON-3", "ATT-4")
def test_a_session_of_p_has_the_tools_and_is_neither_registered_nor_woken(
    streamed: tuple[Mail, Streamed],
) -> None:
    mail, session = streamed
    status = json.loads(session.call(f"{TOOL}status", {}))
    assert status["enrolled"] == []
    record = until("its record", lambda: mail.lab.home.record(session.pid))
    assert status["session"] == record["sessionId"]
    assert "-p or an SDK" in session.call(f"{TOOL}send", {"to": ["*"], "body": "hello"})
    with pytest.raises(AssertionError, match="there is no session"):
        mail.send(str(record["sessionId"]), "is anybody there?")
    signal = mail.send(mail.lab.home.project, "is anybody in the project?")
    told = json.loads(session.call(f"{TOOL}peers", {}))
    assert record["sessionId"] not in [peer["session"] for peer in told["peers"]]
    assert (mail.shown(signal), mail.named(signal)) == (0, 0)
    assert mail.run("show", signal)["signals"][0]["body"] == "is anybody in the project?"
