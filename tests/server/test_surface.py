"""tools/list and the instructions, as the product ships them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from agent_ways.server.host import Host
from agent_ways.server.main import OPENING
from agent_ways.server.registry import REGISTRY
from agent_ways.server.surface import SURFACE
from agent_ways.server.tools import LONGEST_DESCRIPTION
from tests.server.worlds import world


@pytest.mark.demand("SRV-4")
def test_generated_files_are_what_their_recipe_makes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "build.generate", "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PYTHONPATH": "src"},
    )
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.demand("SRV-3", "SRV-4")
@pytest.mark.field_report(36)
def test_every_module_of_the_registry_lives_and_the_instructions_fit() -> None:
    host = Host(REGISTRY, world(), lambda _content, _meta: True)
    assert host.report().live == tuple(entry.name for entry in REGISTRY)
    text = host.instructions(OPENING)
    assert len(text.encode()) <= LONGEST_DESCRIPTION
    for entry in REGISTRY:
        assert f"{entry.name}_" in text


@pytest.mark.demand("SRV-6")
def test_what_is_listed_is_json_of_the_same_name() -> None:
    for name, entry in SURFACE:
        assert json.loads(entry)["name"] == name
