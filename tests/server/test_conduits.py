"""What each pushing conduit says of a session, and what it gives to the client."""

from __future__ import annotations

import json
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.claude.records import SessionRecord
from agent_ways.claude.transcript import Row
from agent_ways.server.conduits import Event, View
from agent_ways.server.conduits.channel import Channel
from agent_ways.server.conduits.inbox_socket import LONGEST, InboxSocket, frames
from tests.support.fake_client import FLAGGED

if TYPE_CHECKING:
    from pathlib import Path

PID = 4711


def view(
    argv: tuple[str, ...] | None = ("claude",),
    rows: list[dict[str, Any]] | None = None,
    env: dict[str, str] | None = None,
    config_dir: str = "/nonexistent",
    **fields: Any,
) -> View:
    record = SessionRecord(**{"pid": 1, "session": "s", "config_dir": config_dir, "entrypoint": "cli", **fields})
    made = [Row(raw, line) for line, raw in enumerate(rows or [])]
    return View(record=record, config_dir=config_dir, argv=argv, env=env or {}, rows=lambda: made)


def shown_by(origin: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "user",
        "isSidechain": False,
        "timestamp": "2026-11-30T20:00:00.000Z",
        "origin": origin,
        "message": {"role": "user", "content": "text"},
    }


@pytest.mark.demand("CON-2", "SRV-12")
def test_the_channel_is_yes_only_with_a_proof() -> None:
    channel = Channel(lambda _line: None)
    event = shown_by({"kind": "channel", "server": "agent-ways"})
    other = shown_by({"kind": "channel", "server": "somebody-else"})
    assert channel.reach(view(FLAGGED, [event])).state == "yes"
    assert channel.reach(view(FLAGGED, [other])).state == "unknown"
    assert channel.reach(view(FLAGGED)).state == "unknown"
    assert channel.reach(view(None)).state == "unknown"
    assert channel.reach(view()).state == "no"
    assert channel.reach(view(FLAGGED, env={"DISABLE_TELEMETRY": "1"})).state == "no"
    assert channel.reach(view(FLAGGED, [event], entrypoint="sdk-cli")).state == "no"


@pytest.mark.demand("CON-2", "CON-5")
def test_the_channel_sends_one_line_and_never_a_permission_verdict() -> None:
    sent: list[bytes] = []
    channel = Channel(sent.append)
    assert channel.push(view(FLAGGED), Event("text\nmore", {"kind": "mail"})) is None
    (line,) = sent
    assert json.loads(line)["method"] == "notifications/claude/channel"
    assert line.count(b"\n") == 1
    with pytest.raises(ValueError, match="meta"):
        channel.push(view(FLAGGED), Event("text", {"source": "operator"}))
    assert len(sent) == 1


@pytest.fixture
def listening(tmp_path: Path) -> tuple[str, list[bytes], threading.Thread]:
    """A socket's path, what is posted to it, and the thread that ends after one post."""
    path = str(tmp_path / "1.sock")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    got: list[bytes] = []

    def take() -> None:
        with server:
            connection, _ = server.accept()
            with connection:
                data = b""
                while part := connection.recv(65536):
                    data += part
                got.append(data)

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    return path, got, thread


@pytest.mark.demand("CON-2")
def test_the_socket_gets_the_auth_line_the_guard_and_the_wrapper(
    listening: tuple[str, list[bytes], threading.Thread],
) -> None:
    path, got, thread = listening
    session = view(socket=path, env={"CLAUDE_CODE_MESSAGING_TOKEN": "secret"})
    assert InboxSocket(PID).push(session, Event("hello\n\u2028", urgent=False)) is None
    thread.join(10)
    auth, message = (json.loads(line) for line in got[0].splitlines())
    assert auth == {"type": "auth", "token": "secret"}
    assert message == {
        "type": "user",
        "session_id": "s",
        "priority": "later",
        "message": {
            "role": "user",
            "content": '<cross-session-message from-name="agent-ways">\nhello\n\u2028\n</cross-session-message>',
        },
    }


@pytest.mark.demand("CON-2")
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="only Linux tells who listens")
def test_a_socket_that_somebody_else_listens_on_gets_neither_the_token_nor_a_word(
    listening: tuple[str, list[bytes], threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, got, thread = listening
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    session = view(socket=path, env={"CLAUDE_CODE_MESSAGING_TOKEN": "secret"})
    assert InboxSocket(PID).push(session, Event("hello")) == "the inbox socket belongs to somebody else"
    thread.join(10)
    assert got == [b""]


@pytest.mark.demand("CON-2")
def test_mail_goes_next_and_nothing_ever_now() -> None:
    assert b'"priority":"next"' in frames("s", "", Event("x"))
    assert b'"priority":"later"' in frames("s", "", Event("x", urgent=False))
    assert b"auth" not in frames("s", "", Event("x"))


@pytest.mark.demand("CON-2")
def test_a_post_that_can_not_be_made_says_why(tmp_path: Path) -> None:
    conduit = InboxSocket(PID)
    assert "names no inbox socket" in str(conduit.push(view(), Event("x")))
    assert "can not be written" in str(conduit.push(view(socket=str(tmp_path / "gone.sock")), Event("x")))
    assert "too long" in str(conduit.push(view(socket=str(tmp_path / "x.sock")), Event("x" * LONGEST)))


@pytest.mark.demand("CON-2", "SRV-12")
def test_the_socket_is_told_as_far_as_it_is_known(tmp_path: Path) -> None:
    conduit = InboxSocket(PID)
    path = tmp_path / "1.sock"
    path.touch()
    own = shown_by({"kind": "peer", "verifiedPeerPid": PID})
    other = shown_by({"kind": "peer", "verifiedPeerPid": PID + 1})
    assert conduit.reach(view()).state == "no"
    assert conduit.reach(view(socket=str(tmp_path / "gone"))).state == "no"
    assert conduit.reach(view(socket=str(path), entrypoint="sdk-py")).state == "no"
    assert conduit.reach(view(socket=str(path))).state == "unknown"
    assert conduit.reach(view(socket=str(path), rows=[other])).state == "unknown"
    assert conduit.reach(view(socket=str(path), rows=[own])).state == "yes"


@pytest.mark.demand("CON-2")
@pytest.mark.parametrize("policy", ["hold", "refuse"])
def test_a_setting_that_holds_messages_is_obeyed_and_named(tmp_path: Path, policy: str) -> None:
    path = tmp_path / "1.sock"
    path.touch()
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"crossSessionInbound": policy}))
    reach = InboxSocket(PID).reach(view(config_dir=str(tmp_path), socket=str(path)))
    assert (reach.state, reach.evidence) == ("no", os.fspath(settings))
    assert policy in reach.reason
