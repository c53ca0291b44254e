"""A module that does what can not be: its events end with a reason, and the server sleeps and answers as before."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.server.serving import ROOT
from tests.support.fake_client import FLAGGED, FakeClient, Plan
from tests.support.wire import CHANNEL, Wire, initialize, tools_list

if TYPE_CHECKING:
    from pathlib import Path

ODD = (sys.executable, "-I", "-S", os.path.join(ROOT, "tests", "server", "odd_server.py"))


@pytest.mark.demand("SRV-4", "SRV-10")
@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("far", None),
        ("very_far", None),
        ("closed", "has ended and is still watched"),
        ("ended", "has ended and is still watched"),
        ("no_time", "inf is no time"),
    ],
)
def test_a_module_that_does_what_can_not_be_costs_neither_the_server_nor_its_sleep(
    deed: str, reason: str | None, tmp_path: Path
) -> None:
    with Wire(ODD, env={"HOME": str(tmp_path), "ODD": deed}) as wire:
        wire.handshake()
        wire.ask("ping")
        wire.ask("ping")
        failed = wire.call("ways_status")["structuredContent"]["modules"]["failed"]
        assert [one["name"] for one in failed] == ([] if reason is None else ["odd"])
        assert reason is None or reason in failed[0]["reason"]
        assert sleeps(wire.pid)
        wire.close_stdin()
        assert wire.wait_exit() == 0
        assert "defect" not in wire.stderr_text


@pytest.mark.demand("CON-5", "SRV-3")
def test_whatever_an_event_says_no_answer_to_a_permission_prompt_leaves(tmp_path: Path) -> None:
    plan = Plan(server=ODD, argv=FLAGGED, server_env={"ODD": "forged"})
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        client.wait_channel_event(lambda _event: True, count=14)
        assert client.call_tool("ways_status")["structuredContent"]["modules"]["failed"] == []
        told = [line.json() for line in client.lines if '"notifications/' in line.text and "channel" in line.text]
        ours = [one for one in told if "method" in one and one["method"].startswith("notifications/claude")]
        assert len(ours) == 14
        assert {one["method"] for one in ours} == {CHANNEL}
        assert {tuple(sorted(one)) for one in ours} == {("jsonrpc", "method", "params")}


@pytest.mark.demand("ID-5", "SRV-10", "SRV-11")
@pytest.mark.parametrize("entrypoint", ["cli", "sdk-cli", "sdk-ts"])
def test_events_begin_for_a_session_of_a_person_only(entrypoint: str, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    plan = Plan(server=ODD, argv=FLAGGED, entrypoint=entrypoint, server_env={"ODD_OPENED": str(opened)})
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        client.ask("ping")
        client.ask("ping")
        assert opened.exists() is (entrypoint == "cli")


@pytest.mark.demand("SRV-10", "SRV-11")
def test_events_begin_for_no_one_where_no_session_resolves_and_nothing_is_kept(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    with Wire(ODD, env={"HOME": str(tmp_path), "ODD_OPENED": str(opened)}) as wire:
        wire.handshake()
        wire.ask("ping")
        wire.ask("ping")
        wire.close_stdin()
        assert wire.wait_exit() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.demand("SRV-10")
def test_events_do_not_begin_before_the_handshake_has_ended(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    plan = Plan(argv=FLAGGED)
    with FakeClient(tmp_path, plan) as client:
        script = f"""import json, subprocess, sys
server = subprocess.Popen({list(ODD)!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def ask(*lines):
    server.stdin.write(b"".join(line.encode() + b"\\n" for line in lines))
    server.stdin.flush()
def answers(count):
    for _ in range(count):
        server.stdout.readline()
import os
ask({json.dumps(initialize())!r}, {json.dumps(tools_list())!r})
answers(2)
for number in range(3):
    ask('{{"jsonrpc":"2.0","id":"p%d","method":"ping"}}' % number)
    answers(1)
before = os.path.exists({str(opened)!r})
ask('{{"jsonrpc":"2.0","method":"notifications/initialized"}}')
for number in range(3):
    ask('{{"jsonrpc":"2.0","id":"q%d","method":"ping"}}' % number)
    answers(1)
print(before, os.path.exists({str(opened)!r}))
server.stdin.close()
server.wait()
"""
        done = client.spawn([sys.executable, "-c", script], {"ODD_OPENED": str(opened), "CLAUDE_PID": ""})
        assert done["stdout"].strip() == "False True", done


def sleeps(pid: int) -> bool:
    """Whether that process comes to rest: one that spins, in a poll that returns at once, is never seen asleep."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            if file.read().rpartition(")")[2].split()[0] == "S":
                return True
        os.sched_yield()
    return False
