from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.server.messages import (
    Malformed,
    Notification,
    Request,
    error_line,
    parse,
    result_line,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
IDS = st.text() | st.integers()


@pytest.mark.demand("SRV-5")
@pytest.mark.field_report(25)
@pytest.mark.field_report(24)
@pytest.mark.parametrize(
    ("line", "code", "id_"),
    [
        (b"hello", -32700, None),
        (b'{"jsonrpc":"2.0","id":9,"method":"pi', -32700, None),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}\x00', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"pi\x00ng"}', -32700, None),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}}",
            -32700,
            None,
        ),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
        (b"42", -32600, None),
        (b'"x"', -32600, None),
        (b"null", -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600, None),
        (b'{"id":"nj","method":"ping"}', -32600, "nj"),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32602, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}', -32602, 7),
    ],
)
def test_an_odd_line_gets_exactly_its_error(line: bytes, code: int, id_: object) -> None:
    message = parse(line)
    assert isinstance(message, Malformed)
    assert (message.code, message.id) == (code, id_)
    assert json.loads(error_line(message.id, message.code, message.message))["id"] == id_


@pytest.mark.demand("SRV-5")
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\r",
        b"\t \r",
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}',
        b'{"id":1,"result":{}}',
    ],
)
def test_blank_lines_and_responses_are_nothing(line: bytes) -> None:
    assert parse(line) is None


@pytest.mark.demand("SRV-5")
@given(IDS, st.text(), st.dictionaries(st.text(), JSON, max_size=4))
def test_a_request_comes_through_whole_and_its_id_goes_back_exactly(
    id_: str | int, method: str, params: dict[str, Any]
) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()
    message = parse(line + b"\r")
    assert message == Request(id_, method, params)
    answered = json.loads(result_line(id_, "{}"))["id"]
    assert (type(answered), answered) == (type(id_), id_)


@pytest.mark.demand("SRV-5")
@pytest.mark.parametrize("params", [b"", b',"params":null', b',"params":[1]', b',"params":{}'])
def test_a_notification_is_never_an_error_whatever_its_params(params: bytes) -> None:
    assert parse(b'{"jsonrpc":"2.0","method":"x"' + params + b"}") == Notification("x", {})


def test_of_duplicate_keys_the_last_wins_and_null_params_are_none() -> None:
    assert parse(b'{"jsonrpc":"2.0","id":"a","id":"b","method":"ping","params":null}') == Request("b", "ping", {})


@pytest.mark.demand("SRV-5")
@pytest.mark.field_report(27)
@pytest.mark.parametrize("id_", ["", 0, -1, 2**53 + 1, "1", 1, "\ud800", "\u2028"])
def test_awkward_ids_keep_their_type_and_stay_on_one_line(id_: str | int) -> None:
    line = result_line(id_, "{}")
    assert line.count(b"\n") == 1
    assert json.loads(line)["id"] == id_
    assert type(json.loads(line)["id"]) is type(id_)


@pytest.mark.demand("SRV-1", "SRV-5")
@given(st.binary(max_size=200))
def test_no_bytes_can_raise(line: bytes) -> None:
    parse(line)


@pytest.mark.demand("SRV-5")
@pytest.mark.field_report(24)
def test_a_bad_byte_becomes_a_replacement_character_and_costs_nothing() -> None:
    message = parse(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}')
    assert message == Request(1, "ping", {"x": "\ufffd"})
