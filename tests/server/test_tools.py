from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ways.server.registry import REGISTRY
from agent_ways.server.tools import (
    LONGEST_DESCRIPTION,
    LONGEST_FAILURE,
    LONGEST_TEXT,
    MOST_PROBLEMS,
    Tool,
    failure_text,
    problems,
    result_text,
)


def every_tool() -> list[Tool]:
    found: list[Tool] = []
    for entry in REGISTRY:
        module = __import__(entry.path, fromlist=[entry.class_name])
        found += getattr(module, entry.class_name).tools
    return found


@pytest.mark.demand("SRV-6")
@pytest.mark.field_report(36)
@pytest.mark.parametrize("tool", every_tool(), ids=lambda tool: tool.name)
def test_every_tool_is_described_whole(tool: Tool) -> None:
    entry = json.loads(tool.to_json())
    assert set(entry) - {"_meta"} == {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
    assert set(entry["annotations"]) == {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert len(tool.description.encode()) <= LONGEST_DESCRIPTION
    assert entry["inputSchema"]["type"] == entry["outputSchema"]["type"] == "object"
    assert entry["inputSchema"]["additionalProperties"] is False


@pytest.mark.demand("SRV-6")
def test_a_tool_that_a_woken_model_needs_is_not_deferred() -> None:
    (status,) = (tool for tool in every_tool() if tool.name == "ways_status")
    assert "_meta" not in json.loads(status.to_json())
    eager = Tool(
        name="a_b", title="A", description="", input_schema={}, output_schema={}, read_only=True, always_load=True
    )
    assert json.loads(eager.to_json())["_meta"] == {"anthropic/alwaysLoad": True}


@pytest.mark.demand("SRV-10")
def test_tool_names_carry_their_module_and_none_comes_twice() -> None:
    names = [tool.name for tool in every_tool()]
    assert len(set(names)) == len(names)
    for entry in REGISTRY:
        module = __import__(entry.path, fromlist=[entry.class_name])
        assert getattr(module, entry.class_name).name == entry.name
        for tool in getattr(module, entry.class_name).tools:
            assert tool.name.startswith(f"{entry.name}_")
    assert len({entry.name for entry in REGISTRY}) == len(REGISTRY)


@pytest.mark.demand("SRV-6")
def test_a_result_is_the_object_and_the_same_object_as_readable_text() -> None:
    value = {"name": "Größe 語 \ud800", "none": None, "n": 2**60}
    result = json.loads(result_text(value))
    assert result["structuredContent"] == value
    assert result["isError"] is False
    assert json.loads(result["content"][0]["text"]) == value
    assert "Größe 語" in result["content"][0]["text"]


@pytest.mark.demand("SRV-6")
def test_a_result_that_the_client_would_file_away_is_an_error_that_says_so() -> None:
    assert json.loads(result_text({"x": "y" * (LONGEST_TEXT - 8)}))["isError"] is False
    result = json.loads(result_text({"x": "y" * (LONGEST_TEXT - 7)}))
    assert result["isError"] is True
    assert "ask for less" in result["content"][0]["text"]


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 2},
        "body": {"type": "string", "maxLength": 5},
        "limit": {"type": "integer", "minimum": 1, "maximum": 9},
        "loud": {"type": "boolean"},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "more": {"type": "object"},
    },
    "required": ["body"],
    "additionalProperties": False,
}


@pytest.mark.demand("SRV-6")
def test_a_result_is_measured_as_the_client_measures_it() -> None:
    assert json.loads(result_text({"x": "\U0001f600" * (LONGEST_TEXT // 2 - 4)}))["isError"] is False
    assert json.loads(result_text({"x": "\U0001f600" * (LONGEST_TEXT // 2 - 3)}))["isError"] is True
    assert json.loads(result_text({"x": "\ud800" * (LONGEST_TEXT - 8)}))["isError"] is False


@pytest.mark.demand("SRV-5", "SRV-6")
def test_a_failure_is_cut_where_nobody_reads_on_and_says_so() -> None:
    assert json.loads(failure_text("x" * LONGEST_FAILURE))["content"][0]["text"] == "x" * LONGEST_FAILURE
    text = json.loads(failure_text("x" * LONGEST_FAILURE, "y"))["content"][0]["text"]
    assert text == "x" * LONGEST_FAILURE + f"…\n(The first {LONGEST_FAILURE} of {LONGEST_FAILURE + 2} characters.)"


@pytest.mark.demand("SRV-5")
def test_a_problem_is_said_once_and_of_very_many_only_how_many() -> None:
    assert problems(SCHEMA, {"body": "", "to": [5] * 100_000}) == [
        "to must be at most 2 items.",
        "each of to must be text.",
    ]
    said = problems(SCHEMA, {"body": ""} | {f"z{number}": 1 for number in range(100)})
    assert len(said) == MOST_PROBLEMS + 1
    assert said[-1] == "And 80 problems more."


@pytest.mark.demand("SRV-5")
@pytest.mark.parametrize(
    ("arguments", "sentences"),
    [
        ({"body": "hi"}, []),
        ({"body": "hi", "to": ["x"], "limit": 9, "loud": True, "kind": "a", "more": {}}, []),
        ({}, ["body is missing: it is required."]),
        ({"body": 5}, ["body must be text."]),
        ({"body": None}, ["body must be text."]),
        ({"body": "hello!"}, ["body must be at most 5 characters."]),
        ({"body": "", "to": []}, ["to must be at least 1 items."]),
        ({"body": "", "to": ["", 5]}, ["each of to must be at least 1 characters.", "each of to must be text."]),
        ({"body": "", "limit": True}, ["limit must be a whole number."]),
        ({"body": "", "limit": 0}, ["limit must be at least 1."]),
        ({"body": "", "limit": 10}, ["limit must be at most 9."]),
        ({"body": "", "loud": 1}, ["loud must be true or false."]),
        ({"body": "", "kind": "c"}, ["kind must be one of: a, b."]),
        ({"body": "", "more": []}, ["more must be an object."]),
        ({"body": "", "zz": 1}, ['"zz" is not an argument of this tool; it takes: to, body, limit, loud, kind, more.']),
    ],
)
def test_wrong_arguments_are_said_one_sentence_each(arguments: dict[str, Any], sentences: list[str]) -> None:
    assert problems(SCHEMA, arguments) == sentences


def test_a_failure_keeps_one_sentence_a_line() -> None:
    assert json.loads(failure_text("One.", "Two.")) == {
        "content": [{"type": "text", "text": "One.\nTwo."}],
        "isError": True,
    }
