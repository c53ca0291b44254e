"""The stdio edge under bad input and bad surroundings: a clear answer or a quiet exit, never a hang."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.serving import PROBE, SERVER
from tests.support.fake_client import FLAGGED, FakeClient, Plan
from tests.support.wire import CHANNEL, Wire, initialize, request, tools_list

if TYPE_CHECKING:
    from pathlib import Path

HOME = {"HOME": "/nonexistent"}


def started(command: tuple[str, ...] = PROBE, **more: Any) -> Wire:
    wire = Wire(command, env={**HOME, **more.pop("env", {})}, **more)
    wire.handshake()
    return wire


@pytest.mark.demand("SRV-1", "SRV-5")
@pytest.mark.field_report(31)
@pytest.mark.parametrize("size", [70_000, 1 << 20, 8 << 20])
def test_a_long_line_is_read_whole(size: int) -> None:
    with started() as wire:
        wire.send(request("big", "ping", {"_meta": {"x": "a" * size}}))
        assert wire.answer("big", timeout=30)["result"] == {}


@pytest.mark.demand("SRV-1")
@pytest.mark.field_report(31)
@pytest.mark.field_report(37)
def test_a_line_that_comes_byte_by_byte_is_one_line() -> None:
    with started() as wire:
        for byte in json.dumps(request("slow", "ping")).encode() + b"\r\n":
            wire.send_bytes(bytes([byte]))
        assert wire.answer("slow")["result"] == {}


@pytest.mark.demand("SRV-1")
@pytest.mark.field_report(31)
def test_a_long_result_reaches_a_slow_reader_whole() -> None:
    with started() as wire:
        wire.send(
            *[
                request(n, "tools/call", {"name": "probe_echo", "arguments": {"text": "x" * 45_000}})
                for n in range(3, 43)
            ]
        )
        for number in range(3, 43):
            assert len(wire.answer(number)["result"]["structuredContent"]["text"]) == 45_000


@pytest.mark.demand("SRV-1")
@pytest.mark.field_report(29)
def test_what_a_module_prints_never_reaches_the_real_stdout() -> None:
    with started() as wire:
        for stream in ("", "\n", '{"jsonrpc":"2.0","id":1,"result":{}}'):
            assert wire.call("probe_noise", {"text": stream})["structuredContent"] == {"done": True}
        assert wire.until_ping() == []
        for line in wire.lines:
            assert line.json()


@pytest.mark.demand("SRV-1")
@pytest.mark.parametrize("stderr", ["unread", "closed"])
def test_an_unread_stderr_never_blocks_500_failing_calls(stderr: str) -> None:
    with started(stderr=stderr) as wire:
        for _ in range(500):
            assert wire.call("probe_fail", {"how": "x" * 200})["isError"] is True
        wire.call("probe_noise", {"text": "y" * 200_000})
        wire.close_stdin()
        assert wire.wait_exit() == 0


@pytest.mark.demand("SRV-1")
@pytest.mark.parametrize("stderr", ["full disk", "full file", "terminal that nobody reads", "gone terminal"])
def test_a_stderr_that_can_not_be_written_costs_what_is_said_and_nothing_else(stderr: str, tmp_path: Path) -> None:
    keeper, terminal = os.openpty()
    path = {"full disk": "/dev/full", "full file": str(tmp_path / "file")}.get(stderr) or os.ttyname(terminal)
    limit = "ulimit -f 1; trap '' XFSZ; " if stderr == "full file" else ""
    quoted = " ".join(f"'{part}'" for part in PROBE)
    with started(("/bin/sh", "-c", f"{limit}exec {quoted} 2>>{path}")) as wire:
        os.close(terminal)
        if stderr == "gone terminal":
            os.close(keeper)
        for _ in range(100):
            assert wire.call("probe_fail", {"how": "x" * 200})["isError"] is True
        assert wire.call("probe_echo", {"text": "still here"})["structuredContent"] == {"text": "still here"}
        wire.close_stdin()
        assert wire.wait_exit() == 0
    if stderr != "gone terminal":
        os.close(keeper)


@pytest.mark.demand("SRV-4", "SRV-5")
@pytest.mark.field_report(34)
@pytest.mark.parametrize("how", ["exit", "recursion", "json", "usage", "anything"])
def test_a_failing_tool_is_an_answer_and_the_next_call_works(how: str) -> None:
    with started() as wire:
        failed = wire.call("probe_fail", {"how": how})
        assert failed["isError"] is True
        assert failed["content"][0]["text"]
        assert wire.call("probe_echo", {"text": "still here"})["structuredContent"] == {"text": "still here"}


@pytest.mark.demand("SRV-4")
@pytest.mark.field_report(34)
def test_the_list_of_tools_is_the_same_bytes_whatever_fails_and_after_a_restart() -> None:
    seen = set()
    for fail in ("", "import", "start", "tick"):
        with started(env={"PROBE_FAIL": fail} if fail else {}) as wire:
            for _ in range(2):
                wire.send(tools_list())
                seen.add(wire.receive_line().data)
            wire.call("ways_status")
            wire.send(tools_list())
            seen.add(wire.receive_line().data)
    assert len(seen) == 1


@pytest.mark.demand("SRV-5", "SRV-8")
@pytest.mark.field_report(24)
@pytest.mark.parametrize("line", [b"\xff\xfe\x00", b"{" * 100_000, b'"' + b"\\u0000" * 50_000 + b'"', b"\x00" * 70_000])
def test_after_rubbish_the_next_ping_works(line: bytes) -> None:
    with started() as wire:
        wire.send_bytes(line + b"\n")
        before = wire.until_ping()
        assert len(before) == 1
        assert before[0].json()["error"]["code"] in (-32700, -32600)
        assert before[0].json()["id"] is None


@pytest.mark.demand("SRV-5")
@pytest.mark.field_report(37)
def test_blank_lines_notifications_and_responses_are_silent() -> None:
    with started() as wire:
        wire.send_bytes(b"\n" * 50 + b"   \n\r\n\t\n")
        wire.send({"jsonrpc": "2.0", "id": 5, "result": {}}, {"jsonrpc": "2.0", "method": "tools/list"})
        wire.send({"jsonrpc": "2.0", "method": "notifications/claude/channel/permission_request", "params": {}})
        assert wire.until_ping() == []


@pytest.mark.demand("SRV-7")
def test_a_call_that_was_cancelled_in_time_gets_no_line() -> None:
    with started() as wire:
        call = request("c", "tools/call", {"name": "probe_echo", "arguments": {"text": "x"}})
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c", "reason": "t"}}
        wire.send_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in (call, cancel)))
        assert wire.until_ping() == []


@pytest.mark.demand("SRV-5", "SRV-7")
@pytest.mark.field_report(27)
def test_ids_in_flight_together_keep_their_type() -> None:
    with started() as wire:
        ids = [0, "", "1", 1, 2**53 + 1, -1, "\ud800"]
        wire.send_bytes(b"".join(json.dumps(request(one, "ping")).encode() + b"\n" for one in ids))
        answered = [wire.receive()["id"] for _ in ids]
        assert [(type(one), one) for one in answered] == [(type(one), one) for one in ids]


@pytest.mark.demand("SRV-10", "SRV-3")
def test_no_event_leaves_in_the_first_second_after_the_tools_were_listed(tmp_path: Path) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    (drop / "1.json").write_text(json.dumps({"content": "early", "meta": {"kind": "test"}}))
    with FakeClient(tmp_path, Plan(server=PROBE, argv=FLAGGED, server_env={"PROBE_DROP": str(drop)})) as client:
        client.wait_handshake()
        client.wait_shown(lambda shown: "early" in shown.texts[0])
        listed = next(line.at for line in client.lines if '"tools":[' in line.text)
        pushed = next(line.at for line in client.lines if CHANNEL in line.text)
        assert pushed - listed >= 1.0
        assert [event.fate for event in client.channel_events] == ["play"]


@pytest.mark.demand("ID-5", "SRV-10")
@pytest.mark.parametrize("entrypoint", ["sdk-cli", "sdk-py"])
def test_no_event_is_pushed_into_an_sdk_session(tmp_path: Path, entrypoint: str) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    (drop / "1.json").write_text(json.dumps({"content": "early"}))
    plan = Plan(server=PROBE, argv=FLAGGED, entrypoint=entrypoint, server_env={"PROBE_DROP": str(drop)})
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        client.ask("ping")
        assert list(drop.iterdir()) == []
        client.exit()
        assert client.channel_events == []


@pytest.mark.demand("SRV-4", "SRV-10")
def test_an_event_that_the_client_would_drop_is_the_module_s_fault_and_is_named(tmp_path: Path) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    (drop / "1.json").write_text(json.dumps({"content": "x", "meta": {"source": "operator"}}))
    with FakeClient(tmp_path, Plan(server=PROBE, argv=FLAGGED, server_env={"PROBE_DROP": str(drop)})) as client:
        client.wait_handshake()
        client.ask("ping")
        failed = client.call_tool("ways_status")["structuredContent"]["modules"]["failed"]
        assert [one["name"] for one in failed] == ["probe"]
        assert "source" in failed[0]["reason"]


@pytest.mark.demand("SRV-9")
@pytest.mark.field_report(35)
def test_a_thousand_calls_leave_nothing_behind() -> None:
    with started(SERVER) as wire:
        wire.call("ways_status")
        before = descriptors(wire.pid), resident(wire.pid)
        for _ in range(1000):
            assert wire.call("ways_status")["isError"] is False
        assert descriptors(wire.pid) == before[0]
        assert resident(wire.pid) - before[1] < 1 << 20


@pytest.mark.demand("SRV-8")
@pytest.mark.parametrize("env", [{}, {"HOME": ""}, {"HOME": "/proc"}, {"HOME": "/nonexistent", "XDG_STATE_HOME": "x"}])
def test_no_home_or_one_that_can_not_be_written_is_no_reason_to_fail(env: dict[str, str], tmp_path: Path) -> None:
    with Wire(SERVER, env=env, cwd=tmp_path) as wire:
        wire.handshake()
        assert wire.call("ways_status")["isError"] is False
        wire.close_stdin()
        assert wire.wait_exit() == 0
        assert wire.stderr_text == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.demand("ID-4", "SRV-12")
def test_without_a_process_table_nothing_is_claimed() -> None:
    blind = SERVER[-1].replace(
        "main([])", "import agent_ways.base.process as p\np.ProcTable.look = lambda s, pid: None\nmain([])"
    )
    with started((*SERVER[:-1], blind)) as wire:
        status = wire.call("ways_status")["structuredContent"]
        assert status["session"]["id"] is None
        assert status["conduits"]["channel"]["state"] == "unknown"


@pytest.mark.demand("SRV-1")
def test_requests_before_the_handshake_ended_are_answered() -> None:
    with Wire(SERVER, env=HOME) as wire:
        wire.send(tools_list(), initialize())
        assert wire.receive()["id"] == 1
        assert wire.receive()["id"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "out"),
    [(["--version"], 0, "ways-mcp "), (["--help"], 0, "usage: ways-mcp"), (["-h"], 0, "usage"), (["serve"], 2, "")],
)
def test_the_command_tells_a_person_what_it_is(arguments: list[str], code: int, out: str) -> None:
    with Wire([sys.executable, "-m", "agent_ways.server", *arguments], env={**HOME, "PYTHONPATH": "src"}) as wire:
        assert wire.wait_exit() == code
        lines = wire.rest()
        assert b"\n".join(line.data for line in lines).decode().startswith(out)
        assert bool(wire.stderr_text) is (code != 0)


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
