"""The server ends when its client does, however that happens, and not before (SRV-8)."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from subprocess import PIPE
from typing import TYPE_CHECKING

import pytest

from agent_ways.server import stdio
from tests.server.serving import PROBE, SERVER, markers, markers_dir
from tests.support.fake_client import FLAGGED, FakeClient, Plan
from tests.support.processes import ProcessHandle
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


HOLDER = """
import json, os, subprocess, sys, time
home, entrypoint, stdin, stdout, *command = sys.argv[1:]
folder = os.path.join(home, ".claude", "sessions")
os.makedirs(folder)
start = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
record = {"pid": os.getpid(), "sessionId": "s-1", "procStart": start, "entrypoint": entrypoint}
with open(os.path.join(folder, f"{os.getpid()}.json"), "w") as file:
    json.dump(record, file)
env = {"HOME": home, "CLAUDE_CODE_ENTRYPOINT": entrypoint}
server = subprocess.Popen(command, stdin=int(stdin), stdout=int(stdout), stderr=subprocess.DEVNULL, env=env)
print(server.pid, flush=True)
server.wait()
"""
"""A client that only has the server's streams from somebody who keeps both."""


@pytest.mark.demand("SRV-8")
@pytest.mark.parametrize("entrypoint", ["cli", "sdk-cli"])
def test_a_client_that_is_gone_is_the_end_whoever_holds_both_streams(entrypoint: str, tmp_path: Path) -> None:
    (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
    given = [str(tmp_path), entrypoint, str(theirs_in), str(theirs_out), *SERVER]
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, *given], stdout=PIPE, pass_fds=(theirs_in, theirs_out)
    ) as client:
        assert client.stdout is not None
        handle = ProcessHandle(int(client.stdout.readline()))
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        os.write(ours_in, json.dumps(ready).encode() + b"\n")
        for line in (initialize(), request(1, "ping")):  # the session is looked for behind the first answer
            os.write(ours_in, json.dumps(line).encode() + b"\n")
            while not os.read(ours_out, 1 << 16).endswith(b"\n"):
                pass
        client.kill()
        began = time.monotonic()
        assert handle.wait(10)
        assert time.monotonic() - began < 10
    for fd in (theirs_in, ours_in, ours_out, theirs_out):
        os.close(fd)


@pytest.mark.demand("SRV-8")
def test_a_killed_client_does_not_leave_a_server_that_works_off_its_last_calls(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    slow = SERVER[-1].replace(
        "main([])",
        "import time\nfrom agent_ways.server.modules.ways import Ways\ndef call(*given):\n"
        f"    open({str(begun)!r}, 'a').write('x')\n    time.sleep(0.2)\n    return {{}}\nWays.call = call\nmain([])",
    )
    with FakeClient(tmp_path, Plan(server=(*SERVER[:-1], slow))) as client:
        client.wait_handshake()
        handle = client.server
        calls = [request(f"call-{number}", "tools/call", {"name": "ways_status"}) for number in range(200)]
        client.send_raw("".join(json.dumps(one) + "\n" for one in calls).encode())
        until(str(tmp_path), begun.exists)
        client.kill()
        assert handle.wait(10)
        assert len(begun.read_text()) < 100


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
def test_an_interrupt_does_not_end_the_server_of_a_session_whose_record_is_not_there_yet(tmp_path: Path) -> None:
    with Wire(SERVER, env={"HOME": str(tmp_path), "CLAUDE_CODE_ENTRYPOINT": "cli"}) as wire:
        wire.ask("ping")  # it has its handlers now, and has not looked for its session
        wire.signal(signal.SIGINT)
        wire.handshake()
        wire.signal(signal.SIGINT)
        assert wire.ask("ping")["result"] == {}
        wire.signal(signal.SIGTERM)
        assert wire.wait_exit() == 0


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


@pytest.mark.demand("SRV-1")
def test_a_client_that_does_not_read_is_not_read_either_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    call = request("big", "tools/call", {"name": "probe_echo", "arguments": {"text": "x" * 4900, "times": 10}})
    line = (json.dumps(call) + "\n").encode()
    with subprocess.Popen(PROBE, stdin=PIPE, stdout=PIPE, env={"HOME": str(tmp_path)}, bufsize=0) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        os.set_blocking(server.stdin.fileno(), False)
        rest, calls = memoryview(b""), 0
        while select.select([], [server.stdin], [], 1.0)[1]:
            if not rest:
                rest, calls = memoryview(line), calls + 1
            rest = rest[server.stdin.write(rest) or 0 :]
            assert calls * 2 * 49_000 < 2 * stdio.BACKLOG
        answers = 0
        while answers < calls - bool(rest):
            answers += os.read(server.stdout.fileno(), 1 << 20).count(b"\n")
        os.set_blocking(server.stdin.fileno(), True)
        server.stdin.write(rest)
        server.stdin.close()
        assert server.stdout.read().count(b"\n") + answers == calls
        assert server.wait(10) == 0


@pytest.mark.demand("SRV-8")
def test_the_end_of_input_behind_a_backlog_that_nobody_reads_is_the_end(tmp_path: Path) -> None:
    call = request("big", "tools/call", {"name": "probe_echo", "arguments": {"text": "x" * 4900, "times": 10}})
    lines = "".join(json.dumps(one) + "\n" for one in (initialize(), *[call] * 90)).encode()
    assert stdio.BACKLOG < 90 * 2 * 49_000
    with subprocess.Popen(PROBE, stdin=PIPE, stdout=PIPE, env={"HOME": str(tmp_path)}, bufsize=0) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(lines)  # what the server no longer reads fits into the pipe
        server.stdin.close()
        assert server.wait(10) == 0


@pytest.mark.demand("SRV-8", "SRV-11")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("act", ["mkdir", "open", "write", "close", "rename"])
def test_a_signal_at_any_moment_of_the_marker_s_making_leaves_nothing(
    tmp_path: Path, act: str, when: str, number: signal.Signals
) -> None:
    with FakeClient(tmp_path, Plan(server=signalled(tmp_path, act, when, number))) as client:
        assert client.wait_server_exit()["code"] == 0
        state = os.path.join(client.plan.home, ".local")
        assert [name for _, _, names in os.walk(state) for name in names] == []
        assert (tmp_path / "signalled").exists()


@pytest.mark.demand("SRV-8", "SRV-11")
@pytest.mark.parametrize("act", ["rename", "unlink"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_signal_at_any_moment_of_the_marker_s_renaming_and_removal_leaves_nothing(
    tmp_path: Path, act: str, when: str
) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        client.ask("ping")
        second = client.start_server(signalled(tmp_path, act, when, signal.SIGTERM, made=False))
        client.wait_event("handshake", lambda event: event["key"] == second)
        client.ask("ping", key=second)
        if act == "rename":
            client.clear()
        else:
            client.close_stream("stdin", key=second)
        assert client.wait_server_exit(second)["code"] == 0
        assert (tmp_path / "signalled").exists()
        mine = client.server_pid
        assert not [name for name in markers(client) if name.endswith(f".{mine}") or name.startswith(".")]


SIGNALLED = """
import os
real = {name: getattr(os, name) for name in ("mkdir", "open", "write", "close", "rename", "unlink")}
files, struck = [], []
def strike():
    struck.append(True)
    real["close"](real["open"](SIGN, os.O_CREAT))
    os.kill(os.getpid(), NUMBER)
def wrapped(name):
    def act(*given, **more):
        what = given[0]
        ours = what in files if name in ("write", "close") else "/servers" in str(what)
        if ours and name == "open":
            ours = str(what).endswith(".tmp")
        elif name in ("rename", "unlink"):
            ours = ours and str(what).endswith(".tmp") is MADE
        hit = ours and name == ACT and not struck
        if hit and WHEN == "before":
            strike()
        result = real[name](*given, **more)
        if ours and name == "open":
            files.append(result)
        if hit and WHEN == "after":
            strike()
        return result
    return act
for name in real:
    setattr(os, name, wrapped(name))
main([])"""


def signalled(tmp_path: Path, act: str, when: str, number: int, *, made: bool = True) -> tuple[str, ...]:
    """The server that gets the signal right before or after it first does `act` to its marker.

    `made`: while it makes the marker, else when it moves or removes it.
    """
    given = {"SIGN": str(tmp_path / "signalled"), "ACT": act, "WHEN": when, "NUMBER": int(number), "MADE": made}
    names = "".join(f"{name} = {value!r}\n" for name, value in given.items())
    return (*SERVER[:-1], SERVER[-1].replace("main([])", names + SIGNALLED))


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
