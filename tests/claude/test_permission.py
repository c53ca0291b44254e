"""Whether a session may run in the mode that asks nobody (CON-4)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent_ways.claude import permission

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.demand("CON-4")
@pytest.mark.parametrize(
    "argv",
    [
        None,
        ("claude", "--dangerously-skip-permissions"),
        ("claude", "--allow-dangerously-skip-permissions"),
        ("claude", "--permission-mode", "bypassPermissions"),
        ("claude", "--permission-mode=bypassPermissions"),
        ("claude", "--settings", "/elsewhere.json"),
        ("claude", '--settings={"permissions":{"defaultMode":"x"}}'),
        ("claude", "--inherit-permission-mode", "x"),
        ("node", "claude", "--agent", "mine"),
    ],
)
def test_a_client_that_was_launched_so_may_bypass_whatever_its_transcript_says(argv: tuple[str, ...] | None) -> None:
    assert permission.may_bypass(argv, [])


@pytest.mark.demand("CON-4")
@pytest.mark.parametrize("argv", [("claude",), ("claude", "--permission-mode", "plan"), ("claude", "-r", "x")])
def test_another_client_may_not(argv: tuple[str, ...], tmp_path: Path) -> None:
    asks = tmp_path / "settings.json"
    asks.write_text(json.dumps({"permissions": {"defaultMode": "acceptEdits", "allow": []}}))
    broken = tmp_path / "broken.json"
    broken.write_text('{"permissions": ["bypassPermissions"]}')
    assert not permission.may_bypass(argv, [str(asks), str(broken), str(tmp_path / "none.json")])


@pytest.mark.demand("CON-4")
def test_a_setting_that_begins_in_that_mode_counts(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"permissions": {"defaultMode": "bypassPermissions"}}))
    assert permission.may_bypass(("claude",), [str(path)])
