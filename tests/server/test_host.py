"""What fails in one module stays in one."""

from __future__ import annotations

import json
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.base.errors import UsageError, WaysError
from agent_ways.server.host import Host
from agent_ways.server.module import Module
from agent_ways.server.protocol import channel_event
from agent_ways.server.registry import Entry
from agent_ways.server.tools import LONGEST_DESCRIPTION, LONGEST_TEXT, Tool
from tests.server.worlds import world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_ways.server.module import Host as Lent
    from agent_ways.server.module import World


def tool(name: str) -> Tool:
    return Tool(
        name=name,
        title=name,
        description=name,
        input_schema={"type": "object", "properties": {"how": {"type": "string"}}, "additionalProperties": False},
        output_schema={"type": "object"},
        read_only=True,
    )


class UnsayableError(Exception):
    def __str__(self) -> str:
        raise SystemExit(9)


class Good(Module):
    name = "good"
    instructions = "good_say says good."
    tools = (tool("good_say"),)
    lent: Lent

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        how = arguments.get("how")
        if how == "usage":
            raise UsageError("no such address", "Try another.")
        if how == "exit":
            sys.exit(1)
        if how == "defect":
            raise KeyError(how)
        if how == "foreign":
            return {"x": object()}
        if how == "list":
            return ["no", "object"]  # type: ignore[return-value]  # the defect itself
        if how == "unsayable":
            raise UnsayableError
        if how == "wordless":
            raise WaysError(5)  # type: ignore[arg-type]  # the defect itself
        if how == "escapes":
            raise ValueError("\x1b[2J\x07\u202egone\n" * 1000)
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "long":
            raise WaysError("x" * 1_000_000, "y" * 1_000_000)
        return {"said": tool}

    def start(self, host: Lent) -> None:
        Good.lent = host


class BadStart(Good):
    name = "badstart"
    instructions = "never said"
    tools = (tool("badstart_say"),)

    def start(self, host: Lent) -> None:
        host.watch(0, lambda: None)
        raise OSError(24, "Too many open files")


class BadInit(Good):
    name = "badinit"

    def __init__(self, world: World) -> None:  # noqa: ARG002 - the base's signature
        raise ValueError("two\nlines")


@pytest.fixture
def entries() -> Iterator[Callable[..., list[Entry]]]:
    made = ModuleType("made_up_modules")
    sys.modules["made_up_modules"] = made

    def make(*classes: type[Module]) -> list[Entry]:
        for one in classes:
            setattr(made, one.__name__, one)
        return [Entry(one.name, "made_up_modules", one.__name__) for one in classes]

    yield make
    del sys.modules["made_up_modules"]


class Pushes(list[tuple[str, dict[str, str]]]):
    def __call__(self, content: str, meta: dict[str, str]) -> bool:
        self.append((content, meta))
        return True


def text_of(result: str) -> str:
    return str(json.loads(result)["content"][0]["text"])


@pytest.mark.demand("SRV-4")
def test_a_module_that_can_not_be_imported_leaves_the_others_alone(
    entries: Callable[..., list[Entry]], capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host([Entry("gone", "no.such.module", "X"), *entries(BadInit, Good)], world(), Pushes())
    report = host.report()
    assert report.live == ("good",)
    assert dict(report.failed) == {
        "gone": "could not be loaded: ModuleNotFoundError: No module named 'no'",
        "badinit": "could not be loaded: ValueError: two lines",
    }
    assert "No module named" in text_of(host.call("gone_say", {}))
    assert json.loads(host.call("gone_say", {}))["isError"] is True
    assert json.loads(host.call("good_say", {}))["structuredContent"] == {"said": "good_say"}
    assert host.instructions("Hello.") == "Hello.\ngood_say says good."
    assert "ways-mcp: module gone" in capsys.readouterr().err


@pytest.mark.demand("SRV-4")
def test_a_module_that_fails_at_start_is_named_and_keeps_no_events(entries: Callable[..., list[Entry]]) -> None:
    host = Host(entries(BadStart, Good), world(), Pushes())
    host.start()
    assert host.report().live == ("good",)
    assert dict(host.report().failed) == {"badstart": "could not start: OSError: [Errno 24] Too many open files"}
    assert host.watched == ()
    assert "could not start" in text_of(host.call("badstart_say", {}))


@pytest.mark.demand("SRV-4", "SRV-5")
def test_a_call_that_fails_is_said_and_the_next_one_clears_it(entries: Callable[..., list[Entry]]) -> None:
    host = Host(entries(Good), world(), Pushes())
    for how in ("exit", "defect", "foreign", "list", "interrupt", "unsayable", "wordless", "escapes"):
        result = json.loads(host.call("good_say", {"how": how}))
        assert result["isError"] is True
        assert host.report().live == ()
        reason = host.report().failed[0][1]
        assert reason.startswith("good_say failed: ")
        assert reason.isprintable()
        assert len(reason) < 400
    host.call("good_say", {})
    assert host.report().failed == ()
    assert host.report().live == ("good",)


def test_an_error_that_the_caller_can_mend_is_no_defect(entries: Callable[..., list[Entry]]) -> None:
    host = Host(entries(Good), world(), Pushes())
    assert text_of(host.call("good_say", {"how": "usage"})) == "no such address\nTry another."
    assert text_of(host.call("good_say", {"what": 1})) == '"what" is not an argument of this tool; it takes: how.'
    assert host.report().failed == ()


@pytest.mark.demand("SRV-4", "SRV-10")
def test_events_run_when_due_and_a_failing_one_ends_only_its_module(entries: Callable[..., list[Entry]]) -> None:
    pushes = Pushes()
    host = Host(entries(Good), world(), pushes)
    host.start()
    lent, happened = Good.lent, list[str]()
    lent.at(5.0, lambda: happened.append("five"))
    lent.at(3.0, lambda: happened.append("three"))
    lent.at(9.0, lambda: happened.append("nine"))
    lent.watch(1, lambda: happened.append("readable"))
    assert host.next_time() == 3.0
    host.tick(6.0)
    host.ready(1)
    host.ready(2)
    assert happened == ["three", "five", "readable"]
    assert lent.push("text", {"kind": "x"})
    assert pushes == [("text", {"kind": "x"})]

    lent.watch(1, lambda: sys.exit(2))
    host.ready(1)
    assert host.watched == ()
    assert host.next_time() is None
    assert dict(host.report().failed) == {"good": "stopped its events: SystemExit: 2"}
    assert json.loads(host.call("good_say", {}))["isError"] is False
    assert host.report().live == ()


def test_a_watch_is_given_back(entries: Callable[..., list[Entry]]) -> None:
    host = Host(entries(Good), world(), Pushes())
    host.start()
    Good.lent.watch(1, lambda: None)
    assert host.watched == (1,)
    Good.lent.unwatch(1)
    Good.lent.unwatch(1)
    assert len(host.watched) == 0


@pytest.mark.demand("SRV-3")
@pytest.mark.field_report(36)
def test_instructions_stay_within_what_every_client_shows(
    entries: Callable[..., list[Entry]], capfd: pytest.CaptureFixture[str]
) -> None:
    class Long(Good):
        name = "long"
        instructions = "ü" * (LONGEST_DESCRIPTION // 2)

    class Last(Good):
        name = "last"
        instructions = "last words"

    host = Host(entries(Good, Long, Last), world(), Pushes())
    text = host.instructions("Hello.")
    assert text == "Hello.\ngood_say says good.\nlast words"
    assert len(text.encode()) <= LONGEST_DESCRIPTION
    assert "the words of long find no room" in capfd.readouterr().err


class NoWords(Good):
    name = "nowords"
    instructions = None  # type: ignore[assignment]  # the defect itself


@pytest.mark.demand("SRV-4")
def test_a_module_without_words_is_left_out_of_the_instructions_and_named(entries: Callable[..., list[Entry]]) -> None:
    host = Host(entries(NoWords, Good), world(), Pushes())
    assert host.instructions("Hello.") == "Hello.\ngood_say says good."
    assert dict(host.report().failed) == {"nowords": "could not be loaded: TypeError: its instructions are no text"}


ASKED: dict[str, Callable[[Lent], None]] = {
    "no end": lambda host: host.at(float("inf"), print),
    "before all time": lambda host: host.at(float("-inf"), print),
    "not a number": lambda host: host.at(float("nan"), print),
    "text": lambda host: host.at("5", print),  # type: ignore[arg-type]
    "nothing": lambda host: host.at(None, print),  # type: ignore[arg-type]
    "truth": lambda host: host.at(True, print),
    "a number that no clock shows": lambda host: host.at(10**400, print),
    "a negative descriptor": lambda host: host.watch(-1, print),
    "a closed descriptor": lambda host: host.watch(closed_descriptor(), print),
    "a descriptor that is text": lambda host: host.watch("0", print),  # type: ignore[arg-type]
    "a descriptor too large": lambda host: host.watch(1 << 40, print),
    "a meta key that the client drops": lambda _host: made(channel_event("x", {"Bad-Key": "1"})),
}


def closed_descriptor() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    return reader


def made(line: bytes) -> None:
    raise AssertionError(line)


@pytest.mark.demand("SRV-4", "SRV-10")
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("moment", ["start", "event"])
def test_a_module_that_asks_for_what_can_not_be_fails_with_a_reason_and_alone(
    entries: Callable[..., list[Entry]], asked: str, moment: str
) -> None:
    class Asks(Good):
        name = "asks"

        def start(self, host: Lent) -> None:
            if moment == "start":
                ASKED[asked](host)
            else:
                host.at(1.0, lambda: ASKED[asked](host))

    host = Host(entries(Asks, Good), world(), Pushes())
    host.start()
    host.tick(2.0)
    failed = dict(host.report().failed)
    assert list(failed) == ["asks"]
    assert failed["asks"].startswith("could not start: " if moment == "start" else "stopped its events: ")
    assert "AssertionError" not in failed["asks"]
    assert host.watched == ()
    assert host.next_time() is None
    assert host.report().live == ("good",)


@pytest.mark.demand("SRV-4")
def test_a_descriptor_that_has_ended_is_told_of_once_and_must_then_be_given_back(
    entries: Callable[..., list[Entry]],
) -> None:
    host = Host(entries(Good), world(), Pushes())
    host.start()
    lent, happened = Good.lent, list[str]()

    def give_back() -> None:
        happened.append("given back")
        lent.unwatch(1)

    lent.watch(1, give_back)
    lent.watch(2, lambda: happened.append("kept"))
    host.ended(1)
    host.ended(1)
    assert host.report().failed == ()
    assert 1 not in host.watched
    host.ended(2)
    host.ended(2)
    assert happened == ["given back", "kept"]
    assert len(host.watched) == 0
    assert dict(host.report().failed) == {
        "good": "stopped its events: ValueError: descriptor 2 has ended and is still watched"
    }


def test_a_module_can_not_give_back_the_watch_of_another(entries: Callable[..., list[Entry]]) -> None:
    class Other(Good):
        name = "other"

        def start(self, host: Lent) -> None:
            host.unwatch(1)

    class First(Good):
        name = "first"

        def start(self, host: Lent) -> None:
            host.watch(1, lambda: None)

    host = Host(entries(First, Other), world(), Pushes())
    host.start()
    assert host.watched == (1,)


@pytest.mark.demand("SRV-6")
def test_no_failure_is_longer_than_what_the_client_keeps(entries: Callable[..., list[Entry]]) -> None:
    host = Host(entries(Good), world(), Pushes())
    for arguments in (
        {"how": "long"},
        {f"no argument {number}": 1 for number in range(10_000)},
        {chr(0x1F600) * 100 + str(number): 1 for number in range(1000)},
    ):
        text = text_of(host.call("good_say", arguments))
        assert len(text.encode("utf-16-le")) // 2 < LONGEST_TEXT
