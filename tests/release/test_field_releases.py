"""What was met in the field with prebuilt programs on macOS, as far as the recipe and the guide can keep it away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.demand("LIFE-8")
@pytest.mark.field_report(84)
def test_nothing_unpacks_itself_at_each_start_and_the_guide_says_what_a_browsers_download_needs() -> None:
    recipe = (CHECKOUT / "build" / "frozen" / "suite.spec").read_text()
    assert re.search(r"EXE\([^\n]*exclude_binaries=True", recipe), "a onefile unpacks and is checked at every start"
    assert "COLLECT(" in recipe
    guide = " ".join((CHECKOUT / "docs" / "how-to" / "update.md").read_text().split())
    assert "On macOS a file that a browser downloaded is kept from running" in guide
    assert "xattr -d com.apple.quarantine" in guide
