from __future__ import annotations

import os
from pathlib import Path

import pytest
from build.frozen.__main__ import freeze

from tests.release.conftest import tool

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frozen folder: the one that AGENT_WAYS_FROZEN names, else one that is built now."""
    tool("frozen")
    named = os.environ.get("AGENT_WAYS_FROZEN")
    if named:
        return Path(named)
    folder = tmp_path_factory.mktemp("frozen") / "suite"
    freeze(CHECKOUT / "src", folder)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a command: an empty home, and a folder for temporary files that is its own."""
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    return {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp"), "PATH": "/usr/bin:/bin"}


@pytest.fixture(autouse=True)
def _no_variables_of_a_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        monkeypatch.delenv(name, raising=False)
