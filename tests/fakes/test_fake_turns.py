"""The fake client's turns: events, prompts and tools, and the rows that each leaves, as the real client's do."""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.fake_client import FLAGGED, FakeClient, Plan, Shown
from tests.support.transcript_rows import PEER_FIRST_LINE

if TYPE_CHECKING:
    from pathlib import Path

Toy = tuple[str, ...]
JSON = dict[str, Any]

POST = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode())
s.shutdown(socket.SHUT_WR)
s.recv(1)
"""


def connected(client: FakeClient) -> FakeClient:
    client.wait_handshake()
    client.wait_channel_open()
    return client


def kinds(rows: list[JSON]) -> list[str]:
    """The rows that matter for delivery, in order, by short names."""
    names = []
    for row in rows:
        if row["type"] == "queue-operation":
            names.append(row["operation"])
        elif row["type"] == "user" and "origin" in row:
            names.append(f"user:{row['origin']['kind']}")
        elif row["type"] == "user":
            names.append("tool_result")
        elif row["type"] == "attachment":
            names.append(row["attachment"]["type"])
        elif row["type"] in ("assistant", "api-request"):
            names.append(row["type"])
    return names


def push(client: FakeClient, content: str, **meta: str) -> None:
    client.call_tool("push", {"content": content, "meta": meta})


@pytest.mark.parametrize("version", ["2.1.332", "2.1.285"])
def test_an_event_starts_a_turn_in_an_idle_session(tmp_path: Path, toy: Toy, version: Any) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED, version=version)) as client:
        push(connected(client), "hello", id="s-1")
        shown = client.wait_shown()
        assert shown.texts == ('<channel source="agent-ways" id="s-1">\nhello\n</channel>',)
        client.wait_status("idle")
        rows = client.transcript()
    request = ["api-request"] if version == "2.1.332" else []
    assert kinds(rows) == ["enqueue", "dequeue", "user:channel", *request, "assistant"]
    [row] = [row for row in rows if row["type"] == "user"]
    assert row["origin"] == {"kind": "channel", "server": "agent-ways"}
    assert (row["isMeta"], row["promptSource"], row["turnOrigin"]) == (True, "system", "peer")
    assert row["turnPosition"] == {"promptIndex": 0, "turnIndex": 1}
    assert ("sentAtMs" in row) == (version == "2.1.332")


def test_the_record_is_busy_through_the_turn_and_idle_after_it(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED, turn_ms=None)) as client:
        push(connected(client), "hello")
        client.wait_shown()
        assert client.record()["status"] == "busy"
        client.finish_turn()
        assert client.record()["status"] == "idle"


def test_without_the_flag_events_are_swallowed_without_a_trace(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        push(connected(client), "hello")
        assert client.wait_channel_event().fate == "swallow"
        assert client.shown == []
        assert client.transcript() == []


@pytest.mark.parametrize(
    "params", [{"content": 1}, {}, {"content": "x", "meta": {"n": 1}}], ids=["number", "nothing", "number in meta"]
)
def test_a_malformed_event_is_lost(tmp_path: Path, toy: Toy, params: JSON) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED)) as client:
        connected(client).call_tool("push", params)
        assert client.wait_channel_event().fate == "lost"


def test_an_event_before_the_client_listens_is_lost(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED, server_env={"TOY": "eager"})) as client:
        assert client.wait_channel_event().fate == "lost"


def test_a_blocking_hook_lets_an_event_arrive_and_never_shows_it(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED, channel="block")) as client:
        push(connected(client), "hello")
        client.wait_event("blocked")
        assert kinds(client.transcript()) == ["enqueue", "dequeue"]
        assert client.shown == []


def test_a_burst_in_an_idle_session_is_one_turn(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED, turn_ms=None)) as client:
        connected(client).type("work")
        for number in range(5):
            push(client, str(number))
        client.finish_turn()
        assert len(client.wait_shown(lambda shown: shown.kind == "channel").texts) == 5


def test_an_event_in_a_tool_is_absorbed_with_its_result(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED)) as client:
        tool = connected(client).begin_tool("Bash", {"command": "make"})
        push(client, "hello", id="s-2")
        client.wait_channel_event()
        client.end_tool(tool)
        assert client.wait_shown(lambda shown: shown.kind == "tool").texts[0].startswith('<channel source="agent-ways"')
        client.wait_status("idle")
        rows = client.transcript()
    assert [name for name in kinds(rows) if name not in ("api-request", "assistant")] == [
        "user:human",
        "enqueue",
        "remove",
        "tool_result",
        "queued_command",
    ]
    removed = next(row for row in rows if row.get("operation") == "remove")
    attachment = next(row["attachment"] for row in rows if row["type"] == "attachment")
    assert removed["reason"] == "absorbed_mid_turn"
    assert attachment["source_uuid"] == removed["commandUuid"]
    assert attachment["origin"] == {"kind": "channel", "server": "agent-ways"}


def test_an_open_dialog_holds_an_event_back(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED)) as client:
        connected(client).open_dialog("dialog open")
        assert client.record()["waitingFor"] == "dialog open"
        push(client, "hello")
        client.wait_channel_event()
        assert kinds(client.transcript()) == ["enqueue"]
        client.close_dialog()
        client.wait_shown()
        assert "waitingFor" not in client.record()


def test_an_event_queued_before_clear_is_shown_in_the_new_session(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED, turn_ms=None)) as client:
        connected(client).type("work")
        push(client, "hello")
        client.wait_channel_event()
        old = client.session_id
        new = client.clear()
        client.finish_turn()
        assert client.wait_shown(lambda shown: shown.kind == "channel").session_id == new
        assert "enqueue" in kinds(client.transcript(old))
        assert "user:channel" in kinds(client.transcript(new))


def test_clear_opens_the_new_transcript_at_once_with_rows_of_no_origin(tmp_path: Path) -> None:
    with FakeClient(tmp_path) as client:
        assert client.transcript() == []
        client.clear()
        rows = [row for row in client.transcript() if row["type"] == "user"]
        assert len(rows) == 2
        assert not [row for row in rows if "origin" in row]
        assert client.record()["updatedAt"] >= client.record()["statusUpdatedAt"]


def test_escape_drops_the_turn_and_starts_the_queued_event(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED, turn_ms=None)) as client:
        connected(client).type("work")
        push(client, "hello")
        client.interrupt()
        client.wait_shown(lambda shown: shown.kind == "channel")


def test_a_models_call_leaves_its_rows_and_its_result(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy)) as client:
        connected(client).model_call("echo", {"a": 1})
        shown = client.wait_shown(lambda shown: shown.kind == "tool")
        client.wait_status("idle")
        rows = client.transcript()
    assert shown.tool == "mcp__agent-ways__echo"
    use = next(row for row in rows if row["type"] == "assistant")["message"]["content"][0]
    answer = next(row for row in rows if row["type"] == "user" and "origin" not in row)["message"]["content"][0]
    assert use["id"] == answer["tool_use_id"]
    assert json.loads(answer["content"][0]["text"]) == {"a": 1}
    last = [row for row in rows if row["type"] == "assistant"][-1]
    assert last["attributionMcpTool"] == "echo"


def test_the_same_prompt_twice_is_one_line_of_history(tmp_path: Path) -> None:
    with FakeClient(tmp_path) as client:
        for count, text in enumerate(("continue", "continue", "stop"), start=1):
            client.type(text)
            client.wait_status("idle", count=count)
        with open(os.path.join(client.plan.config_dir, "history.jsonl"), encoding="utf-8") as file:
            assert [json.loads(line)["display"] for line in file] == ["continue", "stop"]
        assert kinds(client.transcript()).count("user:human") == 3


@pytest.mark.parametrize(("cache", "hour"), [("1h", 200), ("5m", 0)])
def test_usage_rows_tell_the_tier(tmp_path: Path, cache: Any, hour: int) -> None:
    with FakeClient(tmp_path, Plan(cache=cache)) as client:
        client.type("hello")
        client.wait_status("idle")
        row = next(row for row in client.transcript() if row["type"] == "assistant")
    assert row["message"]["usage"]["cache_creation"]["ephemeral_1h_input_tokens"] == hour
    assert row["promptCacheRequested"] == cache


def test_rows_can_lag_behind_what_the_model_was_given(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(transcript_delay_ms=60_000)) as client:
        client.type("hello")
        client.wait_shown()
        assert client.transcript() == []
        client.exit()
        assert "user:human" in kinds(client.transcript())


def test_any_line_can_be_appended(tmp_path: Path) -> None:
    with FakeClient(tmp_path) as client:
        client.append_transcript({"type": "compaction"}, '{"half":')
        with open(client.transcript_path(), encoding="utf-8") as file:
            assert file.read() == '{"type":"compaction"}\n{"half":\n'


# ---- the Stop hook


def hook(body: str) -> tuple[str, ...]:
    """A hook that runs `body` with its input as `given`, and says nothing when it is asked again."""
    head = "import json, os, sys, time; given = json.load(sys.stdin); given['stop_hook_active'] and sys.exit()\n"
    return (sys.executable, "-I", "-S", "-c", head + body)


BLOCK = "print(json.dumps({'decision': 'block', 'reason': 'mail for ' + given['session_id']}))"
CONTEXT = "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'Stop', 'additionalContext': 'some mail'}}))"


@pytest.mark.parametrize("version", ["2.1.332", "2.1.285"])
def test_a_stop_hook_that_blocks_is_shown_twice_in_one_more_request(tmp_path: Path, version: Any) -> None:
    with FakeClient(tmp_path, Plan(stop_hook=hook(BLOCK), version=version)) as client:
        client.type("hello")
        shown = client.wait_shown(lambda shown: shown.kind == "hook")
        client.wait_status("idle")
        rows = client.transcript()
        assert [event["active"] for event in client.events("stop_hook")] == [False, True]
    assert [f"mail for {client.session_id}" in text for text in shown.texts] == [True, True]
    feedback = next(
        row for row in rows if str(row.get("message", {}).get("content")).startswith("Stop hook feedback:\n")
    )
    assert "origin" not in feedback
    assert "hook_blocking_error" in kinds(rows)
    assert [row["subtype"] for row in rows if row["type"] == "system"] == [
        "stop_hook_summary",
        "stop_hook_summary",
        "turn_duration",
    ]


def test_a_stop_hooks_context_is_shown_once(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(stop_hook=hook(CONTEXT))) as client:
        client.type("hello")
        assert client.wait_shown(lambda shown: shown.kind == "hook").texts == (
            "Stop hook additional context: some mail",
        )
        client.wait_status("idle")
        assert [name for name in kinds(client.transcript()) if name.startswith("hook")] == [
            "hook_success",
            "hook_additional_context",
        ]


@pytest.mark.parametrize("body", ["", "print('plain words')", "print('{}'); sys.exit(1)"])
def test_a_stop_hook_with_nothing_to_say_ends_the_turn(tmp_path: Path, body: str) -> None:
    with FakeClient(tmp_path, Plan(stop_hook=hook(body))) as client:
        client.type("hello")
        client.wait_status("idle")
        assert [shown.kind for shown in client.shown] == ["human"]


def test_a_stop_hook_that_exits_with_two_blocks_with_its_stderr(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(stop_hook=hook("sys.stderr.write('not yet'); sys.exit(2)"))) as client:
        client.type("hello")
        assert "not yet" in client.wait_shown(lambda shown: shown.kind == "hook").texts[0]


def test_an_event_waits_while_a_stop_hook_runs_and_goes_on(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED, turn_ms=None, stop_hook=hook(CONTEXT))) as client:
        connected(client).type("work")
        push(client, "hello")
        client.finish_turn()
        client.wait_shown(lambda shown: shown.kind == "hook")
        client.finish_turn()
        client.wait_shown(lambda shown: shown.kind == "channel")
        assert [shown.kind for shown in client.shown] == ["human", "hook", "channel"]


def test_escape_while_a_stop_hook_runs_throws_its_words_away(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    slow = hook(f"open({str(gate)!r}).read()\n{BLOCK}")
    with FakeClient(tmp_path, Plan(stop_hook=slow, turn_ms=None)) as client:
        client.type("hello")
        client.finish_turn()
        with open(gate, "w", encoding="ascii"):
            client.interrupt()
        client.wait_status("idle")
        assert [shown.kind for shown in client.shown] == ["human"]
        assert client.events("stop_hook") == []


# ---- the inbox


def frame(text: str, **more: Any) -> str:
    return json.dumps({"type": "user", "message": {"role": "user", "content": text}, **more}) + "\n"


def wrapped(text: str, attributes: str = 'from-name="agent-ways"') -> str:
    return f"<cross-session-message {attributes}>\n{text}\n</cross-session-message>"


def post(client: FakeClient, *frames: str) -> None:
    """From this test's process: a stranger."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(client.socket_path)
        connection.sendall("".join(frames).encode())


@pytest.mark.parametrize("version", ["2.1.332", "2.1.285"])
def test_a_message_in_the_inbox_starts_a_turn_with_its_senders_credentials(tmp_path: Path, version: Any) -> None:
    with FakeClient(tmp_path, Plan(version=version)) as client:
        auth = json.dumps({"type": "auth", "token": client.token}) + "\n"
        post(client, auth, frame(wrapped("hello"), session_id=client.session_id, priority="next"))
        shown = client.wait_shown()
        assert shown.kind == "peer"
        assert shown.texts[0].startswith(f"{PEER_FIRST_LINE}\n{wrapped('hello')}\n")
        client.wait_status("idle")
        rows = client.transcript()
    assert next(row for row in rows if row.get("operation") == "enqueue")["content"] == wrapped("hello")
    origin = next(row for row in rows if row["type"] == "user")["origin"]
    assert origin["verifiedPeerPid"] == os.getpid()
    assert (origin["from"], origin["name"], origin["body"]) == ("unknown", "agent-ways", "hello")


def test_a_frame_for_another_session_is_dropped(tmp_path: Path) -> None:
    with FakeClient(tmp_path) as client:
        old = client.session_id
        client.clear()
        post(client, frame("hello", session_id=old))
        assert client.wait_event("inbox")["fate"] == "dropped"
        assert client.shown == []


def test_in_bypass_mode_strangers_are_held_behind_a_dialog_and_own_children_are_not(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(permission_mode="bypassPermissions")) as client:
        client.spawn([sys.executable, "-I", "-S", "-c", POST, client.socket_path, frame("from a child")])
        assert client.wait_event("inbox")["fate"] == "accepted"
        client.wait_shown(lambda shown: "from a child" in shown.texts[0])
        post(client, frame("from a stranger"))
        assert client.wait_event("inbox", count=2)["fate"] == "held"
        assert client.record()["status"] == "waiting"
        assert client.release_held(accept=True) == 1
        client.wait_shown(lambda shown: "from a stranger" in shown.texts[0])


@pytest.mark.parametrize(("setting", "fate"), [("hold", "held"), ("refuse", "refused"), ("accept", "accepted")])
def test_the_setting_decides(tmp_path: Path, setting: Any, fate: str) -> None:
    with FakeClient(tmp_path, Plan(inbox=setting)) as client:
        post(client, frame("hello"))
        assert client.wait_event("inbox")["fate"] == fate


def test_an_inbox_that_is_off_has_no_socket_no_variable_and_no_path_in_the_record(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, inbox="off")) as client:
        connected(client)
        assert "messagingSocketPath" not in client.record()
        env = client.call_tool("env")["structuredContent"]
        assert not [name for name in env if "MESSAGING" in name]


def test_the_same_text_and_bursts_are_dropped(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(turn_ms=None)) as client:
        client.type("work")
        post(client, frame("same"), frame("same"))
        assert client.wait_event("inbox", count=2)["reason"] == "same text"
        post(client, *(frame(f"message {number}") for number in range(40)))
        fates = [client.wait_event("inbox", count=3 + number) for number in range(40)]
        assert sum(event["fate"] == "accepted" for event in fates) == 28
        assert {event["reason"] for event in fates if event["fate"] == "dropped"} == {"rate"}


def test_an_overlong_line_ends_the_connection(tmp_path: Path) -> None:
    with FakeClient(tmp_path) as client, socket.socket(socket.AF_UNIX) as connection:
        connection.connect(client.socket_path)
        connection.settimeout(10)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            connection.sendall(b"x" * 20_000_000)


def test_a_channel_event_and_a_peer_message_do_not_share_a_turn(tmp_path: Path, toy: Toy) -> None:
    with FakeClient(tmp_path, Plan(server=toy, argv=FLAGGED, turn_ms=None)) as client:
        connected(client).type("work")
        push(client, "by channel")
        post(client, frame("by inbox"))
        client.wait_event("inbox")
        client.finish_turn()
        client.wait_shown(lambda shown: shown.kind == "channel")
        client.finish_turn()
        found: Shown = client.wait_shown(lambda shown: shown.kind == "peer")
        assert len(found.texts) == 1
