"""What each verb answers, and what it leaves on disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import instances, ledger, role
from agent_ways.attend.verbs import run_verb
from agent_ways.attend.verbs.caller import COMMAND, SERVER, Caller
from agent_ways.base.errors import RefusedError, UsageError
from agent_ways.claude import identity
from tests.attend.frontends.callers import call, misfits, person, serve, session
from tests.attend.world import WEB, A, B, C

if TYPE_CHECKING:
    from tests.attend.world import World


@pytest.mark.demand("ATT-3")
@pytest.mark.field_report(17)
@pytest.mark.field_report(64)
@pytest.mark.field_report(92)
def test_send_says_of_each_recipient_what_is_true_now(world: World) -> None:
    live = world.session(10, A)
    dead = world.session(20, B)
    world.end(20)
    sent = call(person(world), "send", to=[live.name, dead.name], body="hello")
    assert [(one["name"], one["state"]) for one in sent["recipients"]] == [
        (live.name, "queued"),
        (dead.name, "no live session; kept"),
    ]
    assert dead.name in sent["note"]
    assert world.bodies(A) == world.bodies(B) == ["hello"]


def test_send_names_whom_nothing_wakes_and_is_silent_about_whom_something_may(world: World) -> None:
    live = world.session(10, A)
    assert f"nothing wakes {live.name}" in call(person(world), "send", to=[A], body="x")["note"]
    lock = role.role(world.open(pid=11), live.key)
    world.table.add(os.getpid(), start=f"s{os.getpid()}")
    world.table.add(11, start="s11")
    with lock:
        assert call(person(world), "send", to=[A], body="x")["note"] is None


def test_a_note_to_self_and_a_projects_mail_are_kept_and_said_to_be(world: World) -> None:
    kept = call(person(world), "send", to=["self", "/elsewhere"], body="later")
    assert [(one["session"], one["state"]) for one in kept["recipients"]] == [(None, "no live session; kept")] * 2
    assert "kept for the next" in kept["note"]


@pytest.mark.demand("ATT-4")
@pytest.mark.parametrize("verb", ["send", "reply"])
def test_a_session_that_could_not_hear_an_answer_is_refused_and_told_of_the_loop(world: World, verb: str) -> None:
    world.session(10, A)
    before = world.tree()
    with pytest.raises(RefusedError) as met:
        run_verb(verb, {"body": "x"}, session(world, 10))
    assert "attend run" in met.value.hint
    assert world.tree() == before


@pytest.mark.demand("ATT-4")
def test_a_session_with_a_live_server_sends_as_itself_and_one_whose_server_died_is_refused(world: World) -> None:
    me = world.session(10, A, reason="")
    serve(world, A, 90)
    call(session(world, 10), "send", to=["operator"], body="from me")
    [found] = call(person(world), "inbox")["signals"]
    assert (found["from"]["session"], found["from"]["name"], found["state"]) == (A, me.name, "queued")
    world.table.end(90)
    with pytest.raises(RefusedError):
        run_verb("send", {"body": "x"}, session(world, 10))


@pytest.mark.demand("ATT-4", "ID-2")
@pytest.mark.parametrize("variable", ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID"])
def test_what_a_client_started_never_sends_as_the_person(world: World, variable: str) -> None:
    env = {"HOME": world.home, variable: A}
    bus = world.open()
    nobody = identity.identify(env, world.table, os.getpid())
    caller = Caller(type(bus)(bus.root, owner=bus.owner, table=bus.table, env=env), nobody, COMMAND, WEB)
    for verb, arguments in (("send", {"body": "x"}), ("join", {"channel": "c"}), ("inbox", {})):
        with pytest.raises(RefusedError):
            run_verb(verb, arguments, caller)
    assert world.tree() == {}


@pytest.mark.demand("ATT-4")
def test_the_server_never_speaks_for_a_person(world: World) -> None:
    nobody = identity.identify({"HOME": world.home}, world.table, os.getpid())
    with pytest.raises(RefusedError):
        run_verb("send", {"to": ["operator"], "body": "x"}, Caller(world.bus, nobody, SERVER, WEB))
    assert world.tree() == {}


@pytest.mark.demand("ID-5")
def test_a_session_of_p_reads_and_neither_sends_nor_joins(world: World) -> None:
    world.client(10, A, entrypoint="sdk-cli")
    serve(world, A, 90)
    call(person(world), "send", to=["*"], body="all")
    assert [one["body"] for one in call(session(world, 10), "inbox")["signals"]] == ["all"]
    for verb, arguments in (("send", {"body": "x"}), ("join", {"channel": "c"})):
        with pytest.raises(RefusedError, match="-p"):
            run_verb(verb, arguments, session(world, 10))
    assert instances.read_all(world.bus) == []


@pytest.mark.demand("ATT-5")
def test_a_reply_from_the_terminal_reaches_the_session_that_wrote(world: World) -> None:
    me = world.session(10, A)
    serve(world, A, 90)
    asked = call(session(world, 10), "send", to=["operator"], body="which one?")
    answer = call(person(world), "reply", re=asked["id"], body="the second")
    assert [one["session"] for one in answer["recipients"]] == [me.session]
    [found] = call(session(world, 10), "inbox", unseen=True)["signals"]
    assert (found["re"], found["thread"], found["body"]) == (asked["id"], asked["id"], "the second")


@pytest.mark.demand("KA-6")
def test_mail_for_a_session_that_was_wrapped_is_kept_and_said_to_be(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = world.session(10, A)
    monkeypatch.setattr("agent_ways.attend.verbs.talk.is_quiet", lambda _, instance: instance.key == me.key)
    [one] = call(person(world), "send", to=[A], body="x")["recipients"]
    assert one["state"] == "kept: wrapped"


@pytest.mark.demand("CON-1")
def test_what_was_printed_and_is_not_proven_is_said_to_be_so(world: World) -> None:
    me = world.session(10, A)
    world.send(None, "x", A)
    world.claim(me, "drain")
    assert call(session(world, 10), "status")["notes"] == []
    world.clock.advance(6)
    assert "unproven" in call(session(world, 10), "status")["notes"][0]


@pytest.mark.demand("ATT-3")
def test_reading_verbs_change_nothing_also_for_a_session_that_never_registered(world: World) -> None:
    world.session(10, A)
    world.client(20, B)
    sent = call(person(world), "send", to=[A, B, "*"], body="hello")
    before = world.tree()
    for pid in (10, 20):
        caller = session(world, pid)
        for verb, arguments in (
            ("inbox", {}),
            ("show", {"id_": sent["id"]}),
            ("thread", {"id_": sent["id"]}),
            ("search", {"text": "hell"}),
            ("peers", {"all": True}),
            ("status", {}),
            ("whoami", {}),
            ("channels", {}),
            ("alias", {}),
        ):
            call(caller, verb, **arguments)
    assert world.tree() == before


def test_the_inbox_filters_by_room_sender_age_and_text_and_pages(world: World) -> None:
    me = world.session(10, A)
    other = world.session(20, B)
    call_join = call(session(world, 10), "join", channel="deploy")
    assert call_join["members"] == [me.name]
    world.send(other, "old news", "#deploy")
    world.clock.advance(7200)
    for number in range(4):
        world.send(other, f"mail {number}", A)
    world.send(None, "Überraschung", "*")
    caller = session(world, 10)

    def bodies(**arguments: Any) -> list[str]:
        return [one["body"] for one in call(caller, "inbox", **arguments)["signals"]]

    assert bodies(room="#deploy") == ["old news"]
    assert bodies(room="direct") == [f"mail {number}" for number in (3, 2, 1, 0)]
    assert bodies(room="open") == bodies(from_="person") == bodies(grep="ÜBERR") == ["Überraschung"]
    assert bodies(since="1h", from_=other.nickname) == [f"mail {number}" for number in (3, 2, 1, 0)]
    first = call(caller, "inbox", limit=4)
    assert (first["total"], len(first["signals"])) == (6, 4)
    second = call(caller, "inbox", limit=4, before=first["next"])
    assert [one["body"] for one in second["signals"]] == ["mail 0", "old news"]
    assert second["next"] is None


def test_a_page_of_long_messages_fits_into_a_tools_result_and_goes_on(world: World) -> None:
    world.session(10, A)
    for letter in "abc":
        world.send(None, letter * 25_000, A)
    world.send(None, "d" * 60_000, A)
    caller = session(world, 10)
    found, seen = call(caller, "inbox"), ""
    assert found["signals"][0]["body"] is None
    assert "attend show" in found["notes"][0]
    while True:
        seen += "".join((one["body"] or "d")[0] for one in found["signals"])
        assert len(str(found)) < 50_000
        if found["next"] is None:
            break
        found = call(caller, "inbox", before=found["next"])
    assert seen == "dcba"


def test_show_tells_what_became_of_a_message_for_each_recipient(world: World) -> None:
    one, other = world.session(10, A), world.session(20, B)
    sent = call(person(world), "send", to=[A, B], body="hello")
    world.claim(one)
    found = call(person(world), "show", id_=sent["id"])
    states = {receipt["name"]: receipt["state"] for receipt in found["receipts"]}
    assert states == {one.name: "pushed", other.name: "queued"}


@pytest.mark.demand("ATT-3")
def test_show_without_an_id_shows_the_newest_that_the_caller_can_see(world: World) -> None:
    for words in ({}, {"id": "last"}, {"id": "LAST"}):
        with pytest.raises(UsageError, match="no message yet"):
            run_verb("show", words, person(world))
    one, other = world.session(10, A), world.session(20, B)
    world.session(30, C)
    world.send(one, "to everybody")
    world.send(one, "between two", B)
    newest = {10: "between two", 20: "between two", 30: "to everybody"}
    for pid, body in newest.items():
        assert call(session(world, pid), "show")["signals"][0]["body"] == body
    [found] = call(person(world), "show", id_="last")["signals"]
    assert (found["body"], found["state"]) == ("between two", None)
    world.send(other, "for you", "operator")
    assert call(person(world), "show")["signals"][0]["body"] == "for you"
    assert call(session(world, 30), "show")["signals"][0]["body"] == "to everybody"


@pytest.mark.field_report(92)
def test_peers_are_the_others_with_how_each_is_reached(world: World) -> None:
    world.session(10, A)
    other = world.session(20, B, cwd="/home/person/api")
    world.session(30, C)
    world.end(30)
    world.send(None, "x", B)
    [found] = call(session(world, 10), "peers")["peers"]
    assert (found["session"], found["name"], found["project"]) == (B, other.name, "/home/person/api")
    assert (found["status"], found["unseen"]) == ("idle", 1)
    states = {name: conduit["state"] for name, conduit in found["conduits"].items()}
    assert states == {"channel": "no", "inbox_socket": "no", "loop": "no", "drain": "unknown"}
    assert len(call(session(world, 10), "peers", all=True)["peers"]) == 2


def test_status_names_what_is_under_way_and_who_perceives(world: World) -> None:
    me = world.session(10, A)
    serve(world, A, 90)
    world.send(None, "x", A)
    [claimed] = world.claim(me)
    found = call(session(world, 10), "status")
    assert found["unseen"] == 1
    assert [(one["id"], one["state"], one["conduit"]) for one in found["under_way"]] == [(claimed, "pushed", "channel")]
    assert found["role"].startswith("server, process 90")


def test_join_leave_and_channels_agree(world: World) -> None:
    me = world.session(10, A)
    caller = session(world, 10)
    assert call(person(world), "channels", action="create", channel="#Deploy", description="who deploys")[
        "channels"
    ] == [{"channel": "deploy", "description": "who deploys", "members": []}]
    assert call(caller, "join", channel="deploy")["changed"]
    assert not call(caller, "join", channel="#deploy")["changed"]
    call(person(world), "channels", action="create", channel="other")
    assert call(person(world), "channels")["channels"][0]["members"] == [me.name]
    assert [one["channel"] for one in call(person(world), "channels", action="list", channel="other")["channels"]] == [
        "other"
    ]
    assert call(caller, "leave", channel="deploy")["members"] == []
    assert not call(caller, "leave", channel="deploy")["changed"]
    call(person(world), "channels", action="dissolve", channel="deploy")
    with pytest.raises(UsageError, match="no channel"):
        run_verb("leave", {"channel": "deploy"}, caller)


def test_a_hint_fits_who_asks(world: World) -> None:
    world.session(10, A)
    call(person(world), "channels", action="create", channel="deploy")
    hints = {}
    for who, caller in (("person", person(world)), ("session", session(world, 10))):
        with pytest.raises(RefusedError) as made:
            run_verb("channels", {"action": "create", "channel": "deploy"}, caller)
        with pytest.raises(UsageError) as shown:
            run_verb("show", {"id": "zzzz"}, caller)
        hints[who] = (made.value.hint, shown.value.hint)
    assert "attend join deploy" in hints["session"][0]
    assert "attend send --to '#deploy'" in hints["person"][0]
    assert "attend inbox" in hints["session"][1]
    assert "attend search" in hints["person"][1]


def test_an_alias_is_taken_with_the_mail_that_waited_for_it_and_let_go(world: World) -> None:
    world.session(10, A)
    world.session(20, B)
    call(session(world, 10), "alias", name="captain")
    with pytest.raises(RefusedError, match="held by"):
        run_verb("alias", {"name": "captain"}, session(world, 20))
    assert call(session(world, 10), "alias", name="captain", drop=True)["alias"] == []
    world.send(None, "for the captain", "@captain")
    taken = call(session(world, 20), "alias", name="@captain")
    assert (taken["alias"], taken["changed"], taken["mail"]) == (["captain"], True, 1)
    assert world.bodies(B) == ["for the captain"]


def test_cleanup_counts_the_same_dry_and_then_does_it(world: World) -> None:
    world.session(10, A)
    world.send(None, "old", A)
    world.clock.advance(40 * 86_400)
    dry = call(person(world), "cleanup", dry_run=True)
    assert dry["archived"] == 1
    assert call(person(world), "cleanup") == dry
    assert call(person(world), "cleanup")["archived"] == 0


@pytest.mark.demand("ATT-11")
@pytest.mark.field_report(59)
def test_doctor_writes_reads_back_and_leaves_nothing_but_folders(world: World) -> None:
    found = call(person(world), "doctor")
    assert [one for one in found["findings"] if one["status"] == "failed"] == []
    assert {one["subject"] for one in found["findings"]} >= {"write and read back", "lock", "watch", "privacy"}
    assert [path for path, data in world.tree().items() if data and not path.startswith("locks/")] == []


@pytest.mark.demand("ATT-11")
def test_doctor_names_a_damaged_file_and_an_open_folder(world: World) -> None:
    sent = call(person(world), "send", to=["operator"], body="x")
    path = next(path for path in world.tree() if path.endswith(f"{sent['id']}.json"))
    with open(os.path.join(world.bus.root, path), "w", encoding="utf-8") as file:
        file.write("{")
    os.chmod(world.bus.root, 0o750)  # noqa: S103  # what doctor must notice
    found = {one["subject"]: one for one in call(person(world), "doctor")["findings"]}
    assert found["damaged file"]["status"] == "note"
    assert found["privacy"]["status"] == "failed"
    assert "chmod 700" in (found["privacy"]["repair"] or "")


@pytest.mark.parametrize(
    ("verb", "arguments", "says"),
    [
        ("send", {}, "body is missing"),
        ("send", {"body": 5}, "body must be text"),
        ("send", {"body": "x", "to": "A"}, "to must be a list"),
        ("send", {"body": "x", "to": [1]}, "each of to must be text"),
        ("inbox", {"limit": 0}, "at least 1"),
        ("inbox", {"limit": True}, "limit must be a whole number"),
        ("inbox", {"since": "yesterday"}, "no time"),
        ("inbox", {"before": "x"}, "no signal's id"),
        ("inbox", {"room": "#"}, "name of a channel"),
        ("peers", {"al": True}, "takes no 'al'"),
        ("show", {"id": "zz"}, "no signal's id"),
        ("channels", {"action": "create"}, "needs the channel's name"),
        ("sned", {}, "no verb"),
        ("run", {}, "no verb"),
    ],
)
def test_arguments_that_can_not_be_are_refused_in_a_sentence(
    world: World, verb: str, arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says) as met:
        run_verb(verb, arguments, person(world))
    assert met.value.hint
    assert world.tree() == {}


def test_a_tool_does_not_take_what_is_the_commands_own(world: World) -> None:
    world.session(10, A)
    with pytest.raises(UsageError, match="takes no 'drain'"):
        run_verb("inbox", {"drain": True}, session(world, 10, SERVER))


def test_a_ledger_that_is_damaged_hides_no_mail(world: World) -> None:
    me = world.session(10, A)
    world.send(None, "x", A)
    with ledger.open_ledger(world.bus, me.key) as opened:
        opened.counted = 1
    with open(os.path.join(world.bus.root, "deliveries", f"{me.key}.json"), "w", encoding="utf-8") as file:
        file.write("{")
    assert len(call(session(world, 10), "inbox", unseen=True)["signals"]) == 1


def test_the_checker_of_shapes_notices(world: World) -> None:
    del world
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert misfits(schema, {}) == ["answer.a is missing"]
    assert misfits(schema, {"a": 1}) != []
