"""What fits into one answer, and long bodies in parts: read whole they are proven, read in part they are not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.attend import evidence, ledger, paging, seen, trays
from agent_ways.attend.signals import LONGEST_BODY
from agent_ways.attend.verbs.caller import SERVER
from agent_ways.base.errors import UsageError
from agent_ways.base.jsontext import dumps_readable
from agent_ways.server.tools import LONGEST_TEXT
from tests.attend.frontends.callers import call, person, session
from tests.attend.world import A, World
from tests.support import transcripts as rows
from tests.support.transcripts import NOON

if TYPE_CHECKING:
    from agent_ways.attend.instances import Instance

LONG = "".join(f"{number:07d}\n" for number in range(LONGEST_BODY // 8))
AWKWARD = st.text(st.sampled_from(["a", "\n", '"', "\\", "\x01", "é", "\U0001f600"]), max_size=200)


@pytest.mark.demand("SRV-6")
@given(AWKWARD, st.integers(1, 400))
def test_parts_hold_every_character_once_in_order_and_each_fits(text: str, times: int) -> None:
    body = text * times
    found = paging.parts(body)
    assert "".join(found) == body
    assert all(paging.cost(part) <= paging.PART for part in found)


@pytest.mark.demand("SRV-6", "ATT-3")
@pytest.mark.parametrize("body", ["\x01" * LONGEST_BODY, '"' * LONGEST_BODY, LONG, "\n" * 30_000 + "x", "x"])
def test_no_inbox_is_too_long_for_a_tools_result_and_every_body_can_be_read_by_it(world: World, body: str) -> None:
    world.session(10, A)
    reader = session(world, 10, SERVER)
    sent = world.send(None, body, A).signal.id
    for text in ("short", body):
        world.send(None, text, A)
    world.clock.advance(1)
    page = call(reader, "inbox")
    assert len(dumps_readable(page)) < LONGEST_TEXT
    read, part, parts = "", 1, 1
    while part <= parts:
        one = call(reader, "inbox", id=sent, part=part)
        assert len(dumps_readable(one)) < LONGEST_TEXT
        (item,) = one["signals"]
        read += item["body"]
        parts = item.get("parts", 1)
        assert item.get("part", 1) == part
        assert any(f"part {part} of {parts}" in note for note in one["notes"]) == (parts > 1)
        part += 1
    assert read == body
    with pytest.raises(UsageError, match="has"):
        call(reader, "inbox", id=sent, part=parts + 1)


@pytest.mark.demand("SRV-6")
def test_200_short_messages_do_not_fit_and_come_on_pages_that_do(world: World) -> None:
    world.session(10, A)
    sent = [world.send(None, f"number {number}", A).signal.id for number in range(200)]
    before, read = None, []
    while True:
        page = call(session(world, 10, SERVER), "inbox", limit=200, **({"before": before} if before else {}))
        assert len(dumps_readable(page)) < LONGEST_TEXT
        read += [one["id"] for one in page["signals"]]
        before = page["next"]
        if before is None:
            break
    assert sorted(read) == sorted(sent)
    assert len(read) == 200


@pytest.mark.parametrize(
    "arguments",
    [{"part": 1}, {"id": "{sent}", "unseen": True}, {"id": "{sent}", "part": 2}, {"id": "{sent}", "part": 0}],
)
def test_what_does_not_go_together_is_said(world: World, arguments: dict[str, Any]) -> None:
    world.session(10, A)
    sent = world.send(None, "x", A).signal.id
    given = {name: sent if value == "{sent}" else value for name, value in arguments.items()}
    with pytest.raises(UsageError):
        call(session(world, 10), "inbox", **given)


def test_many_notes_become_few() -> None:
    assert paging.few(["x"] * paging.MOST_NOTES) == ["x"] * paging.MOST_NOTES
    assert paging.few(["x"] * 30)[-1] == "20 more notes"


def asked(world: World, number: int, page: dict[str, Any]) -> None:
    """The model calls attend_inbox and is given that answer."""
    call_id, at = f"toolu_{number}", NOON + number
    world.write(
        A,
        rows.assistant(f"m{number}", at, content=[rows.tool_use(call_id, evidence.READERS[0])]),
        rows.tool_result(call_id, at + 1, json.dumps(page, ensure_ascii=False)),
    )


def settle(world: World, me: Instance) -> None:
    with ledger.open_ledger(world.bus, me.key) as opened:
        evidence.settle(world.bus, opened, me, trays.waiting(world.bus.root, A))


@pytest.mark.demand("CON-1")
@pytest.mark.parametrize("order", [(1, 2), (2, 1), (2, 2, 1), (1, 1, 2)])
def test_a_long_body_is_seen_once_all_its_parts_were_read_however_long_that_takes(
    world: World, order: tuple[int, ...]
) -> None:
    me = world.session(10, A)
    sent = world.send(None, LONG, A).signal.id
    reader = session(world, 10, SERVER)
    asked(world, 0, call(reader, "inbox"))
    settle(world, me)
    for number, part in enumerate(order, 1):
        assert seen.proofs(world.bus, me.key, [sent]) == {}
        asked(world, number, call(reader, "inbox", id=sent, part=part))
        for _ in range(3):
            settle(world, me)
    assert seen.proofs(world.bus, me.key, [sent])[sent]["kind"] == "tool"
    assert trays.waiting(world.bus.root, A) == []
    assert "parts" not in ledger.read(world.bus, me.key).more


@pytest.mark.demand("ATT-2")
def test_the_person_has_read_a_long_message_at_its_last_part(world: World) -> None:
    from agent_ways.attend.verbs.reading import read_on_terminal

    sent = world.send(None, LONG, "operator").signal.id
    who = person(world)
    for document in (call(who, "inbox"), call(who, "inbox", id=sent, part=1)):
        read_on_terminal(who, document)
        assert call(who, "status")["unseen"] == 1
    read_on_terminal(who, call(who, "inbox", id=sent, part=2))
    assert call(who, "status")["unseen"] == 0
