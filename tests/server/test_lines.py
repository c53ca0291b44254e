from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.server.lines import LineBuffer


@pytest.mark.demand("SRV-1")
@given(st.lists(st.binary(max_size=40)), st.data())
def test_any_splitting_of_the_bytes_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]
    stream = b"".join(line + b"\n" for line in lines) + b"rest"
    buffer, found, at = LineBuffer(), [], 0
    while at < len(stream):
        size = data.draw(st.integers(1, len(stream) - at))
        found += buffer.feed(stream[at : at + size])
        at += size
    assert found == lines
    assert buffer.close() == [b"rest"]
    assert buffer.close() == []


@pytest.mark.demand("SRV-1")
def test_what_was_searched_once_is_not_searched_again() -> None:
    buffer = LineBuffer()
    for _ in range(1000):
        assert buffer.feed(b"x" * 100) == []
        assert buffer._searched == len(buffer._data)
    assert buffer.feed(b"\nrest\n") == [b"x" * 100_000, b"rest"]
    assert buffer.close() == []
