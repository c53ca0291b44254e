"""Keepalive on the real client: two sessions side by side, from unarmed over pings and a cold cache to the wrap.

One is logged in by OAuth and reached by the channel, the other has an API key and is reached by its inbox socket. A
cache's life is scaled down by the server's own setting for trials.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.ways.layout import layout_of
from agent_ways.ways.ledger import Ledger
from tests.e2e.lab import CHANNEL_FLAG, Lab
from tests.e2e.processes import marked
from tests.e2e.waiting import until
from tests.ways.support import install_by_hand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.clients import Client
    from tests.e2e.lab import Session
    from tests.e2e.stub_api import Answer

FASTER = "AGENT_WAYS_KEEPALIVE_FASTER"
HOUR = {
    FASTER: "600",
    "ANTHROPIC_API_KEY": "",
    "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-made-up-for-the-suite-AAAAAAAA",
}
"""A cache of one hour, which lives 6 s here."""
FIVE = {FASTER: "40"}
"""A cache of five minutes, which lives 7.5 s here."""
SLOWER = {**HOUR, FASTER: "30"}
"""An hour's cache lives 2 minutes: after a restart the one of before is still warm."""

PING, WRAP = "[agent-ways keepalive ping ", "[agent-ways keepalive wrap "
OK = "answer with the one word ok"
HAND_OVER = 'CALL:mcp__agent-ways__attend_send:{"to": ["self", "operator"], "body": "done: all, open: nothing"}'


@dataclass
class Person:
    """Who arms keepalive and looks at it, in a terminal outside of every session."""

    lab: Lab

    def __post_init__(self) -> None:
        layout = layout_of(self.lab.env)
        ledger = Ledger(layout)
        ledger.make_folder(layout.data)
        ledger.make_folder(layout.bin)
        install_by_hand(layout)
        self.bin = layout.bin

    def run(self, command: str, *words: str) -> dict[str, Any]:
        """What the command answers as JSON."""
        ran = subprocess.run(
            [os.path.join(self.bin, command), *words],
            env=self.lab.env,
            cwd=self.lab.home.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        answer: dict[str, Any] = json.loads(ran.stdout)
        return answer

    def keepalive(self, *words: str) -> dict[str, Any]:
        return self.run("ways", "keepalive", *words, "--json")

    def status(self, session: str) -> dict[str, Any]:
        """What `ways keepalive status` says of one session."""
        found = self.keepalive("status")["sessions"]
        return next(one for one in found if one["session"] == session)

    def record(self, session: str) -> dict[str, Any] | None:
        """Keepalive's record of a session, None while there is none."""
        try:
            with open(os.path.join(self.lab.home.state_dir, "keepalive", f"{session}.json"), encoding="utf-8") as file:
                found: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            return None
        return found

    def read_back(self, session: Session, ping: Answer) -> dict[str, Any]:
        """The record once the answer to that ping was read back."""
        texts = ping.request.last_user_texts()

        def read_back() -> dict[str, Any] | None:
            found = self.record(session.id)
            last = found["ping"] if found else None
            return found if last and last["verdict"] and any(last["id"] in text for text in texts) else None

        return until("the read-back of a ping", read_back, instead=lambda: f"{self.record(session.id)}")


@dataclass
class Story:
    """What was seen, step by step."""

    events_unarmed: list[str]
    recorded_unarmed: bool
    armed: dict[str, Any]
    pings: dict[str, Answer] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    screen: str = ""
    cold: dict[str, Any] = field(default_factory=dict)
    told_cold: dict[str, Any] = field(default_factory=dict)
    pings_cold: tuple[int, int] = (0, 0)
    warm_again: dict[str, Any] = field(default_factory=dict)
    wrap: Answer | None = None
    wrapped: dict[str, Any] = field(default_factory=dict)
    mail: dict[str, Any] = field(default_factory=dict)
    told_wrapped: dict[str, Any] = field(default_factory=dict)
    wraps_after_restart: int = 0
    told_after_restart: dict[str, Any] = field(default_factory=dict)
    mail_after_restart: int = 0
    operator: list[dict[str, Any]] = field(default_factory=list)
    wraps_in_the_end: int = 0


def pushed(lab: Lab, opening: str, session: str = "") -> int:
    """How many turns an event of that opening began."""
    return sum(
        answer.request.is_turn
        and any(opening in text for text in answer.request.last_user_texts())
        and answer.request.session.startswith(session)
        for answer in lab.api.answers
    )


def wait_pushed(lab: Lab, opening: str, session: str, since: int) -> Answer:
    """The answer to the first such event in that session from answer number `since` on."""
    return lab.api.wait_answer(
        f"{opening} in {session}",
        lambda answer: (
            answer.request.is_turn
            and answer.request.session == session
            and any(opening in text for text in answer.request.last_user_texts())
        ),
        since=since,
    )


@pytest.fixture(scope="module")
def story(client: Client, ways_mcp: str) -> Iterator[Story]:
    with Lab(client) as lab:
        person = Person(lab)
        line = {"type": "command", "command": f"{person.bin}/ways statusline", "refreshInterval": 1}
        lab.home.settings("mcp__agent-ways", statusLine=line)
        lab.register(ways_mcp)
        lab.api.habits |= {OK: "SAY:ok", "Now wrap up.": HAND_OVER}
        yield played(lab, person)


def played(lab: Lab, person: Person) -> Story:
    hour = lab.start(*CHANNEL_FLAG, **HOUR)
    hour.say("SAY:hello")
    ends = time.monotonic() + 6.5
    five = lab.start(**FIVE)
    five.say("SAY:hello")
    until("the end of the first cache", lambda: time.monotonic() > ends)
    hour.say("SAY:go on")
    five.say("SAY:go on")
    since = len(lab.api.answers)
    seen = Story(
        events_unarmed=[text for one in lab.api.requests for text in one.texts() if "[agent-ways keepalive " in text],
        recorded_unarmed=os.path.exists(os.path.join(lab.home.state_dir, "keepalive")),
        armed=person.keepalive("on", "--window", "8h"),
    )
    for name, session in (("hour", hour), ("five", five)):
        seen.pings[name] = wait_pushed(lab, PING, session.id, since)
        seen.records[name] = person.read_back(session, seen.pings[name])
        seen.rows[name] = session.rows()
        seen.told[name] = person.status(session.id)
    seen.screen = hour.terminal.until("our status line", lambda screen: "keepalive 7 h 59 min" in screen)
    five.exit()
    a_cold_cache(lab, person, hour, seen)
    the_wrap(lab, person, hour, seen)
    after_a_restart(lab, person, hour, seen)
    return seen


def a_cold_cache(lab: Lab, person: Person, hour: Session, seen: Story) -> None:
    lab.api.habits[OK] = "COLD SAY:ok"
    until("a stop", lambda: (person.record(hour.id) or {}).get("stopped"), instead=hour.terminal.screen)
    before = pushed(lab, PING, hour.id)
    seen.cold, seen.told_cold = person.record(hour.id) or {}, person.status(hour.id)
    lab.api.habits[OK] = "SAY:ok"
    ends = time.monotonic() + 5.0
    until("the time of the next ping", lambda: time.monotonic() > ends)
    seen.pings_cold = (before, pushed(lab, PING, hour.id))
    since = len(lab.api.answers)
    hour.say("SAY:back")
    seen.warm_again = person.read_back(hour, wait_pushed(lab, PING, hour.id, since))


def the_wrap(lab: Lab, person: Person, hour: Session, seen: Story) -> None:
    since = len(lab.api.answers)
    file = Path(person.keepalive("on")["file"])
    file.write_text(file.read_text().replace('"8h"', '"3s"'))  # shorter than the command line takes
    person.keepalive("on")
    asked = wait_pushed(lab, WRAP, hour.id, since)
    told = lab.api.wait_answer(
        "the end of the wrap",
        lambda answer: answer.request.tool_result(asked.tool_use_id or "") is not None,
        since=since,
    )
    hour.settled(told)
    seen.wrap = told
    until("a proven wrap", lambda: ((person.record(hour.id) or {}).get("wrap") or {}).get("state") == "proven")
    hour.terminal.until("our status line", lambda screen: "keepalive: wrapped" in screen)
    seen.mail = person.run("attend", "send", "--to", hour.id, "--json", "--", "not before you type")
    seen.wrapped, seen.told_wrapped = person.record(hour.id) or {}, person.status(hour.id)


def after_a_restart(lab: Lab, person: Person, hour: Session, seen: Story) -> None:
    session = hour.id
    hour.kill(signal.SIGTERM)  # /exit would be something that the operator typed
    again = lab.start("--resume", session, *CHANNEL_FLAG, **SLOWER)
    ends = time.monotonic() + 3.0
    until("the time in which a wrap would be sent", lambda: time.monotonic() > ends)
    seen.wraps_after_restart = pushed(lab, WRAP)
    seen.told_after_restart = person.status(session)
    seen.mail_after_restart = sum(one.mentions("not before you type") for one in lab.api.requests)
    since = len(lab.api.answers)
    # Not at once: 2.1.285 writes nothing of a turn of 100 ms into its record, and nothing then tells of the prompt.
    again.terminal.type("SLEEP:1 SAY:good morning")
    lab.api.wait_answer("the mail", lambda one: one.request.mentions("not before you type"), since=since)
    wait_pushed(lab, WRAP, session, since)
    seen.operator = person.run("attend", "inbox", "--json")["signals"]
    seen.wraps_in_the_end = pushed(lab, WRAP)
    person.keepalive("off")
    again.exit()
    until("the end of the last status line", lambda: not any("statusline" in one.argv for one in marked(lab.home.name)))


def shown(rows: list[dict[str, Any]], opening: str) -> list[str]:
    """The origin of each line that shows an event given to the model."""
    return [row["origin"]["kind"] for row in rows if row["type"] == "user" and opening in json.dumps(row)]


@pytest.mark.demand("KA-1")
def test_unarmed_nothing_is_sent_and_nothing_recorded(story: Story) -> None:
    assert story.events_unarmed == []
    assert not story.recorded_unarmed


@pytest.mark.demand("KA-1", "KA-3")
@pytest.mark.parametrize(("name", "kind"), [("hour", "channel"), ("five", "peer")])
def test_armed_while_they_run_each_is_pinged_by_its_conduit_and_answers_one_word(
    story: Story, name: str, kind: str
) -> None:
    assert story.armed["armed"] is True
    rows = story.rows[name]
    assert set(shown(rows, PING)) == {kind}
    text = next(text for text in story.pings[name].request.last_user_texts() if PING in text)
    assert OK in text
    answers = [row["message"] for row in rows if row["type"] == "assistant"]
    answer = next(one for one in answers if one["id"] == story.pings[name].message_id)
    assert [block["text"] for block in answer["content"]] == ["ok"]
    assert answer["usage"]["cache_read_input_tokens"] > 0


@pytest.mark.demand("KA-4")
@pytest.mark.parametrize("name", ["hour", "five"])
def test_the_read_back_of_the_ping_says_warm(story: Story, name: str) -> None:
    assert story.records[name]["ping"]["verdict"] == "warm"
    assert story.records[name]["stopped"] == ""
    assert story.told[name]["readback"]["verdict"] == "warm"
    assert story.told[name]["pings"]["proven"] >= 1


@pytest.mark.demand("ID-7", "KA-5")
def test_the_tier_of_an_api_key_and_that_of_an_oauth_login_are_told_apart(story: Story) -> None:
    assert (story.told["hour"]["cache"]["tier"], story.told["hour"]["pings"]["limit"]) == ("1h", 2.0)
    assert (story.told["five"]["cache"]["tier"], story.told["five"]["pings"]["limit"]) == ("5m", 1.25)
    assert story.told["hour"]["notes"] == []
    assert "pings end after about 45 min" in story.told["five"]["notes"][0]


@pytest.mark.demand("KA-2")
def test_the_status_line_of_the_client_shows_it(story: Story) -> None:
    assert "cache warm until " in story.screen


@pytest.mark.demand("KA-4")
def test_a_cold_answer_stops_it_until_a_typed_prompt(story: Story) -> None:
    assert story.cold["ping"]["verdict"] == "cold"
    assert story.told_cold["next"]["rule"] == "stopped"
    assert story.pings_cold[0] == story.pings_cold[1]
    assert (story.warm_again["stopped"], story.warm_again["ping"]["verdict"]) == ("", "warm")


@pytest.mark.demand("KA-6", "KA-8")
def test_the_window_closes_with_a_wrap_that_sends_its_hand_over_without_a_question(story: Story) -> None:
    assert story.wrap is not None
    assert story.wrapped["wrap"]["state"] == "proven"
    assert story.told_wrapped["next"]["rule"] == "wrapped"
    assert story.told_wrapped["quiet"] is True
    assert any("done: all" in one["body"] for one in story.operator)


@pytest.mark.demand("KA-6", "KA-7")
def test_a_restart_repeats_no_wrap_and_brings_no_mail(story: Story) -> None:
    assert story.wraps_after_restart == 1
    assert story.told_after_restart["next"]["rule"] == "wrapped"
    assert [one["state"] for one in story.mail["recipients"]] == ["kept: wrapped"]
    assert story.mail_after_restart == 0


@pytest.mark.demand("KA-6")
def test_a_typed_prompt_opens_the_window_anew_and_brings_the_mail(story: Story) -> None:
    assert story.wraps_in_the_end == 2
