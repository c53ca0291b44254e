from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.ways.settings import jsonedit
from agent_ways.ways.settings.jsonedit import NotEditableError

pytestmark = pytest.mark.demand("LIFE-4")

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)
layouts: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"indent": 2},
        {"indent": "\t"},
        {"indent": 4, "ensure_ascii": False},
        {"separators": (",", ":")},
        {"indent": 3, "separators": (" ,", " : ")},
    ]
)
ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn, inner: st.SearchStrategy[Any] = values) -> str:
    text = json.dumps(draw(inner), **draw(layouts))
    text = text.replace("\n", draw(ends))
    return draw(st.sampled_from(["", " ", "\n"])) + text + draw(st.sampled_from(["", "\n", " \r\n"]))


def containers(value: Any, at: jsonedit.Path = ()) -> list[jsonedit.Path]:
    found = [at] if isinstance(value, dict | list) else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found += containers(inner, (*at, key))
    return found


def at(value: Any, path: jsonedit.Path) -> Any:
    for key in path:
        value = value[key]
    return value


@given(texts() | st.text(alphabet='{}[]",:1e.- \n\\uNat'))
def test_what_is_json_and_what_it_holds_is_what_the_standard_library_says(text: str) -> None:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        wanted = json.loads(text, parse_constant=refuse)
    except ValueError:
        with pytest.raises(NotEditableError, match="is not JSON"):
            jsonedit.parse(text)
        return
    root = jsonedit.parse(text)
    assert root.value == wanted
    assert json.loads(text[root.start : root.end]) == wanted


@given(st.data())
def test_an_insertion_adds_its_value_and_its_removal_gives_the_text_back(data: st.DataObject) -> None:
    text = data.draw(texts(st.lists(values) | st.dictionaries(st.text(max_size=4), values)))
    value = json.loads(text)
    path = data.draw(st.sampled_from(containers(value)))
    new = data.draw(values)
    wanted = copy.deepcopy(value)
    holder = at(wanted, path)
    key = None
    if isinstance(holder, dict):
        key = data.draw(st.text(max_size=4).filter(lambda name: name not in holder))
        holder[key] = new
    else:
        holder.append(new)
    after = jsonedit.insert(text, path, new, key)
    assert json.loads(after) == wanted
    if at(value, path):
        assert jsonedit.remove(after, (*path, len(holder) - 1 if key is None else key)) == text


@given(st.data())
def test_a_removal_leaves_every_character_of_the_others(data: st.DataObject) -> None:
    text = data.draw(texts(st.lists(values, min_size=1) | st.dictionaries(st.text(max_size=4), values, min_size=1)))
    value = json.loads(text)
    path = data.draw(st.sampled_from([path for path in containers(value) if at(value, path)]))
    holder = at(value, path)
    key = data.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
    after = jsonedit.remove(text, (*path, key))
    del holder[key]
    assert json.loads(after) == value
    left = iter(text)
    assert all(character in left for character in after), "what is left is no part of what was there"


@given(st.data())
def test_a_replacement_changes_one_value(data: st.DataObject) -> None:
    text = data.draw(texts(st.lists(values, min_size=1) | st.dictionaries(st.text(max_size=4), values, min_size=1)))
    value = json.loads(text)
    key = data.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    new = data.draw(values)
    after = jsonedit.replace(text, (key,), new)
    value[key] = new
    assert json.loads(after) == value


LAYOUTS = [
    ('{"a":1}', '{"a":1,"x":{"y":["z"]}}'),
    ('{"a": 1}', '{"a": 1, "x": {"y": ["z"]}}'),
    ("{}", '{\n  "x": {\n    "y": [\n      "z"\n    ]\n  }\n}'),
    ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"x": {\n\t\t"y": [\n\t\t\t"z"\n\t\t]\n\t}\n}\n'),
    ('{\r\n "a": 1\r\n}', '{\r\n "a": 1,\r\n "x": {\r\n  "y": [\r\n   "z"\r\n  ]\r\n }\r\n}'),
]


@pytest.mark.parametrize(("text", "wanted"), LAYOUTS)
def test_what_is_put_in_looks_like_its_neighbours(text: str, wanted: str) -> None:
    assert jsonedit.insert(text, (), {"y": ["z"]}, "x") == wanted


def test_a_list_on_one_line_stays_on_one_line_in_a_text_of_many() -> None:
    text = '{\n  "allow": ["a"],\n  "deny": []\n}'
    assert jsonedit.insert(text, ("allow",), "b") == '{\n  "allow": ["a", "b"],\n  "deny": []\n}'


def test_of_a_key_that_is_there_twice_the_last_counts_as_it_does_for_the_client() -> None:
    root = jsonedit.parse('{"a": 1, "a": 2}')
    assert (root.value, jsonedit.find(root, ("a",))) == ({"a": 2}, root.child("a"))
    assert jsonedit.remove('{"a": 1, "a": 2}', ("a",)) == '{"a": 1}'


@pytest.mark.parametrize("text", ["", "{", '{"a" 1}', "[1,]", "{1: 2}", "NaN", "1 2", "// x\n{}", "[" * 100_000])
def test_what_is_not_json_is_said_with_its_line(text: str) -> None:
    with pytest.raises(NotEditableError, match=r"is not JSON: .* at line \d+|nested too deep"):
        jsonedit.parse(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [("// x\n{}", 1), ('{\n  // x\n  "a": 1}', 2), ('{\n"a": 1, /* x */\n"b": 2}', 2), ('{"a":\n\n// x\n1}', 3)],
)
def test_a_comment_is_said_to_be_one_with_its_line(text: str, line: int) -> None:
    with pytest.raises(NotEditableError, match=f"is not JSON: there is a comment at line {line}, and JSON has none"):
        jsonedit.parse(text)


@given(st.data())
def test_a_byte_order_mark_stays_and_changes_nothing_else(data: st.DataObject) -> None:
    text = data.draw(texts(st.dictionaries(st.text(max_size=4), values)))
    assert jsonedit.parse(jsonedit.BOM + text).value == jsonedit.parse(text).value
    assert jsonedit.insert(jsonedit.BOM + text, (), 1, "new") == jsonedit.BOM + jsonedit.insert(text, (), 1, "new")
    assert jsonedit.remove(jsonedit.insert(jsonedit.BOM + text, (), 1, "new"), ("new",)).startswith(jsonedit.BOM)


@pytest.mark.parametrize("path", [("b",), ("a", "b"), (0,)])
def test_a_path_that_leads_nowhere_is_an_error(path: jsonedit.Path) -> None:
    for edit in (jsonedit.remove, lambda text, path: jsonedit.replace(text, path, 1)):
        with pytest.raises(NotEditableError, match="has nothing at"):
            edit('{"a": {}}', path)
