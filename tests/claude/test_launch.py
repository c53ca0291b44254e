from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_ways.base.process import SplitWords
from agent_ways.claude import launch
from agent_ways.claude.launch import channel_intent

pytestmark = pytest.mark.demand("ID-3")
FLAG = "--dangerously-load-development-channels"
OURS = "server:agent-ways"
YES = [
    [FLAG, OURS],
    [f"{FLAG}={OURS}"],
    [f"{FLAG}={OURS}", "a prompt"],
    ["a prompt", FLAG, OURS],
    ["--model", "opus", FLAG, OURS, "--verbose"],
    [FLAG, "server:other", OURS],
    [FLAG, OURS, "server:other", "plugin:x@y"],
    [FLAG, "server:other", FLAG, OURS],
    [FLAG, "server:other", f"{FLAG}={OURS}"],
    [FLAG, OURS, "--", "a prompt"],
    [FLAG, OURS, "--", "--channels", OURS],
    [FLAG, OURS, "--channels", "server:other"],
    ["--channels", "plugin:x@y", FLAG, OURS],
    ["--resume", FLAG, OURS],
    ["-r", "an id", FLAG, OURS],
    ["--resume=an id", FLAG, OURS],
    ["-d", FLAG, OURS],
    ["-d2e", FLAG, OURS],
    ["-c", FLAG, OURS],
    ["-cd", FLAG, OURS],
    ["-nname", FLAG, OURS],
    ["--add-dir", "a", "b", FLAG, OURS],
    ["--mcp-config", "{}", FLAG, OURS],
    ["--settings", "-p", FLAG, OURS],
    ["--new-switch=x", FLAG, OURS],
    ["--new-option", "x", FLAG, OURS],
    ["-", FLAG, OURS],
    [FLAG, OURS, "--print-more"],
    [FLAG, OURS, "--new-option", "--channels", "server:other"],
]
NO = [
    [],
    ["a prompt"],
    [OURS],
    ["--", FLAG, OURS],
    ["a prompt", "--", FLAG, OURS],
    ["--", f"{FLAG}={OURS}"],
    [f"a prompt about {FLAG} {OURS}"],
    [FLAG],
    [f"{FLAG}="],
    [FLAG, "server:other"],
    [FLAG, "agent-ways"],
    [FLAG, "plugin:agent-ways@x"],
    [FLAG, "server:agent-ways2"],
    [FLAG, "Server:agent-ways"],
    [FLAG, f"server:other,{OURS}"],
    [FLAG, f"{OURS} server:other"],
    [f"{FLAG}=server:other", OURS],
    [FLAG, "server:other", "--verbose", OURS],
    [FLAG, "server:other", "--add-dir", OURS],
    [FLAG, "server:other", "--", OURS],
    ["--channels", OURS],
    [f"--channels={OURS}"],
    ["--channels", OURS, FLAG, OURS],
    [FLAG, OURS, "--channels", OURS],
    [FLAG, OURS, f"--channels={OURS}"],
    [FLAG, OURS, "--channels", "server:other", OURS],
    ["--channels", FLAG, OURS],
    [FLAG, FLAG, "--verbose"],
    ["--model", FLAG, OURS],
    ["-n", FLAG, OURS],
    ["--append-system-prompt", FLAG, OURS],
    ["--add-dir", FLAG, OURS],
    ["--settings", f"{FLAG}={OURS}"],
    ["--new-option", f"{FLAG}=server:other"],
    ["-p", FLAG, OURS],
    [FLAG, OURS, "--print"],
    ["-cp", FLAG, OURS],
    ["-pc", FLAG, OURS],
]
UNKNOWN = [
    ["--new-option", FLAG, OURS],
    ["--new-option", f"{FLAG}={OURS}"],
    ["-Z", FLAG, OURS],
    ["--new-option", "--", FLAG, OURS],
    [FLAG, OURS, "--new-option", "-p"],
    [FLAG, OURS, "--new-option", "--channels", OURS],
]


def state(words: list[str]) -> str:
    return channel_intent(("claude", *words)).state


@pytest.mark.parametrize("words", YES, ids=" ".join)
def test_the_flag_with_our_server_as_one_of_its_values_is_an_intent(words: list[str]) -> None:
    found = channel_intent(("claude", *words))
    assert (found.state, found.evidence) == ("yes", f"{FLAG} {OURS}")
    assert "not yet a proof" in found.reason


@pytest.mark.parametrize("words", NO, ids=" ".join)
def test_anything_else_is_none(words: list[str]) -> None:
    assert state(words) == "no"


@pytest.mark.parametrize("words", UNKNOWN, ids=" ".join)
def test_an_option_that_nobody_knows_may_swallow_the_flag_and_then_nothing_is_claimed(words: list[str]) -> None:
    assert state(words) == "unknown"


@pytest.mark.parametrize("argv", [None, ()])
def test_a_command_line_that_can_not_be_read_is_unknown(argv: tuple[str, ...] | None) -> None:
    found = channel_intent(argv)
    assert (found.state, found.evidence) == ("unknown", None)
    assert "could not be read" in found.reason


def test_each_no_says_why() -> None:
    reasons = {
        (): "without",
        (FLAG, "server:other"): "not for server:agent-ways",
        ("--channels", OURS): "does not load",
        (FLAG, OURS, "--channels", OURS): "refuse both",
        (FLAG, OURS, "-p"): "-p",
    }
    for words, word in reasons.items():
        assert word in channel_intent(("claude", *words)).reason


def test_evidence_never_shows_other_options() -> None:
    found = channel_intent(("claude", "--settings", '{"key":"secret"}', FLAG, "server:other", "--model", "secret"))
    assert found.evidence == f"{FLAG} server:other"


def test_another_registered_name_is_looked_for_as_such() -> None:
    argv = ("claude", FLAG, "server:mine")
    assert channel_intent(argv, "mine").state == "yes"
    assert channel_intent(argv).state == "no"


@pytest.mark.parametrize("name", ["claude", "/opt/a b/claude.exe", "node", ""])
def test_the_programs_own_name_does_not_matter(name: str) -> None:
    assert channel_intent((name, FLAG, OURS)).state == "yes"
    assert channel_intent((name,)).state == "no"


def test_an_older_install_is_a_script_under_an_interpreter() -> None:
    words = ("/usr/bin/node", "/x/cli.js", FLAG, OURS)
    assert channel_intent(words).state == "yes"
    assert channel_intent(SplitWords(words)).state == "yes"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{FLAG} {OURS}", "yes"),
        (f"{FLAG}={OURS} a prompt", "yes"),
        (f"--model opus -c {FLAG} server:other {OURS} -- a prompt", "yes"),
        (f"--add-dir a b {FLAG} {OURS}", "yes"),
        (f"--resume=an id {FLAG} {OURS}", "unknown"),
        (f"a prompt {FLAG} {OURS}", "unknown"),
        (f"{FLAG}={OURS} a prompt with --channels {OURS}", "unknown"),
        (f"{FLAG}={OURS} a prompt with -p", "unknown"),
        (f"a prompt -- {FLAG} {OURS}", "no"),
        ("a prompt", "no"),
    ],
)
def test_from_words_without_their_quotes_only_what_stands_before_plain_text_is_claimed(
    line: str, expected: str
) -> None:
    assert channel_intent(SplitWords(["claude", *line.split()])).state == expected


def test_a_prompt_about_the_flag_is_no_intent_also_without_its_quotes() -> None:
    prompt = f"why does {FLAG} {OURS} do nothing"
    assert channel_intent(("claude", prompt)).state == "no"
    assert channel_intent(SplitWords(f"claude {prompt}".split())).state == "unknown"


WORDS = st.sampled_from(
    f"{FLAG} --channels {OURS} server:other {FLAG}={OURS} --channels={OURS} -- -p -c -cp -rx --model --resume "
    "--add-dir --verbose --new-option - x".split()
) | st.just("")


@given(st.lists(WORDS, max_size=7))
@example([FLAG, OURS])
def test_whatever_the_words_a_yes_has_the_flag_our_entry_and_no_print(words: list[str]) -> None:
    found = channel_intent(("claude", *words))
    assert found.state in ("yes", "no", "unknown")
    assert found.reason
    if found.state == "yes":
        assert (FLAG in words and OURS in words) or f"{FLAG}={OURS}" in words
    if FLAG not in words and f"{FLAG}={OURS}" not in words:
        assert found.state == "no"


@given(st.lists(WORDS.filter(lambda word: word not in ("--new-option", "--model")), max_size=5), st.lists(WORDS))
def test_nothing_behind_two_dashes_changes_the_answer(before: list[str], after: list[str]) -> None:
    words = ["--verbose", *before, "--verbose", "--"]
    assert state(words) == state([*words, *after])


@given(st.lists(WORDS, max_size=7))
def test_words_without_their_quotes_never_claim_more_than_words_with_them(words: list[str]) -> None:
    exact, split = channel_intent(("claude", *words)), channel_intent(SplitWords(("claude", *words)))
    assert split.state in (exact.state, "unknown")


@given(st.text(), st.text(min_size=1))
def test_any_text_is_judged_without_an_error(one: str, other: str) -> None:
    assert channel_intent((one, other, one)).state == "no"


def test_no_option_is_listed_as_two_kinds() -> None:
    kinds = (launch._MANY, launch._ONE, launch._OPTIONAL, launch._SWITCHES)
    assert all(not one & other for one, other in itertools.combinations(kinds, 2))
    assert all(name.startswith("-") for kind in kinds for name in kind)
