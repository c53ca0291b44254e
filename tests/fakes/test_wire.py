"""The wire helper: tried on the toy server."""

from __future__ import annotations

import signal
import sys
import time

import pytest

from tests.support.wire import Wire, WireError, request

Toy = tuple[str, ...]
SILENT = (sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()")


@pytest.mark.parametrize("version", ["2.1.332", "2.1.285"])
def test_a_handshake_sends_what_that_client_sends(toy: Toy, version: str) -> None:
    with Wire(toy) as wire:
        answer = wire.handshake(version)
        sent = [line.json() for line in wire.lines if line.direction == "sent"]
    assert answer["result"]["protocolVersion"] == "2025-11-25"
    methods = [message["method"] for message in sent]
    expected = ["initialize", "notifications/initialized", "tools/list"]
    assert methods == (expected if version == "2.1.285" else ["server/discover", *expected])
    assert sent[-1] == {"method": "tools/list", "jsonrpc": "2.0", "id": 1}


def test_an_answer_is_found_among_other_messages_which_keep_their_order(toy: Toy) -> None:
    with Wire(toy) as wire:
        wire.send(request(7, "tools/call", {"name": "push", "arguments": {"content": "a"}}), request(8, "ping"))
        assert wire.answer(8)["result"] == {}
        assert wire.receive()["params"] == {"content": "a"}
        assert wire.receive()["id"] == 7


def test_an_id_of_another_type_is_no_answer(toy: Toy) -> None:
    with Wire(toy) as wire:
        wire.send(request("1", "ping"))
        with pytest.raises(WireError, match="in vain"):
            wire.answer(1, timeout=0.3)
        assert wire.answer("1")["result"] == {}


def test_silence_is_shown_by_a_ping(toy: Toy) -> None:
    with Wire(toy) as wire:
        wire.send({"jsonrpc": "2.0", "method": "notifications/unknown"})
        assert wire.until_ping() == []
        wire.send(request(5, "ping"))
        assert [line.json()["id"] for line in wire.until_ping()] == [5]


def test_waiting_for_a_silent_server_is_bounded_and_says_what_was_sent() -> None:
    with Wire(SILENT) as wire:
        before = time.monotonic()
        with pytest.raises(WireError, match=r"in vain(.|\n)*ping(.|\n)*stderr"):
            wire.ask("ping", timeout=0.2)
        assert time.monotonic() - before < 2


@pytest.mark.parametrize("streams", ["pipe", "socketpair"])
def test_eight_megabytes_go_and_come_without_either_side_blocking_the_other(toy: Toy, streams: str) -> None:
    with Wire(toy, streams=streams) as wire:  # type: ignore[arg-type]  # parametrized by name
        wire.handshake()
        text = "x" * 8_000_000
        assert wire.call("echo", {"text": text}, timeout=30)["structuredContent"] == {"text": text}


def test_end_of_input_ends_the_server_and_its_status_is_told(toy: Toy) -> None:
    with Wire(toy) as wire:
        wire.handshake()
        wire.close_stdin()
        assert wire.wait_exit() == 0
        assert wire.rest() == []


def test_a_signal_ends_the_server_and_its_status_says_which(toy: Toy) -> None:
    with Wire(toy) as wire:
        wire.handshake()
        wire.signal(signal.SIGTERM)
        assert wire.wait_exit() == -signal.SIGTERM


def test_a_server_that_ignores_the_end_of_input_is_killed_on_leaving() -> None:
    deaf = (sys.executable, "-I", "-S", "-c", "import signal; print('up', flush=True); signal.pause()")
    with Wire(deaf) as wire:
        assert wire.receive_line().data == b"up"
        handle = wire.process
    assert handle.returncode == -signal.SIGKILL


def test_a_stray_line_on_stdout_is_no_message() -> None:
    with Wire((sys.executable, "-I", "-S", "-c", "print('hello')")) as wire, pytest.raises(WireError, match="not JSON"):
        wire.receive()


def test_what_stood_on_stderr_is_kept() -> None:
    with Wire((sys.executable, "-I", "-S", "-c", "import sys; sys.exit('no luck')")) as wire:
        assert wire.wait_exit() == 1
        assert wire.stderr_text == "no luck\n"
