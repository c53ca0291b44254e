"""The wrap as the model is told it: the event is enough, the skill says the same, and neither needs a permission."""

from __future__ import annotations

import re

import pytest

from agent_ways.attend import catalogue
from agent_ways.keepalive.events import wrap
from agent_ways.ways.projection import SKILLS
from agent_ways.ways.tool_names import TOOL_NAMES
from tests.ways.support import SOURCES

pytestmark = pytest.mark.demand("KA-8")

SKILL = (SOURCES / "agent_ways" / "projected" / "skills" / "wrap" / "SKILL.md").read_text(encoding="utf-8")
EVENT = wrap("00000000000000aa", "channel", 8 * 3_600_000).text


def test_the_skill_has_its_name_says_when_to_use_it_and_is_linked_into_targets() -> None:
    head = SKILL.split("---\n")[1]
    assert "name: wrap\n" in head
    assert "keepalive_wrap" in head
    assert len(head.split("description: ")[1]) < 1024
    assert "wrap" in SKILLS


@pytest.mark.parametrize("text", [SKILL, EVENT], ids=["skill", "event"])
def test_it_calls_one_tool_which_is_allowed_without_asking_where_ways_keeps_the_target(text: str) -> None:
    called = set(re.findall(r"\battend_[a-z]+", text))
    assert called == {"attend_send"}
    assert called <= {f"attend_{verb.name}" for verb in catalogue.tools()}
    assert called <= set(TOOL_NAMES)
    for tool in ("Bash", "`Edit`", "`Write`", "git ", "TodoWrite", "AskUserQuestion"):
        assert tool not in text


@pytest.mark.parametrize("text", [SKILL, EVENT], ids=["skill", "event"])
def test_it_asks_for_the_same_hand_over_and_forbids_the_same(text: str) -> None:
    told = " ".join(text.lower().split())
    for must in (
        "done",
        "open",
        "self",
        "operator",
        "no edits, no commits, no commands",
        "do not try again",
        "end the",
    ):
        assert must in told.replace('"', "").replace("`", ""), must
    assert "question" in told
    assert "into your answer" in told
