from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.ways.tables import FULL, chart, short, table


def test_columns_are_as_wide_as_their_longest_cell_and_numbers_stand_right() -> None:
    assert table([("day", "n"), ("monday", "5"), ("x", "1200")], numbers=[1]) == (
        "day        n\nmonday     5\nx       1200"
    )


def test_bars_are_to_one_scale_and_none_is_drawn_for_nothing() -> None:
    drawn = chart([("a", [("spent", 0), ("saved", 50)]), ("b", [("spent", 100)])], 40, "utf-8")
    assert drawn.split("\n") == [
        "a  spent  0",
        f"   saved  {FULL * 12}  50",
        f"b  spent  {FULL * 25}  100",
    ]
    assert chart([("a", [("spent", 0)])], 40, "utf-8") == ""
    assert "#" * 25 in chart([("b", [("spent", 100)])], 40, "ascii")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0"), (999, "999"), (1000, "1.0k"), (9949, "9.9k"), (9960, "10k"), (81_234, "81k"), (-5200, "-5.2k")),
        *((999_499, "999k"), (999_500, "1.0M"), (1_234_567, "1.2M"), (123_456_789, "123M"), (7_000_000_000, "7.0G")),
    ],
)
def test_a_count_is_read_at_a_glance(number: int, text: str) -> None:
    assert short(number) == text


bars = st.lists(st.tuples(st.text("ab", max_size=8), st.integers(0, 10**11)), min_size=1, max_size=4)


@given(st.lists(st.tuples(st.text("xy", max_size=12), bars), max_size=5), st.integers(1, 200))
def test_no_bar_is_wider_than_the_room_there_is(groups: list[tuple[str, list[tuple[str, int]]]], width: int) -> None:
    for line in chart(groups, width, "utf-8").splitlines():
        assert line.count(FULL) <= max(10, width)
        assert len(line) <= max(width, 10 + 12 + 8 + 5 + 6)


@given(st.integers(-(10**15), 10**15))
def test_a_count_never_reads_as_another_power_of_ten(number: int) -> None:
    text = short(number)
    scale = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1.0)
    assert abs(float(text.rstrip("kMG")) * scale - number) <= abs(number) * 0.051
