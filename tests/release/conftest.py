from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from build.environment import NoEnvironmentError
from build.release import tools

from tests.release.computer import Computer, Signer
from tests.release.server import ReleaseServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def tool(name: str) -> Path:
    """A tool's private environment. Where the package index can not be reached the tests that need it skip, saying
    so; on a CI machine, where it can be, they fail."""
    try:
        return tools.environment(name)
    except NoEnvironmentError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no {name} here: {error}")


@pytest.fixture(scope="session")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer(tmp_path_factory.mktemp("sigstore"), tool("sigstore"))


@pytest.fixture
def server() -> Iterator[ReleaseServer]:
    with ReleaseServer() as running:
        yield running


@pytest.fixture
def computer(tmp_path: Path, server: ReleaseServer, signer: Signer) -> Computer:
    return Computer(tmp_path, server, signer)


@pytest.fixture
def unsigned(tmp_path: Path, server: ReleaseServer) -> Computer:
    """A machine with no verifier on it: what it trusts is its checkout's checksums."""
    return Computer(tmp_path, server)
