"""The story that the demo tells, step by step; each claim is checked as it is made.

Owns `tell`. Must not know how it looks (see `narrator.py`).
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from tests.support.fake_client import FLAGGED, FakeClient, Plan

from demo.narrator import plain_environment
from demo.talk import talk

if TYPE_CHECKING:
    from demo.narrator import Narrator

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.py")
RING = "a parcel for you"


def tell(narrator: Narrator, package: str, folder: str) -> None:
    """The whole story, in `folder`. Raises `NotSoError`, or `ClientError` where something never came."""
    narrator.say(
        """This is agent-ways without Claude Code: a stand-in plays the client's part, with a session, a command
        line, a transcript and the real handshake. The server, ways-mcp, is the real one."""
    )
    doorbell = os.path.join(folder, "doorbell")
    os.mkfifo(doorbell)
    plan = Plan(
        server=(sys.executable, "-I", "-S", SERVER),
        server_env={"DEMO_PACKAGE": package, "DEMO_DOORBELL": doorbell},
        argv=FLAGGED,
        env=plain_environment(),
    )
    with FakeClient(folder, plan) as client:
        _start(narrator, client)
        _handshake(narrator, client)
        _status(narrator, client)
        _event(narrator, client, doorbell)
        _proof(narrator, client)
        _clear(narrator, client)
        _end(narrator, client)
    talk(narrator, package, os.path.join(folder, "talk"))
    narrator.end("Next: `make install`, then open Claude Code and ask it to call ways_status.")


def _start(narrator: Narrator, client: FakeClient) -> None:
    narrator.step("A person opens Claude Code")
    narrator.quote(" ".join(client.plan.argv))
    record = client.record()
    narrator.say(f"It runs as process {client.pid} and keeps a record of its session:")
    shown = {name: record[name] for name in ("pid", "sessionId", "status", "version")}
    narrator.quote("\n".join(f"{name:9} {value}" for name, value in shown.items()))
    narrator.check("the record names the process", record["pid"] == client.pid)


def _handshake(narrator: Narrator, client: FakeClient) -> None:
    narrator.step("It starts the server and shakes hands over stdin and stdout")
    shake = client.wait_handshake()
    for line in client.lines:
        (narrator.sent if line.direction == "sent" else narrator.received)(_brief(line.json()))
    result = shake["initialize"]["result"]
    probe = next(line.json() for line in client.lines if line.direction == "received")
    narrator.check("the probe for a revision without channels is declined", probe["error"]["code"] == -32601, probe)
    experimental = result["capabilities"]["experimental"]
    narrator.check("the server says that it can send events", "claude/channel" in experimental, experimental)
    names = [tool["name"] for tool in shake["tools"]]
    narrator.check(f"its tools: {', '.join(names)}", "ways_status" in names, names)


def _status(narrator: Narrator, client: FakeClient) -> None:
    narrator.step("The model asks what is true: it calls ways_status")
    status = client.model_call("ways_status")["structuredContent"]
    session, channel = status["session"], status["conduits"]["channel"]
    narrator.quote(f"session  {session['id']}  (known by: {session['source']})")
    narrator.quote(f"channel  {channel['state']}: {channel['reason']}")
    narrator.check("the session is the one of the record", session["id"] == client.record()["sessionId"], session)
    narrator.check("its process is the client's", session["claude_pid"] == client.pid, session)
    narrator.check("what is not proven is not claimed: the channel is unknown", channel["state"] == "unknown", channel)
    marker = f"{session['id']}.{client.server_pid}"
    narrator.check("a marker file says that a server is here", _markers(client) == [marker], _markers(client))
    live = status["modules"]["live"]
    narrator.check(f"modules at work: {', '.join(live)}", "doorbell" in live, status["modules"])


def _event(narrator: Narrator, client: FakeClient, doorbell: str) -> None:
    narrator.step("The session is idle, and something happens elsewhere")
    client.wait_channel_open()
    narrator.say(
        """The demo added a module of one file and one line: a doorbell, which is a named pipe. Another program
        now writes a line into it. (The server sends nothing in the client's first second: it would be lost.)"""
    )
    began = time.monotonic()
    with open(doorbell, "w", encoding="utf-8") as pipe:
        pipe.write(f"{RING}\n")
    event = client.wait_channel_event()
    narrator.received("notifications/claude/channel")
    shown = client.wait_shown(lambda shown: shown.kind == "channel")
    narrator.say(f"{shown.at - began:.2f} s later a turn has begun that nobody typed. What the model is given:")
    narrator.quote(shown.texts[0])
    narrator.check("the event is in the turn, word by word", shown.texts == (event.text,) and RING in event.text, event)


def _proof(narrator: Narrator, client: FakeClient) -> None:
    narrator.step("Sent is not seen: the proof is the client's own transcript")
    client.wait_event("status", lambda event: event["status"] == "idle", count=2)
    channel = _channel(client)
    narrator.quote(f"channel  {channel['state']}: {channel['reason']}")
    narrator.check("now the channel is proven", channel["state"] == "yes", channel)
    narrator.check("and the evidence is named", bool(channel["evidence"]), channel)


def _clear(narrator: Narrator, client: FakeClient) -> None:
    narrator.step("The person types /clear: same process, same server, new session")
    before = client.session_id
    after = client.clear()
    session = client.call_tool("ways_status")["structuredContent"]["session"]
    narrator.quote(f"before {before}\nafter  {after}")
    narrator.check("the server follows: it looks afresh at every call", session["id"] == after, session)


def _end(narrator: Narrator, client: FakeClient) -> None:
    narrator.step("The person leaves")
    client.exit()
    end = client.wait_server_exit()
    narrator.say(f"The client ended its server by {' and '.join(end['signals'])}; it took {end['took_ms']:.0f} ms.")
    narrator.check("the server left by itself, without an error", end["code"] == 0, end)
    narrator.check("and left no marker behind", _markers(client) == [], _markers(client))


def _brief(message: dict[str, Any]) -> str:
    """One line on the wire for a reader: what is asked or answered, with what matters of it."""
    if "method" in message:
        version = message.get("params", {}).get("protocolVersion")
        return f"{message['method']} (revision {version})" if version else str(message["method"])
    if "error" in message:
        return f"error {message['error']['code']}: {message['error']['message']}"
    result = message["result"]
    if "tools" in result:
        return f"tools: {', '.join(tool['name'] for tool in result['tools'])}"
    capabilities = result["capabilities"]
    offered = ", ".join([*(name for name in capabilities if name != "experimental"), *capabilities["experimental"]])
    return f"revision {result['protocolVersion']}, {result['serverInfo']['name']} offers {offered}"


def _markers(client: FakeClient) -> list[str]:
    folder = os.path.join(client.plan.home, ".local", "state", "agent-ways", "servers")
    return [name for _, _, files in os.walk(folder) for name in files]


def _channel(client: FakeClient) -> dict[str, Any]:
    channel: dict[str, Any] = client.call_tool("ways_status")["structuredContent"]["conduits"]["channel"]
    return channel
