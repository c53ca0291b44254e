"""JSON text to values and back, without the modules that `json` pulls in.

Owns `loads`, `dumps` and `dumps_readable`, all compact. They call the C scanner and encoder that `json` itself calls;
`json` imports `re`, `enum` and `functools` around them, which costs every start about 8 ms (measured, Python
3.11). Where an interpreter has no such C parts, or has changed how they are called, `json` serves; a
differential test holds both to the same answers. Must not know what the text is for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Scan = Callable[[str, int], tuple[Any, int]]
    Encode = Callable[[object], str]

_SPACE = " \t\n\r"


class NotJSONError(ValueError):
    """The text is not one JSON value."""


def _not_a_number(name: str) -> Any:
    raise NotJSONError(f"{name} is not JSON")


def _finite(text: str) -> float:
    """A float as written; one beyond what a float holds would become infinity, which nothing here could write back."""
    value = float(text)
    if value - value:  # NaN, which is true, for infinity alone
        raise NotJSONError(f"the number {text[:40]} is out of range")
    return value


class _Rules:
    """What the C scanner asks its caller for: finite floats, plain ints, strict strings, no NaN."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = staticmethod(_finite)
    parse_int = int
    parse_constant = staticmethod(_not_a_number)


def _unserializable(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} is not JSON")


def _fast() -> tuple[Scan, Encode, Encode]:
    """The C scanner and encoders.

    Raises ImportError, TypeError or AttributeError where they are other than expected.
    """
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

    def encoder(escape: Callable[[str], str]) -> Encode:
        encode = make_encoder(None, _unserializable, escape, None, ":", ",", False, False, False)
        return lambda value: "".join(encode(value, 0))

    scan = make_scanner(_Rules)  # type: ignore[arg-type]  # any object with these attributes
    ascii_only, readable = encoder(encode_basestring_ascii), encoder(encode_basestring)
    if scan('{"a":[1]}', 0) != ({"a": [1]}, 9) or ascii_only({"a": [1]}) != '{"a":[1]}':
        raise TypeError("the C parts of json answer otherwise")
    return scan, ascii_only, readable


def _slow() -> tuple[Scan, Encode, Encode]:
    """The same three functions by way of `json`."""
    import json

    def encoder(ensure_ascii: bool) -> Encode:
        return json.JSONEncoder(
            separators=(",", ":"), allow_nan=False, check_circular=False, ensure_ascii=ensure_ascii
        ).encode

    decoder = json.JSONDecoder(parse_float=_finite, parse_constant=_not_a_number)
    return decoder.raw_decode, encoder(True), encoder(False)


try:
    _scan, _encode, _encode_readable = _fast()
except (ImportError, TypeError, AttributeError):
    _scan, _encode, _encode_readable = _slow()


def loads(text: str) -> Any:
    """The one value that `text` holds.

    Raises `NotJSONError` for anything else: rest behind the value, NaN, a raw control character in a string, a
    number too long to read or out of a float's range, nesting deeper than the interpreter goes. Of duplicate keys the
    last wins.
    """
    start = 0
    while start < len(text) and text[start] in _SPACE:
        start += 1
    try:
        value, end = _scan(text, start)
    except (StopIteration, RecursionError, ValueError, SystemError):
        # Python 3.11's scanner raises SystemError where json.decoder was never imported: `json` words the error.
        value, end = _read_again(text, start)
    if text[end:].strip(_SPACE):
        raise NotJSONError(f"something follows the value at character {end}")
    return value


def _read_again(text: str, start: int) -> tuple[Any, int]:
    try:
        return _slow()[0](text, start)
    except (StopIteration, RecursionError, ValueError) as error:
        raise NotJSONError(str(error) or "not a JSON value") from None


def dumps(value: object) -> str:
    """Compact JSON on one line, every character above ASCII escaped (a lone surrogate stays representable)."""
    return _encode(value)


def dumps_readable(value: object) -> str:
    """`dumps` with every printable character as it is, for text that a model or a person reads."""
    return _encode_readable(value)
