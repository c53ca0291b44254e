"""The server ends when its client does, however that happens, and not before (SRV-8)."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.server.serving import PROBE, SERVER, markers, markers_dir
from tests.support.fake_client import FLAGGED, FakeClient, Plan
from tests.support.until import until
from tests.support.wire import Wire, WireError, initialize, request

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.demand("SRV-8")
@pytest.mark.parametrize("version", ["2.1.332", "2.1.285"])
def test_the_client_ends_and_nothing_of_the_server_stays(tmp_path: Path, version: str) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER, argv=FLAGGED, version=version)) as client:  # type: ignore[arg-type]
        client.wait_handshake()
        client.ask("ping")
        assert markers(client) == [f"{client.session_id}.{client.server_pid}"]
        client.exit()
        ended = client.wait_server_exit()
        assert ended["code"] == 0
        assert "SIGKILL" not in ended["signals"]
        assert markers(client) == []
    assert client.survivors == []


@pytest.mark.demand("SRV-8")
def test_a_killed_client_is_the_end_of_input(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        client.ask("ping")
        server = client.server
        client.kill()
        assert server.wait(10)
        until(markers_dir(client), lambda: not markers(client))


@pytest.mark.demand("SRV-8")
@pytest.mark.field_report(6)
@pytest.mark.field_report(18)
@pytest.mark.parametrize("end", ["pidfd", "timer"])
def test_a_killed_client_whose_stdin_another_holds_is_the_end_too(tmp_path: Path, end: str) -> None:
    server = SERVER if end == "pidfd" else without_watches()
    with FakeClient(tmp_path, Plan(server=server)) as client:
        client.wait_handshake()
        client.ask("ping")
        handle = client.server
        held = client.hold_stdin()
        client.kill()
        began = time.monotonic()
        assert handle.wait(10)
        assert time.monotonic() - began < 10
        os.close(held)
        assert markers(client) == []


@pytest.mark.demand("SRV-8")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_0_and_takes_the_marker(tmp_path: Path, number: signal.Signals) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        client.ask("ping")
        assert len(markers(client)) == 1
        client.server.send_signal(number)
        assert client.wait_server_exit()["code"] == 0
        assert markers(client) == []


@pytest.mark.demand("SRV-8")
@pytest.mark.field_report(19)
def test_a_signal_ends_it_also_while_its_answers_are_not_read(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=PROBE)) as client:
        client.wait_handshake()
        client.ask("ping")
        client.stop_reading()
        for number in range(40):
            client.send(
                request(
                    f"big-{number}",
                    "tools/call",
                    {"name": "probe_echo", "arguments": {"text": "x" * 40_000}},
                )
            )
        assert client.server.alive
        client.server.send_signal(signal.SIGTERM)
        assert client.wait_server_exit()["code"] == 0
        assert markers(client) == []


@pytest.mark.demand("SRV-8")
def test_an_interrupt_meant_for_the_terminal_does_not_end_a_live_session_s_server(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        client.ask("ping")
        client.server.send_signal(signal.SIGINT)
        assert client.ask("ping")["result"] == {}
        assert client.server.alive


@pytest.mark.demand("SRV-8")
def test_an_interrupt_ends_a_server_that_was_started_by_hand(tmp_path: Path) -> None:
    with Wire(SERVER, env={"HOME": str(tmp_path)}) as wire:
        wire.handshake()
        wire.signal(signal.SIGINT)
        assert wire.wait_exit() == 0


@pytest.mark.demand("SRV-8")
def test_a_launcher_that_exits_is_no_reason_to_go(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER, launch="launcher-exits")) as client:
        client.wait_handshake()
        assert client.ask("ping")["result"] == {}
        handle = client.server
        client.kill()
        assert handle.wait(10)


@pytest.mark.demand("SRV-8")
@pytest.mark.field_report(37)
def test_the_end_of_input_is_answered_and_then_the_end(tmp_path: Path) -> None:
    with Wire(SERVER, env={"HOME": str(tmp_path)}) as wire:
        wire.send(initialize())
        wire.send_bytes(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        wire.close_stdin()
        assert [line.json()["id"] for line in wire.rest()] == [0, "last"]
        assert wire.wait_exit() == 0


@pytest.mark.demand("SRV-8")
@pytest.mark.field_report(23)
@pytest.mark.parametrize("streams", ["pipe", "socketpair"])
def test_a_closed_stdout_is_a_quiet_end(tmp_path: Path, streams: str) -> None:
    with Wire(SERVER, env={"HOME": str(tmp_path)}, streams=streams) as wire:  # type: ignore[arg-type]
        wire.handshake()
        wire.close_stdout()
        assert wire.wait_exit() == 0
        assert wire.stderr_text == ""


@pytest.mark.demand("SRV-8")
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_start_with_a_closed_stream_is_no_crash(closed: int, tmp_path: Path) -> None:
    redirect = {0: "<&-", 1: ">&-", 2: "2>&-"}[closed]
    line = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    quoted = " ".join("'" + part.replace("'", "'\\''") + "'" for part in SERVER)
    with Wire(["/bin/sh", "-c", f"exec {quoted} {redirect}"], env={"HOME": str(tmp_path)}) as wire:
        try:
            wire.send_bytes(line.encode() + b"\n")
            wire.close_stdin()
        except (WireError, OSError):
            assert closed == 0  # it was gone before it could be asked
        assert wire.wait_exit() == 0
        assert [answer.json()["id"] for answer in wire.rest()] == ([1] if closed == 2 else [])
        assert "Traceback" not in wire.stderr_text


@pytest.mark.demand("SRV-8")
@pytest.mark.field_report(19)
def test_a_client_that_stops_reading_can_not_hold_the_server_after_its_input_ended(tmp_path: Path) -> None:
    with Wire(PROBE, env={"HOME": str(tmp_path)}) as wire:
        wire.handshake()
        call = request("big", "tools/call", {"name": "probe_echo", "arguments": {"text": "x" * 45_000}})
        wire.send(*[call] * 10)
        wire.close_stdin()
        assert wire.handle.wait(10)


def without_watches() -> tuple[str, ...]:
    """The server on a system that has neither pidfd nor inotify, with its look every 4 s shortened."""
    return (
        sys.executable,
        "-I",
        "-S",
        "-c",
        SERVER[-1].replace(
            "main([])",
            "import os\ndel os.pidfd_open\n"
            "import agent_ways.base.watch as watch\nwatch._IN_NONBLOCK_CLOEXEC = -1\n"
            "import agent_ways.server.session as session\nsession.LOOK_EVERY = 0.2\nmain([])",
        ),
    )
