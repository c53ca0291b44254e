"""What was met in the field with registering a server, played with the fake `claude`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_ways.claude.launch import DEVELOPMENT
from agent_ways.ways.commands import reconcile
from tests.ways.support import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def files(folder: Path) -> Iterator[Path]:
    """Every file that was written below, not those that a link leads to."""
    for path, _, names in os.walk(folder):
        yield from (Path(path, name) for name in names if not Path(path, name).is_symlink())


@pytest.mark.demand("LIFE-3", "LIFE-5")
@pytest.mark.field_report(13)
def test_a_flag_that_a_person_must_confirm_is_never_added_for_them_and_the_guides_say_so(machine: Machine) -> None:
    shell = machine.home / ".bashrc"
    shell.write_text("alias c=claude\n")
    reconcile.run(machine.world)
    targets = [*files(machine.home / ".claude"), machine.home / ".claude.json", shell]
    assert len(targets) > 2
    assert [path for path in targets if DEVELOPMENT in path.read_text()] == []
    assert DEVELOPMENT not in str(machine.claude.calls)
    for guide in ("install.md", "two-sessions-that-talk.md"):
        text = (ROOT / "docs" / "how-to" / guide).read_text()
        assert DEVELOPMENT in text
        assert "asks about the flag at every start" in " ".join(text.split())
