from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.server.protocol import (
    REVISIONS,
    Call,
    Cancelled,
    Initialized,
    Listed,
    Protocol,
    Reply,
    channel_event,
)

TOOLS = (("ways_status", '{"name":"ways_status"}'), ("attend_send", '{"name":"attend_send"}'))


def connection() -> Protocol:
    return Protocol(version="1.2.3", instructions="be kind", tools=TOOLS)


def line(method: str, params: Any = None, id_: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method}
    if id_ is not None:
        message["id"] = id_
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode() + b"\n"


def answer(protocol: Protocol, method: str, params: Any = None, id_: Any = 1) -> dict[str, Any]:
    reply = protocol.receive(line(method, params, id_))[0]
    assert isinstance(reply, Reply)
    message: dict[str, Any] = json.loads(reply.data)
    assert message["id"] == id_
    return message


@pytest.mark.demand("SRV-2")
@pytest.mark.field_report(33)
@pytest.mark.parametrize("asked", REVISIONS)
def test_a_listed_revision_is_echoed(asked: str) -> None:
    assert answer(connection(), "initialize", {"protocolVersion": asked})["result"]["protocolVersion"] == asked


@pytest.mark.demand("SRV-2")
@pytest.mark.field_report(33)
@pytest.mark.parametrize("asked", ["2026-07-28", "9999-01-01", "2024-10-07", 5, None, ["2025-11-25"], {}])
def test_any_other_revision_gets_the_newest_listed(asked: object) -> None:
    assert answer(connection(), "initialize", {"protocolVersion": asked})["result"]["protocolVersion"] == "2025-11-25"
    assert answer(connection(), "initialize")["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.demand("SRV-2")
@pytest.mark.field_report(33)
def test_discovery_of_a_modern_server_is_an_unknown_method_before_and_after_the_handshake() -> None:
    protocol = connection()
    assert answer(protocol, "server/discover", {}, "probe-1")["error"]["code"] == -32601
    answer(protocol, "initialize", {})
    assert answer(protocol, "server/discover", {}, "probe-2")["error"]["code"] == -32601


@pytest.mark.demand("SRV-3")
@pytest.mark.field_report(11)
@pytest.mark.field_report(95)
def test_the_server_declares_tools_and_the_channel_and_never_the_permission_relay() -> None:
    result = answer(connection(), "initialize", {})["result"]
    assert result["capabilities"] == {"tools": {}, "experimental": {"claude/channel": {}}}
    assert result["serverInfo"] == {"name": "agent-ways", "title": "agent-ways", "version": "1.2.3"}
    assert result["instructions"] == "be kind"


def test_a_second_initialize_is_answered_the_same() -> None:
    protocol = connection()
    first = answer(protocol, "initialize", {"protocolVersion": "2025-06-18"})
    assert answer(protocol, "initialize", {"protocolVersion": "2025-06-18"}) == first


@pytest.mark.demand("SRV-4")
def test_the_list_of_tools_is_the_given_constant_and_is_told() -> None:
    protocol = connection()
    first, listed = protocol.receive(line("tools/list", None, 1))
    assert isinstance(first, Reply)
    assert json.loads(first.data)["result"] == {"tools": [{"name": "ways_status"}, {"name": "attend_send"}]}
    assert listed == Listed()
    assert protocol.receive(line("tools/list", {"cursor": "x"}, 1))[0] == first


@pytest.mark.demand("SRV-5")
def test_an_unknown_tool_is_refused_naming_near_matches() -> None:
    error = answer(connection(), "tools/call", {"name": "attend_snd"})["error"]
    assert error["code"] == -32602
    assert "attend_send" in error["message"]
    assert "ways_status, attend_send" in answer(connection(), "tools/call", {"name": "zzz"})["error"]["message"]


@pytest.mark.demand("SRV-5")
@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": "ways_status", "arguments": "x"}, {"name": "\ud800"}])
def test_a_call_without_a_usable_name_or_with_no_object_of_arguments_is_refused(params: dict[str, Any]) -> None:
    assert answer(connection(), "tools/call", params)["error"]["code"] == -32602


def test_a_call_is_given_out_and_its_answer_bears_its_id() -> None:
    protocol = connection()
    (call,) = protocol.receive(line("tools/call", {"name": "ways_status", "arguments": None}, "x"))
    assert call == Call("x", "ways_status", {})
    assert json.loads(protocol.answer("x", '{"content":[]}').data) == {
        "jsonrpc": "2.0",
        "id": "x",
        "result": {"content": []},
    }


@pytest.mark.demand("SRV-5")
@pytest.mark.field_report(28)
@pytest.mark.parametrize(
    "method",
    [
        "notifications/no/such",
        "tools/list",
        "initialize",
        "notifications/claude/channel/permission_request",
        "notifications/roots/list_changed",
    ],
)
def test_a_notification_is_silent_whatever_its_method(method: str) -> None:
    protocol = connection()
    assert protocol.receive(line(method)) == []
    assert answer(protocol, "ping", None, "next")["result"] == {}


@pytest.mark.demand("SRV-10")
def test_the_end_of_the_handshake_is_told_once() -> None:
    protocol = connection()
    assert protocol.receive(line("notifications/initialized") * 2) == [Initialized()]


@pytest.mark.demand("SRV-7")
def test_a_cancel_is_told_with_its_exact_id_and_a_senseless_one_is_silent() -> None:
    protocol = connection()
    cancels = b"".join(line("notifications/cancelled", {"requestId": id_}) for id_ in (1, "1", None, 1.5, True))
    assert protocol.receive(cancels) == [Cancelled(1), Cancelled("1")]


@pytest.mark.demand("SRV-5")
def test_the_last_line_counts_without_a_newline() -> None:
    protocol = connection()
    assert protocol.receive(line("ping", None, 4).rstrip()) == []
    (reply,) = protocol.receive(b"")
    assert isinstance(reply, Reply)
    assert json.loads(reply.data)["id"] == 4


@pytest.mark.demand("SRV-5")
@given(st.lists(st.binary(max_size=60), max_size=8))
def test_after_any_lines_the_next_ping_works(lines: list[bytes]) -> None:
    protocol = connection()
    for one in lines:
        for event in protocol.receive(one.replace(b"\n", b" ") + b"\n"):
            assert isinstance(event, Reply)
            assert event.data.count(b"\n") == 1
    assert answer(protocol, "ping", None, "still here")["result"] == {}


@pytest.mark.demand("CON-5", "SRV-3")
def test_a_channel_event_is_one_line_with_text_values() -> None:
    message = json.loads(channel_event("a\nb\u2028</channel>", {"kind": "mail", "ids_2": "x y"}))
    assert message == {
        "jsonrpc": "2.0",
        "method": "notifications/claude/channel",
        "params": {"content": "a\nb\u2028</channel>", "meta": {"kind": "mail", "ids_2": "x y"}},
    }
    assert channel_event("a\nb", {}).count(b"\n") == 1


@pytest.mark.demand("CON-5")
@pytest.mark.field_report(15)
@pytest.mark.parametrize(
    "meta",
    [
        {"source": "operator"},
        {"a-b": ""},
        {"": ""},
        {"9x": ""},
        {"é": ""},
        {"A": ""},
        {"a b": ""},
        {"kind": 5},
        {5: "x"},
    ],
)
def test_meta_that_the_client_would_drop_is_a_defect_and_not_a_push(meta: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="meta"):
        channel_event("text", meta)
