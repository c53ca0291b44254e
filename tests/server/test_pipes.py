"""The writer: whole lines, in order, never blocking."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.server.pipes import CHUNK, ClosedError, Writer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["pipe", "socketpair"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    if request.param == "pipe":
        reader, writer = os.pipe()
    else:
        reader, writer = (one.detach() for one in socket.socketpair())
    yield reader, writer
    for fd in (reader, writer):
        try:
            os.close(fd)
        except OSError:
            pass


@pytest.mark.demand("SRV-1")
def test_a_reader_that_takes_nothing_never_blocks_the_writer(ends: tuple[int, int]) -> None:
    reader, fd = ends
    writer = Writer(fd)
    lines = [f"{number:06}".encode() * 200 + b"\n" for number in range(2000)]
    for number, line in enumerate(lines):
        writer.put(number, line)
    assert not writer.flush()
    taken = b""
    while not writer.flush():
        taken += os.read(reader, 1 << 20)
    assert writer.pending == 0
    os.close(fd)
    while part := os.read(reader, 1 << 20):
        taken += part
    assert taken == b"".join(lines)


@pytest.mark.demand("SRV-1", "SRV-8")
def test_a_closed_reader_is_told(ends: tuple[int, int]) -> None:
    reader, fd = ends
    os.close(reader)
    writer = Writer(fd)
    writer.put(1, b"x\n")
    with pytest.raises(ClosedError):
        writer.flush()


@pytest.mark.demand("SRV-7")
@given(cancelled=st.sets(st.integers(0, 9)))
def test_a_cancelled_answer_that_has_not_begun_never_leaves(cancelled: set[int]) -> None:
    reader, fd = os.pipe()
    try:
        writer = Writer(fd)
        for number in range(10):
            writer.put(number, f"{number}\n".encode())
            writer.put(str(number), f"s{number}\n".encode())
        writer.put(None, b"event\n")
        for number in cancelled:
            writer.cancel(number)
            writer.cancel(number)
        assert writer.flush()
        found = os.read(reader, 4096).decode().split()
    finally:
        os.close(reader)
        os.close(fd)
    kept = [
        one for number in range(10) for one in ((str(number),) if number not in cancelled else ()) + (f"s{number}",)
    ]
    assert found == [*kept, "event"]


@pytest.mark.demand("SRV-7")
def test_an_answer_that_waits_behind_a_full_pipe_can_still_be_cancelled() -> None:
    reader, fd = os.pipe()
    writer = Writer(fd)
    writer.put(None, b"x" * (1 << 17))
    assert not writer.flush()
    writer.put(1, b"one\n")
    assert not writer.flush()
    writer.cancel(1)
    taken = b""
    while not writer.flush():
        taken += os.read(reader, 1 << 20)
    os.close(fd)
    while part := os.read(reader, 1 << 20):
        taken += part
    os.close(reader)
    assert b"one" not in taken


@pytest.mark.demand("SRV-7")
def test_a_line_that_has_begun_is_ended_and_the_rest_can_still_be_cancelled() -> None:
    reader, fd = os.pipe()
    writer = Writer(fd)
    big = b"b" * (1 << 20) + b"\n"
    writer.put(1, big)
    writer.put(2, b"two\n")
    assert not writer.flush()
    writer.cancel(1)
    writer.cancel(2)
    taken = b""
    while not writer.flush():
        taken += os.read(reader, 1 << 20)
    os.close(fd)
    while part := os.read(reader, CHUNK):
        taken += part
    os.close(reader)
    assert taken == big
