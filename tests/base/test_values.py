"""Small values: equal by what they hold, changed only into another."""

from __future__ import annotations

from typing import Final

import pytest

from agent_ways.base.values import Value


class Point(Value):
    __slots__ = ("x", "y")

    def __init__(self, x: int, y: int) -> None:
        self.x: Final = x
        self.y: Final = y


class Place(Point):
    __slots__ = ()


def test_values_are_equal_by_class_and_content_and_can_be_keys() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert Point(1, 2) != Point(2, 1)
    assert Point(1, 2) != Place(1, 2)
    assert {Point(1, 2): "here"}[Point(1, 2)] == "here"
    assert repr(Point(1, 2)) == "Point(x=1, y=2)"


def test_one_with_some_fields_changed_is_another_and_the_first_is_as_it_was() -> None:
    first = Point(1, 2)
    assert first.but(y=3) == Point(1, 3)
    assert first == Point(1, 2)
    with pytest.raises(TypeError):
        first.but(z=3)
