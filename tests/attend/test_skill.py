"""The skill says what the product does: its tools and verbs are those of the catalogue."""

from __future__ import annotations

import re

import pytest

from agent_ways.attend import catalogue, commands

with open("src/agent_ways/projected/skills/attend/SKILL.md", encoding="utf-8") as file:
    SKILL = file.read()
with open("docs/how-to/two-sessions-that-talk.md", encoding="utf-8") as file:
    HOW_TO = file.read()


def test_the_skill_has_a_name_and_says_when_to_use_it() -> None:
    head = SKILL.split("---\n")[1]
    assert "name: attend\n" in head
    assert len(head.split("description: ")[1]) < 1024


@pytest.mark.demand("ATT-3")
@pytest.mark.parametrize("text", [SKILL, HOW_TO], ids=["skill", "how-to"])
def test_every_tool_and_verb_that_is_named_exists(text: str) -> None:
    tools = {f"attend_{verb.name}" for verb in catalogue.tools()}
    assert set(re.findall(r"attend_[a-z]+", text)) <= tools
    named = set(re.findall(r"(?m)(?:`|^)attend ([a-z]+)", text))
    assert named <= {verb.name for verb in commands.VERBS}
    assert named


def test_the_skill_names_every_tool_and_what_must_never_be_done() -> None:
    for verb in catalogue.tools():
        assert f"`attend_{verb.name}`" in SKILL
    for must in (
        "not the user's",
        "**Monitor**",
        "Never read, edit or delete",
        "Never poll",
        "stay silent",
        "in silence",
    ):
        assert must.lower() in SKILL.lower()
