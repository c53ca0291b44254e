"""The manifest of field reports and the tests agree, both ways."""

from __future__ import annotations

import re

import pytest

from tests.field_reports import FIELD_REPORTS, SECTIONS, marks

REFERENCE = re.compile(r"([\w.-]+/)?[\w.-]+#\d+")


def test_every_mark_names_a_report_of_the_manifest() -> None:
    unknown = {number: tests for number, tests in marks().items() if number not in FIELD_REPORTS}
    assert unknown == {}


def test_every_report_has_tests_or_a_reason_why_it_can_not_happen_here_and_not_both() -> None:
    shown = marks()
    told = {number: report.never or report.missing for number, report in FIELD_REPORTS.items()}
    untold = [number for number in FIELD_REPORTS if not told[number] and number not in shown]
    both = [number for number, report in FIELD_REPORTS.items() if report.never and number in shown]
    assert (untold, both) == ([], [])


def test_numbers_are_given_once_and_in_order() -> None:
    numbers = [number for reports in SECTIONS.values() for number in reports]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("number", FIELD_REPORTS)
def test_a_report_says_what_was_met_in_a_line_and_where(number: int) -> None:
    report = FIELD_REPORTS[number]
    assert report.says
    assert "\n" not in report.says
    assert report.seen_in
    for place in report.seen_in:
        assert REFERENCE.fullmatch(place) or " " in place, f"{place} is neither a thread nor words"


def test_a_mark_carries_one_number_so_that_it_can_be_searched_for() -> None:
    assert {type(number) for number in marks()} <= {int}
