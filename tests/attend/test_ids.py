from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.attend import ids, layout

if TYPE_CHECKING:
    from tests.attend.world import World

times = st.integers(0, 2**60 - 1)
chances = st.binary(min_size=5, max_size=5)


@pytest.mark.demand("ATT-1")
@given(one=times, other=times, chance=chances, another=chances)
def test_ids_sort_as_their_times_do(one: int, other: int, chance: bytes, another: bytes) -> None:
    if one != other:
        assert (ids.make(one, chance) < ids.make(other, another)) == (one < other)


@given(at=times, chance=chances)
def test_an_id_is_one_and_gives_its_time_back(at: int, chance: bytes) -> None:
    made = ids.make(at, chance)
    assert ids.is_id(made)
    assert len(made) == ids.LENGTH
    assert ids.microseconds(made) == at


@given(text=st.text(max_size=25) | st.sampled_from(["", "0" * 21, "0" * 12 + "-" + "u" * 8, "../" + "0" * 18]))
def test_what_could_lead_out_of_a_folder_is_no_id(text: str) -> None:
    if ids.is_id(text):
        assert "/" not in text
        assert "." not in text


@pytest.mark.demand("ATT-1")
@pytest.mark.field_report(62)
def test_ids_stay_in_order_when_the_clock_steps_back_an_hour(world: World) -> None:
    made = []
    for step in (0, 1, -3600, 1, 1, -3600, 7200):
        world.clock._wall += step
        made.append(ids.next_id(world.bus))
        ids.raise_high_water(world.bus, made[-1])
    assert made == sorted(made)
    assert len(set(made)) == len(made)


@pytest.mark.field_report(62)
def test_two_ids_of_one_microsecond_are_two(world: World) -> None:
    made = [ids.next_id(world.bus) for _ in range(200)]
    assert len(set(made)) == 200


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("content", [b"", b"x" * 21, b"12", b"\0" * 21, b"9" * 4000])
def test_a_damaged_high_water_mark_counts_as_none_and_is_mended(world: World, content: bytes) -> None:
    os.makedirs(world.bus.root)
    with open(layout.high_water(world.bus.root), "wb") as file:
        file.write(content)
    made = ids.next_id(world.bus)
    assert ids.microseconds(made) == int(world.clock.wall() * 1_000_000)
    ids.raise_high_water(world.bus, made)
    assert ids.high_water(world.bus) == ids.microseconds(made)


def test_the_mark_never_goes_back(world: World) -> None:
    later, earlier = ids.make(2_000_000, b"00000"), ids.make(1_000_000, b"00000")
    ids.raise_high_water(world.bus, later)
    ids.raise_high_water(world.bus, earlier)
    assert ids.high_water(world.bus) == 2_000_000


@given(seconds=st.integers(-(10**6), 10**13))
def test_a_day_always_has_a_folder_s_name(seconds: int) -> None:
    day = ids.day_of(seconds)
    assert len(day) == 10
    assert day[4] == day[7] == "-"


@given(number=st.integers(0, 2**65 - 1))
def test_a_spelled_number_reads_back(number: int) -> None:
    assert layout.unspell(layout.spell(number, 13)) == number


@given(one=st.text(max_size=80), other=st.text(max_size=80))
def test_two_projects_never_share_a_key(one: str, other: str) -> None:
    if one != other:
        assert layout.project_key(one) != layout.project_key(other)
    assert "/" not in layout.project_key(one)
    assert not layout.project_key(one).startswith(".") or one.rstrip("/").rpartition("/")[2].startswith(".")
