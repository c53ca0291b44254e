"""The catalogue feeds schemas, help, completion and the reference page, and they agree."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from agent_ways.attend import catalogue, commands, completion, reference, render, words
from agent_ways.attend.entry import OPTION, Verb
from agent_ways.attend.verbs import BODIES, problems
from agent_ways.base.errors import UsageError

BY_NAME = {verb.name: verb for verb in commands.VERBS}


def taken(verb: Verb) -> list[str]:
    return [one.name for one in verb.parameters]


@pytest.mark.demand("ATT-3")
def test_the_seven_tools_are_those_of_the_design_and_every_verb_is_a_command() -> None:
    assert [verb.name for verb in catalogue.tools()] == ["send", "reply", "inbox", "join", "leave", "peers", "status"]
    commands = "run show thread search watch channels alias whoami keepwarm cleanup doctor"
    assert set(commands.split()) <= set(BY_NAME)


@pytest.mark.demand("ATT-3")
def test_every_verb_that_answers_a_document_has_a_body_and_a_form_for_people() -> None:
    printed_by_itself = {"watch", "completion"}
    answering = {verb.name for verb in commands.VERBS if verb.result is not None} - printed_by_itself
    assert answering == set(BODIES) == set(render.RENDERERS)


@pytest.mark.demand("ATT-3")
@pytest.mark.parametrize("verb", commands.VERBS, ids=lambda verb: verb.name)
def test_help_and_reference_name_every_parameter_of_a_verb(verb: Verb) -> None:
    shown, page = words.help_of(verb), reference.reference()
    section = page.split(f"## attend {verb.name}\n")[1].split("\n## ")[0]
    for one in verb.parameters:
        assert (one.option if one.place == OPTION else one.shown) in shown
        assert f"`{one.option if one.place == OPTION else one.name}`" in section
    assert verb.summary in " ".join(words.help_text().split())
    assert verb.example in shown
    assert verb.example in section


@pytest.mark.parametrize(("columns", "width"), [(0, 80), (60, 60), (80, 80), (95, 95), (200, 95), (7, 40)])
def test_help_is_as_wide_as_the_terminal_up_to_95_columns_and_80_where_there_is_none(columns: int, width: int) -> None:
    assert words.width_of(columns) == width
    texts = [words.help_text(width), *(words.help_of(verb, width) for verb in commands.VERBS)]
    lines = [line for text in texts for line in text.split("\n")]
    kept_whole = ("usage: ", "example: ")  # to be copied
    wide = [one for one in lines if len(one) > width and not one.startswith(kept_whole) and " " in one.strip()]
    assert wide == []
    assert max(len(line) for line in words.help_text(width).split("\n")) > width - 15
    for verb in commands.VERBS:
        assert words.summary(verb) in " ".join(words.help_of(verb, width).split())


@pytest.mark.demand("ATT-3")
@pytest.mark.parametrize("verb", commands.VERBS, ids=lambda verb: verb.name)
def test_the_example_of_a_verb_is_a_command_line_that_its_grammar_takes(verb: Verb) -> None:
    line = verb.example.partition(" < ")[0].removeprefix("source <(").removesuffix(")")
    command, name, *rest = shlex.split(line)
    assert (command, name) == ("attend", verb.name)
    arguments = words.parse(verb, rest)
    words.check(verb, arguments)
    assert problems(verb, arguments, tool=False) == []


@pytest.mark.demand("ATT-3", "SRV-6")
@pytest.mark.parametrize("verb", catalogue.tools(), ids=lambda verb: verb.name)
def test_a_tools_schema_has_exactly_the_parameters_that_are_not_the_commands_own(verb: Verb) -> None:
    entry = verb.tool_entry()
    schema = entry["input_schema"]
    assert list(schema["properties"]) == [one.name for one in verb.parameters if one.tool]
    assert schema["additionalProperties"] is False
    assert all(rule["description"] for rule in schema["properties"].values())
    assert len(entry["description"].encode()) < 2048
    assert entry["output_schema"]["properties"]["v"] == {"const": 1}


def test_what_rides_in_every_request_is_short() -> None:
    entries = [verb.tool_entry() for verb in catalogue.tools()]
    assert sum(len(str((entry["description"], entry["input_schema"]))) for entry in entries) < 4000


def test_the_two_tools_that_a_woken_model_needs_are_never_deferred() -> None:
    assert [verb.name for verb in catalogue.tools() if verb.always_load] == ["reply", "inbox"]


@pytest.mark.parametrize("verb", commands.VERBS, ids=lambda verb: verb.name)
def test_names_of_parameters_are_unique_and_an_option_is_its_name(verb: Verb) -> None:
    assert len(set(taken(verb))) == len(taken(verb))
    for one in verb.parameters:
        assert one.option == "--" + one.name.replace("_", "-")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_verb_and_option(shell: str) -> None:
    script = completion.script(shell)
    for verb in commands.VERBS:
        assert verb.name in script
        for one in verb.parameters:
            if one.place == OPTION:
                assert (f"-l {one.option[2:]}" if shell == "fish" else one.option) in script


def test_the_completion_of_bash_is_a_script_that_completes() -> None:
    ask = 'COMP_WORDS=(attend inbox --un); COMP_CWORD=2; _attend; echo "${COMPREPLY[@]}"'
    ran = subprocess.run(
        ["bash", "-c", f"{completion.script('bash')}\n{ask}"], capture_output=True, text=True, check=True, timeout=20
    )
    assert (ran.stdout, ran.stderr) == ("--unseen\n", "")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("send --to", "needs a value"),
        ("send", "needs TEXT"),
        ("inbox --unsee", "has no option --unsee"),
        ("inbox --limit ten", "a whole number"),
        ("inbox --unseen=yes", "takes no value"),
        ("inbox extra", "does not know what to do with: extra"),
        ("inbox --limit 1 --limit 2", "given twice"),
        ("thread", "needs ID"),
    ],
)
def test_words_that_do_not_fit_are_refused_with_what_would(line: str, says: str) -> None:
    name, *rest = line.split()
    with pytest.raises(UsageError, match=says) as met:
        words.parse(BY_NAME[name], rest)
    assert met.value.hint


@pytest.mark.parametrize(
    ("line", "says", "hint"),
    [
        ("inbox --limit -1", "--limit must be at least 1", "--limit 1"),
        ("inbox --limit 0", "--limit must be at least 1", "--limit 1"),
        ("inbox --limit=201", "--limit must be at most 200", "--limit 200"),
        (f"inbox --limit {'9' * 5000}", "--limit must be at most 200", "--limit 200"),
        ("watch --last -1", "--last must be at least 0", "--last 0"),
        ("channels dissolv deploy", "does not know 'dissolv'; it takes: list, create, dissolve", "channels dissolve?"),
        ("channels deploy", "does not know 'deploy'; it takes: list, create, dissolve", "Example: attend channels"),
        ("hook sesion-start", "does not know 'sesion-start'; it takes: session-start", "hook session-start?"),
        ("completion tcsh", "it takes: bash, zsh, fish", "completion bash"),
        ("inbox --drain --format hok", "--format must be one of: hook, text", "--format hook?"),
        ("run --sensor messages --sensor mesages", "--sensor must be one of: messages, keepwarm", "--sensor messages?"),
    ],
)
def test_a_value_that_can_not_be_is_named_as_the_command_line_has_it(line: str, says: str, hint: str) -> None:
    name, *rest = line.split()
    with pytest.raises(UsageError) as met:
        words.check(BY_NAME[name], words.parse(BY_NAME[name], rest))
    assert says in met.value.message
    assert hint in met.value.hint


def test_help_says_of_what_is_for_sessions_alone_that_it_is() -> None:
    told = "(inside a session only)"
    found = {verb.name for verb in commands.VERBS if told in " ".join(words.help_of(verb).split())}
    assert found == {"join", "leave", "alias", "keepwarm", "run"}
    assert " ".join(words.help_text().split()).count(told) == len(found)
    assert reference.reference().count(told) == 2 * len(found)
    assert not any(told in str(verb.tool_entry()) for verb in catalogue.tools())


def test_options_stand_anywhere_and_everything_behind_two_dashes_is_text() -> None:
    send = BY_NAME["send"]
    assert words.parse(send, ["a", "--to=x", "b", "--to", "y"]) == {"to": ["x", "y"], "body": "a b"}
    assert words.parse(send, ["--to", "x", "--", "--to", "y", "-"]) == {"to": ["x"], "body": "--to y -"}
    assert words.parse(send, ["-n"]) == {"body": "-n"}


def test_an_unknown_verb_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError) as met:
        words.verb_of("inbux")
    assert "attend inbox" in met.value.hint
