"""The writer: whole lines, in order, never blocking."""

from __future__ import annotations

import fcntl
import os
import socket
import time
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


@pytest.mark.demand("SRV-7")
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(0, 4), st.integers(1, 3000)),
            st.tuples(st.just("cancel"), st.integers(0, 4), st.just(0)),
            st.tuples(st.just("flush"), st.just(0), st.just(0)),
        ),
        max_size=60,
    )
)
def test_whatever_is_cancelled_when_no_answer_is_torn_and_none_leaves_after_its_cancel(
    steps: list[tuple[str, int, int]],
) -> None:
    """A model in which every answer is one line: those that may be dropped are dropped, others come whole, in order."""
    reader, fd = os.pipe()
    fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 4096)
    try:
        writer, number, waiting, dropped = Writer(fd), 0, list[tuple[int, bytes]](), set[bytes]()
        sent = list[bytes]()
        os.write(fd, b"#" * 4096)  # nothing begins before the reader has begun
        for what, id_, size in steps:
            if what == "put":
                line = b"%d:%s\n" % (number, b"x" * size)
                number += 1
                writer.put(id_, line)
                waiting.append((id_, line))
                sent.append(line)
            elif what == "cancel":
                writer.cancel(id_)
                dropped |= {line for found, line in waiting if found == id_}
                waiting = [(found, line) for found, line in waiting if found != id_]
            else:
                assert writer.flush() is (writer.pending == 0)
            assert writer.pending == sum(len(line) for _, line in waiting)
        taken = b""
        while not writer.flush():
            taken += os.read(reader, 1 << 20)
        assert writer.pending == 0
    finally:
        os.close(fd)
        while part := os.read(reader, 1 << 20):
            taken += part
        os.close(reader)
    assert taken == b"#" * 4096 + b"".join(line for line in sent if line not in dropped)


@pytest.mark.demand("SRV-7")
@pytest.mark.parametrize("same_id", [False, True])
def test_many_cancels_behind_a_long_backlog_cost_linear_time(same_id: bool) -> None:
    reader, fd = os.pipe()
    writer = Writer(fd)
    writer.put(None, b"x" * (1 << 17))
    assert not writer.flush()
    for number in range(100_000):
        writer.put(0 if same_id else number, b"answer\n")
    began = time.process_time()
    for number in range(20_000):
        writer.cancel(0 if same_id else number)
    assert time.process_time() - began < 2.0  # looking through the backlog for each took 50 s
    os.close(reader)
    os.close(fd)
