"""The fake's files against those that the real clients wrote (`tests/claude/fixtures`): it makes nothing up.

A row of the fake may lack what nobody reads; it may not have a key, or a type of value, that the real one lacks.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.fake_client import FLAGGED, FakeClient, Plan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JSON = dict[str, Any]

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "claude", "fixtures")


FREE = (".toolUseResult", ".message.content[].input", ".message.content[].content", ".rendered[]")
"""What differs from tool to tool, and the client's own words, which the fixtures leave out."""


def real_files(version: str, ending: str, beginning: str = "") -> Iterator[str]:
    for folder, _, names in os.walk(os.path.join(FIXTURES, version)):
        for name in names:
            if name.endswith(ending) and name.startswith(beginning):
                yield os.path.join(folder, name)


def real_rows(version: str) -> list[JSON]:
    rows = []
    for path in real_files(version, ".jsonl", "transcript"):
        with open(path, encoding="utf-8") as file:
            rows += [json.loads(line) for line in file if line.endswith("\n")]
    return rows


def species(row: JSON) -> str:
    """What kind of row it is, as fine as what proves something."""
    origin = row["origin"]["kind"] if isinstance(row.get("origin"), dict) else ""
    inner = row["attachment"]["type"] if "attachment" in row else ""
    content = row.get("message", {}).get("content")
    block = content[0].get("type", "") if isinstance(content, list) and content else ""
    return ":".join(
        str(part) for part in (row["type"], row.get("subtype", row.get("operation", "")), origin, inner, block)
    )


def shape(value: Any, where: str = "") -> set[tuple[str, str]]:
    """Every key below an object with the kind of its value; lists are looked into, numbers are one kind."""
    if isinstance(value, dict):
        found: set[tuple[str, str]] = set()
        for name, inner in value.items():
            found |= {(f"{where}.{name}", kind(inner)), *shape(inner, f"{where}.{name}")}
        return found
    if isinstance(value, list):
        return set().union(*(shape(inner, f"{where}[]") for inner in value))
    return set()


def kind(value: Any) -> str:
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


@pytest.fixture(params=["2.1.332", "2.1.285"])
def version(request: pytest.FixtureRequest) -> Any:
    return request.param


def a_full_life(root: Path, toy: tuple[str, ...], version: Any) -> list[JSON]:
    """Rows of every species that the fake writes."""
    with FakeClient(root, Plan(server=toy, argv=FLAGGED, version=version, stop_hook=hook())) as client:
        client.wait_handshake()
        client.wait_channel_open()
        client.type("block")
        client.wait_status("idle", count=1)
        client.type("context")
        client.wait_status("idle", count=2)
        client.call_tool("push", {"content": "an event", "meta": {"id": "s-1"}})
        client.wait_status("idle", count=3)
        client.model_call("echo", {"a": 1})
        client.wait_status("idle", count=4)
        tool = client.begin_tool("Bash", {"command": "make"})
        client.call_tool("push", {"content": "mid-turn"})
        client.wait_channel_event(count=2)
        client.end_tool(tool)
        client.wait_status("idle", count=5)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(client.socket_path)
            text = '<cross-session-message from-name="agent-ways">\nhello\n</cross-session-message>'
            frame = {"type": "user", "message": {"role": "user", "content": text}}
            connection.sendall(json.dumps(frame).encode() + b"\n")
        client.wait_status("idle", count=6)
        rows = client.transcript()
        client.clear()
        return rows + client.transcript()


def hook() -> tuple[str, ...]:
    """A Stop hook that blocks the first turn of this life and adds context to the second."""
    body = (
        "import json, sys; given = json.load(sys.stdin)\n"
        "turn = open(given['transcript_path']).read().count('\"promptSource\":\"typed\"')\n"
        "context = {'hookSpecificOutput': {'hookEventName': 'Stop', 'additionalContext': 'mail'}}\n"
        "answer = {1: {'decision': 'block', 'reason': 'mail'}, 2: context}.get(turn)\n"
        "answer and not given['stop_hook_active'] and print(json.dumps(answer))"
    )
    return (sys.executable, "-I", "-S", "-c", body)


def test_no_row_has_a_key_or_a_type_that_the_real_clients_rows_lack(
    tmp_path: Path, toy: tuple[str, ...], version: Any
) -> None:
    real: dict[str, set[tuple[str, str]]] = {}
    for row in real_rows(version):
        real.setdefault(species(row), set()).update(shape(row))
    ours = a_full_life(tmp_path, toy, version)
    assert {
        "user::human::",
        "user::channel::",
        "user::peer::",
        "user::::tool_result",
        "attachment:::queued_command:",
        "attachment:::hook_blocking_error:",
        "attachment:::hook_additional_context:",
        "queue-operation:enqueue:::",
        "queue-operation:dequeue:::",
        "queue-operation:remove:::",
        "system:local_command:::",
    } <= {species(row) for row in ours}
    for row in ours:
        assert species(row) in real, row
        made_up = {each for each in shape(row) - real[species(row)] if not each[0].startswith(FREE)}
        assert not made_up, (species(row), made_up)


def test_records_have_the_real_clients_keys_in_its_order(tmp_path: Path, version: Any) -> None:
    with FakeClient(tmp_path, Plan(version=version, env={"TMUX": "x"})) as client:
        record = client.record()
    compared = 0
    for path in real_files(version, ".json", "record"):
        with open(path, encoding="utf-8") as file:
            real = json.load(file)
        if real.get("status") == "idle":
            compared += 1
            assert list(record) == list(real), path
            assert shape(record) == shape(real)
    assert compared > 0


def test_history_rows_have_the_real_clients_keys_in_its_order(tmp_path: Path, version: Any) -> None:
    with FakeClient(tmp_path, Plan(version=version)) as client:
        client.type("hello")
        client.wait_status("idle")
        with open(os.path.join(client.plan.config_dir, "history.jsonl"), encoding="utf-8") as file:
            row = json.loads(file.readline())
    path = next(real_files(version, "history.jsonl"))
    with open(path, encoding="utf-8") as file:
        assert list(json.loads(file.readline())) == list(row)
