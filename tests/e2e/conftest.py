"""Fixtures of the end-to-end suite: the tracked clients, a lab per test, and the product under test."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.e2e import namespace, needs
from tests.e2e.clients import Client, tracked
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session", autouse=True)
def _machine() -> None:
    """Skip (or, where it is required, fail) with one sentence on a machine that can not run the suite."""
    environ = dict(os.environ)
    lacks = needs.missing(environ)
    if not lacks and not namespace.only_loopback():
        lacks = ["a namespace with loopback only: run it by `make e2e` or `python -m tests.e2e`"]
    if not lacks:
        return
    if needs.required(environ):
        pytest.fail(needs.sentence(lacks), pytrace=False)
    pytest.skip(needs.sentence(lacks))


@pytest.fixture(scope="session", params=tracked(dict(os.environ)), ids=str)
def client(request: pytest.FixtureRequest) -> Client:
    """Each tracked client in turn."""
    chosen: Client = request.param
    return chosen


@pytest.fixture(scope="session")
def ways_mcp() -> str:
    """The path of the product under test."""
    unbuilt = needs.unbuilt(dict(os.environ))
    if unbuilt:
        pytest.fail(unbuilt, pytrace=False)
    return needs.product(dict(os.environ))


@pytest.fixture
def lab(client: Client) -> Iterator[Lab]:
    """A lab of this test's own."""
    with Lab(client) as made:
        yield made
