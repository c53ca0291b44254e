"""The drain: what one round shows, when it says nothing, and what asking costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.attend import drain as drains
from agent_ways.attend import headers, hot, ids, intake, layout, trays
from agent_ways.attend.drain import FITS, MOST, ROUNDS, compose, drain
from agent_ways.attend.signals import HUMAN, Sender, Signal
from agent_ways.base.jsontext import dumps_readable
from tests.attend.world import WEB, A, B, World
from tests.support import transcripts as rows
from tests.support.fake_client import FakeClient, Plan
from tests.support.transcripts import NOON

if TYPE_CHECKING:
    from pathlib import Path

    from agent_ways.attend.drain import Round

SRC = os.path.abspath("src")
START = f"""
import sys
sys.path.insert(0, {SRC!r})
from agent_ways.attend.__main__ import main
sys.exit(main())
"""
ATTEND = (sys.executable, "-I", "-S", "-c", START)
HOOK = (*ATTEND, "inbox", "--drain", "--format", "hook")
ALICE = Sender(kind=HUMAN, user="alice", name="alice", host="north")


def made(number: int, body: str) -> Signal:
    return Signal(id=ids.make(1_796_000_000_000_000 + number, b"12345"), at=0, sender=ALICE, to=(A,), room=A, body=body)


def ended_turn(world: World, *, again: bool = False, pid: int = 10) -> Round | None:
    return drain(world.bus, world.identity(pid), again=again)


def is_quiet(world: World, pid: int = 10) -> bool:
    return hot.nothing_waits({"HOME": world.home}, world.table, pid)


@pytest.mark.demand("ATT-9")
@pytest.mark.field_report(45)
@given(st.lists(st.tuples(st.text(min_size=1, max_size=8), st.integers(1, 3_000)), max_size=14))
def test_a_round_never_outgrows_the_clients_cap_and_loses_none(bodies: list[tuple[str, int]]) -> None:
    waiting = [made(number, part * times) for number, (part, times) in enumerate(bodies)]
    found = compose(waiting, announced=3, counted=4_000)
    if found is None:
        assert waiting == []
        return
    whole, named = headers.read_back(found.text)
    assert whole == {signal.id for signal in found.whole}
    assert named == set(found.named)
    assert len(found.whole) + len(found.named) + found.left == len(waiting)
    assert 0 < len(found.whole) + len(found.named) <= MOST
    answer = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": found.text}}
    assert len(dumps_readable(answer)) < 10_000
    order = [signal.id for signal in waiting if signal.id in whole]
    assert [signal.id for signal in found.whole] == order


@pytest.mark.demand("ATT-9")
def test_what_one_round_has_no_room_for_is_named_and_the_rest_is_counted() -> None:
    found = compose([made(0, "a" * 60_000), *(made(number, f"short {number}") for number in range(1, 15))])
    assert found is not None
    assert [signal.body for signal in found.whole] == [f"short {number}" for number in range(1, 10)]
    assert found.named == (made(0, "").id,)
    assert "5 more wait" in found.text
    assert len(found.text) < FITS


@pytest.mark.demand("ATT-9", "CON-1")
def test_mail_is_claimed_shown_once_and_marked_by_the_transcript(world: World) -> None:
    me = world.session(10, A)
    world.write(A, rows.typed("hello", NOON))
    world.send(None, "from a person", A)
    assert not is_quiet(world)
    found = ended_turn(world)
    assert found is not None
    assert [signal.body for signal in found.whole] == ["from a person"]
    assert "Not typed by the user" in found.text
    assert ended_turn(world, again=True) is None
    world.write(A, rows.hook_context(found.text, NOON + 1000))
    assert ended_turn(world) is None
    assert trays.waiting(world.bus.root, A) == []
    assert is_quiet(world)
    assert me.session == A


@pytest.mark.demand("ATT-9")
def test_a_text_that_the_person_cut_off_is_shown_again(world: World) -> None:
    world.session(10, A)
    world.write(A, rows.typed("hello", NOON))
    world.send(None, "x", A)
    assert ended_turn(world) is not None
    world.clock.advance(6)
    assert ended_turn(world) is not None


@pytest.mark.demand("ATT-9")
@pytest.mark.field_report(54)
def test_five_rounds_in_a_row_and_then_the_turn_ends_with_ten_thousand_waiting(world: World) -> None:
    world.session(10, A)
    for number in range(200):
        world.send(None, f"mail {number}", A)
    shown: list[str] = []
    for again in [False, *[True] * (ROUNDS + 2)]:
        found = ended_turn(world, again=again)
        shown += [signal.body for signal in found.whole] if found else []
    assert shown == [f"mail {number}" for number in range(ROUNDS * MOST)]
    found = ended_turn(world)
    assert found is not None
    assert found.whole[0].body == f"mail {ROUNDS * MOST}"


@pytest.mark.demand("ATT-9")
def test_being_registered_is_not_enrolment_and_nothing_is_written_for_it(world: World) -> None:
    world.session(10, A, reason="")
    world.send(None, "to everybody", "*")
    before = world.tree()
    assert ended_turn(world) is None
    assert world.tree() == before
    assert is_quiet(world)


@pytest.mark.demand("ATT-9")
@pytest.mark.parametrize("address", [A, WEB])
def test_addressed_mail_enrols_a_session_that_did_nothing(world: World, address: str) -> None:
    if address == A:
        world.client(10, A)
    world.send(None, "for you", address)
    world.client(10, A)
    assert not is_quiet(world)
    found = ended_turn(world)
    assert found is not None
    assert [signal.body for signal in found.whole] == ["for you"]


@pytest.mark.demand("ATT-10")
@pytest.mark.field_report(45)
def test_a_cold_start_is_fifty_pieces_of_mail_and_a_count(world: World) -> None:
    world.client(10, A)
    for number in range(60):
        world.send(None, f"mail {number}", A)
    found = ended_turn(world)
    assert found is not None
    assert found.whole[0].body == "mail 10"
    assert "10 from before this session are not shown" in found.text
    assert found.left == 40
    assert "10 from before" not in (ended_turn(world, again=True) or found).text.replace(found.text, "")


@pytest.mark.demand("ATT-6")
def test_after_clear_the_mail_of_the_old_id_is_shown_under_the_new_one(world: World) -> None:
    world.session(10, A)
    world.send(None, "to the old id", A)
    world.client(10, B)
    assert not is_quiet(world)
    found = ended_turn(world)
    assert found is not None
    assert [signal.body for signal in found.whole] == ["to the old id"]


@pytest.mark.demand("ID-5")
def test_a_session_of_p_and_a_stranger_are_shown_nothing(world: World) -> None:
    world.client(10, A, entrypoint="sdk-cli")
    world.send(None, "x", WEB)
    assert is_quiet(world)
    assert is_quiet(world, pid=4711)


@pytest.mark.demand("ATT-11")
@pytest.mark.field_report(57)
def test_a_damaged_signal_blocks_nothing(world: World) -> None:
    world.session(10, A)
    bad = world.send(None, "bad", A).signal.id
    world.send(None, "good", A)
    path = layout.signal(world.bus.root, ids.day(bad), bad)
    os.unlink(path)
    os.mkfifo(path)
    found = ended_turn(world)
    assert found is not None
    assert [signal.body for signal in found.whole] == ["good"]


@pytest.mark.parametrize(
    ("version", "goes_on"),
    [
        ("2.1.332", True),
        ("2.1.285", True),
        ("2.1.284", False),
        ("3.0.0", True),
        (None, False),
        ("2.1", False),
        ("x.y.z", False),
    ],
)
def test_the_form_of_the_answer_follows_the_clients_version(version: str | None, goes_on: bool) -> None:
    assert drains.continues(version) is goes_on


@pytest.mark.demand("ATT-9", "ATT-12")
def test_with_nothing_to_say_it_touches_the_same_few_files_whatever_the_history(world: World) -> None:
    counts = []
    for old in (0, 2_000):
        me = world.session(10, A)
        for number in range(old):
            day = layout.signals(world.bus.root, "2026-11-01")
            os.makedirs(day, exist_ok=True)
            with open(os.path.join(day, made(number, "").id + ".json"), "w", encoding="utf-8"):
                pass
        seen: list[str] = []
        watching = [True]

        def note(event: str, args: tuple[object, ...], seen: list[str] = seen, on: list[bool] = watching) -> None:
            if on[0] and event in ("open", "os.listdir", "os.scandir"):
                seen.append(f"{event} {args[0]}")

        sys.addaudithook(note)
        assert is_quiet(world)
        watching[0] = False
        counts.append(seen)
        assert me.session == A
    assert counts[0] == counts[1]
    assert len(counts[0]) < 8


@pytest.mark.demand("ATT-9")
def test_with_nothing_to_say_it_imports_only_what_is_allowed() -> None:
    spy = ATTEND[-1].replace("sys.exit(main())", "main(); print(*sys.modules)")
    run = [*ATTEND[:-1], spy, *HOOK[len(ATTEND) :]]
    bare = [*ATTEND[:3], "-c", "import sys; print(*sys.modules)"]
    imported, there = (
        set(subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.split())
        for words in (run, bare)
    )
    ours = {name for name in imported - there if name.startswith("agent_ways")}
    assert imported - there - ours <= {
        "os",
        "posixpath",
        "genericpath",
        "stat",
        "_stat",
        "_collections_abc",
        "os.path",
        "__future__",
        "_json",
    }
    assert not any(name in imported for name in ("argparse", "click", "json", "re", "agent_ways.attend.verbs"))


@pytest.mark.demand("ATT-9")
@pytest.mark.parametrize("version", ["2.1.332", "2.1.285"])
def test_a_message_from_a_terminal_is_given_to_the_model_once_at_the_end_of_its_turn(
    tmp_path: Path, version: str
) -> None:
    with FakeClient(tmp_path, Plan(stop_hook=HOOK, version=version)) as client:  # type: ignore[arg-type]  # a literal
        env = {"HOME": client.plan.home, "PATH": os.environ["PATH"]}
        sent = subprocess.run(
            [*ATTEND, "send", "--to", client.session_id, "--json", "look at the logs"],
            env=env, capture_output=True, text=True, check=True, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        signal_id = json.loads(sent.stdout)["id"]
        for number in range(3):
            client.type(f"prompt {number}")
            client.wait_status("idle", count=number + 1)
        given = [text for shown in client.shown for text in shown.texts if signal_id in text]
        assert len(given) == 1
        assert "look at the logs" in given[0]
        said = subprocess.run(
            [*ATTEND, "show", signal_id, "--json"], env=env, capture_output=True, text=True, check=True, timeout=60
        )
        [receipt] = json.loads(said.stdout)["receipts"]
        assert (receipt["state"], receipt["proof"]["kind"]) == ("seen", "hook")


def test_the_hook_never_fails_a_turn_when_its_state_can_not_be_read(tmp_path: Path) -> None:
    root = tmp_path / ".local/state/agent-ways/attend/trays"
    root.mkdir(parents=True)
    ran = subprocess.run(
        HOOK, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False, timeout=60, input="{not json"
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.demand("ATT-2")
def test_a_note_to_self_that_the_start_did_not_show_is_shown_by_the_drain(world: World) -> None:
    me = world.session(10, A)
    world.send(me, "where I stopped", "self")
    assert is_quiet(world)
    intake.take_self(world.bus, me)
    found = ended_turn(world)
    assert found is not None
    assert [signal.body for signal in found.whole] == ["where I stopped"]
