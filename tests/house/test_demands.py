"""The manifest and the tests agree, both ways."""

from __future__ import annotations

from tests.demands import DEMANDS, marks


def test_every_mark_names_a_demand_of_the_manifest() -> None:
    unknown = {demand: tests for demand, tests in marks().items() if demand not in DEMANDS}
    assert unknown == {}


def test_every_demand_that_is_said_to_be_built_has_a_test() -> None:
    shown = marks()
    untested = [demand for demand, told in DEMANDS.items() if not told.missing and demand not in shown]
    assert untested == []
