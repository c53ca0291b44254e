"""Strategies of hypothesis for what parsers read: JSON that is nearly right, lines of it, words.

Owns `near` (a value with parts missing, of other types, or added) and `text_of`. Must not know targets.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import SearchStrategy

TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
_DEEP: Any = []
for _ in range(120):
    _DEEP = [_DEEP]
ODD: SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [
            *(None, True, False, 0, -1, 2**63, 10**40, 1.5, -0.0, 1e308, float("inf"), "", "\ud800", "\x00\x1b[2J"),
            *("İİİİİİİ[attend signal ", "</channel>", "\u202e", "../../x", "a" * 300, [], {}, [[]], {"a": {}}, _DEEP),
        ]
    ),
    TEXT,
    st.integers(-10, 10**13),
    st.lists(TEXT, max_size=2),
)
"""Values that stand where another was meant."""


def near(value: Any) -> SearchStrategy[Any]:
    """`value`, mostly: an object may lack members and have strange ones, any part may be something odd."""
    if isinstance(value, dict):
        inner = st.fixed_dictionaries({}, optional={key: near(part) for key, part in value.items()})
        more = st.dictionaries(TEXT, ODD, max_size=2)
        return st.one_of(
            st.just(value), st.builds(lambda a, b, c: {**a, **b, **c}, st.just(value), inner, more), inner, ODD
        )
    if isinstance(value, list):
        parts = [near(part) for part in value] or [ODD]
        return st.one_of(st.just(value), st.lists(st.one_of(*parts), max_size=4), ODD)
    return st.one_of(st.just(value), st.just(value), st.just(value), ODD)


def text_of(values: SearchStrategy[Any]) -> SearchStrategy[bytes]:
    """Values as JSON: with or without escapes, on one line or indented, after a BOM, with a number out of range."""
    return st.builds(_text, values, st.booleans(), st.sampled_from((None, None, 2, "\t")), st.booleans())


def lines_of(*values: Any) -> SearchStrategy[bytes]:
    """Lines, each near one of `values`; now and then one is no JSON, and the last may be torn."""
    line = st.one_of(*(text_of(near(value)) for value in values), st.binary(max_size=30))
    return st.builds(
        lambda found, end: b"\n".join(found) + end, st.lists(line, max_size=8), st.sampled_from((b"\n", b""))
    )


def joined(parts: Iterable[bytes], between: bytes = b" ") -> SearchStrategy[bytes]:
    """Some of `parts`, and other text, in any order."""
    part = st.one_of(st.sampled_from(list(parts)), TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")))
    return st.lists(part, max_size=12).map(between.join)


def _text(value: Any, escaped: bool, indent: int | str | None, bom: bool) -> bytes:
    text = json.dumps(value, ensure_ascii=escaped, indent=indent).replace("Infinity", "1e999")
    return (b"\xef\xbb\xbf" if bom and indent else b"") + text.encode("utf-8", "surrogatepass")
