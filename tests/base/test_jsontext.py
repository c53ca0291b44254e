from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_ways.base import jsontext
from agent_ways.base.jsontext import NotJSONError, dumps, dumps_readable, loads

if TYPE_CHECKING:
    from collections.abc import Iterator

WAYS = {"fast": jsontext._fast, "slow": jsontext._slow}
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too
NUMBER = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBER | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(ANY_TEXT, inner, max_size=5),
    max_leaves=20,
)
NOT_JSON = [
    "",
    " ",
    "x",
    "nul",
    "{",
    "[1,",
    "[1,]",
    '{"a":1,}',
    '{"a"}',
    "{1:2}",
    '"',
    '"\\',
    '"\\x"',
    '"\\u12"',
    '"\n"',
    '"\x00"',
    "NaN",
    "Infinity",
    "-Infinity",
    "[NaN]",
    "01",
    "1.",
    ".5",
    "+1",
    "1 2",
    "{}x",
    "'a'",
    "\x00",
    "\ufeff{}",
    "\u00a01",
    "1\x0b",
    "// x\n1",
    "[" * 100_000,
    '{"a":' * 100_000,
    "9" * 5_000,
]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """`loads` and `dumps` by the C parts themselves, and by way of `json`."""
    name: str = request.param
    go(monkeypatch, name)
    return name


def go(patch: pytest.MonkeyPatch, name: str) -> None:
    for attribute, part in zip(("_scan", "_encode", "_encode_readable"), WAYS[name](), strict=True):
        patch.setattr(jsontext, attribute, part)


def both(patch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in WAYS:
        go(patch, name)
        yield name


def same(one: object, other: object) -> bool:
    """Equal in value and in type all the way down: 1, 1.0 and True are three values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return one == other


@given(VALUE)
@example({"a": [1, 1.0, True, None, "\ud800", -0.0, 2**53 + 1, 1e300]})
def test_what_is_written_is_what_json_writes_and_reads_back_as_the_same_value(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for _ in both(patch):
            text = dumps(value)
            assert text == json.dumps(value, separators=(",", ":"))
            assert text.isascii()
            assert "\n" not in text
            assert same(loads(text), value)
            readable = dumps_readable(value)
            assert readable == json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            assert "\n" not in readable
            assert same(loads(readable), value)


@given(VALUE, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.text(" \t\n\r", max_size=4))
def test_any_layout_of_a_value_reads_as_json_reads_it(
    value: Any, indent: int | str | None, ascii_only: bool, space: str
) -> None:
    text = space + json.dumps(value, indent=indent, ensure_ascii=ascii_only) + space
    with pytest.MonkeyPatch.context() as patch:
        for _ in both(patch):
            assert same(loads(text), json.loads(text))


def refuse_constant(name: str) -> None:
    raise ValueError(name)


@given(st.text(st.sampled_from('{}[]",:0123456789.eE+-\\untrfalsNI \n\x00é\ud83d\ude00'), max_size=12))
@example("[1")
@example('{"a":1 "b"}')
def test_any_text_is_refused_or_read_exactly_as_by_json(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=refuse_constant)
    except ValueError:
        expected = NotJSONError
    with pytest.MonkeyPatch.context() as patch:
        for _ in both(patch):
            if expected is NotJSONError:
                with pytest.raises(NotJSONError):
                    loads(text)
            else:
                assert same(loads(text), expected)


@pytest.mark.demand("SRV-5")
@pytest.mark.parametrize("text", NOT_JSON, ids=lambda text: ascii(text)[:20])
def test_what_is_not_one_json_value_is_one_kind_of_error_with_words(way: str, text: str) -> None:
    with pytest.raises(NotJSONError) as caught:
        loads(text)
    assert str(caught.value)


@pytest.mark.demand("SRV-5")
@pytest.mark.parametrize("text", NOT_JSON, ids=lambda text: ascii(text)[:20])
def test_after_a_refusal_the_next_text_reads(way: str, text: str) -> None:
    with pytest.raises(NotJSONError):
        loads(text)
    assert loads('{"a":[1]}') == {"a": [1]}


def test_of_duplicate_keys_the_last_one_wins(way: str) -> None:
    assert loads('{"a":1,"a":2}') == {"a": 2}


def test_a_surrogate_pair_is_one_character_and_a_lone_one_stays(way: str) -> None:
    assert loads('"\\ud83d\\ude00"') == "\U0001f600"
    assert loads(dumps("\ud800")) == "\ud800"


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x", [object()], {"a": 1j}])
def test_a_value_that_is_not_json_is_a_type_error(way: str, value: object) -> None:
    for write in (dumps, dumps_readable):
        with pytest.raises(TypeError):
            write(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf]])
def test_a_number_that_json_does_not_have_is_never_written(way: str, value: object) -> None:
    for write in (dumps, dumps_readable):
        with pytest.raises(ValueError):  # noqa: PT011  # its words are the interpreter's own and differ
            write(value)


CHECK = """
import sys
from agent_ways.base import jsontext
assert jsontext.loads('{"a":[1,2.5,"x"]}') == {"a": [1, 2.5, "x"]}
assert jsontext.dumps({"a": [1, None]}) == '{"a":[1,null]}'
%s
print(sorted({"json", "re", "enum"} & set(sys.modules)))
"""


def fresh(code: str) -> str:
    words = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"]
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=30).stdout.strip()


def test_the_fast_way_imports_neither_json_nor_re() -> None:
    assert fresh(CHECK % "") == "[]"


def test_malformed_text_is_refused_also_where_json_was_never_imported() -> None:
    refusals = """
for text in ("[1", '{"a"}', '"x', "", "NaN", "[" * 100000):
    try:
        jsontext.loads(text)
    except jsontext.NotJSONError as error:
        assert str(error)
    else:
        raise AssertionError(text)
"""
    assert "json" in fresh(CHECK % refusals)


def test_without_the_c_parts_json_itself_serves() -> None:
    code = 'import _json; del _json.make_scanner; sys.modules["_json"] = _json'
    assert "json" in fresh(f"{code}\n{CHECK % ''}")


def test_c_parts_that_answer_otherwise_are_not_used() -> None:
    code = "import _json; _json.make_scanner = lambda rules: lambda text, at: (None, 0)"
    found = fresh(f"import json\n{code}\nfrom agent_ways.base import jsontext; print(jsontext.loads('[1]'))")
    assert found == "[1]"
