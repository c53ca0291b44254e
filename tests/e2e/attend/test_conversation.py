"""A whole conversation between two real sessions, by each way in which one can wake the other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.attend.mail import TOOL, Mail
from tests.e2e.lab import CHANNEL_FLAG, Lab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.clients import Client
    from tests.e2e.lab import Session
    from tests.e2e.stub_api import ApiRequest


@dataclass(frozen=True)
class Way:
    """How the sessions are launched, and by which kind of line they are woken then."""

    flag: bool
    env: dict[str, str]
    kind: str


WAYS = {
    "flag": Way(flag=True, env={}, kind="channel"),
    "no flag": Way(flag=False, env={}, kind="peer"),
    "telemetry off": Way(flag=True, env={"DISABLE_TELEMETRY": "1"}, kind="peer"),
}


@dataclass(frozen=True)
class Story:
    """One session asks another, which answers; `question` and `answer` are the ids of the two messages."""

    way: Way
    mail: Mail
    asker: Session
    answerer: Session
    sent: Any
    question: str
    answer: str
    woken: ApiRequest
    replied: Any
    back: ApiRequest


QUESTION = "are the tests green?"
ANSWER = "yes: 412 passed & none failed"


@pytest.fixture(scope="module", params=WAYS.values(), ids=list(WAYS))
def story(client: Client, ways_mcp: str, request: pytest.FixtureRequest) -> Iterator[Story]:
    way: Way = request.param
    with Lab(client) as lab:
        mail = Mail.set_up(lab, ways_mcp, drain=False)  # or a quick answer comes at the end of the asker's turn
        other = lab.home.add_project("other")
        flag = CHANNEL_FLAG if way.flag else ()
        asker = lab.launch(*flag, **way.env)
        answerer = lab.start(*flag, project=other, **way.env)
        asker.wait_connected()
        answerer.say("SAY:here")  # a session is woken with the text itself once it is known to ask before it acts
        reply = f"CALL:{TOOL}reply:{json.dumps({'body': ANSWER})}"
        sent = asker.call(f"{TOOL}send", {"to": [answerer.id], "body": f"{QUESTION}\n{reply}"}).value
        woken = lab.api.wait("the question", lambda one: one.is_turn and one.mentions(f"signal {sent['id']}"))
        told = answerer.tool_answer(since=_after(lab, woken))
        replied = json.loads(told.text)
        back = lab.api.wait("the answer", lambda one: one.is_turn and one.mentions(f"signal {replied['id']}"))
        yield Story(
            way=way,
            mail=mail,
            asker=asker,
            answerer=answerer,
            sent=sent,
            question=sent["id"],
            answer=replied["id"],
            woken=woken,
            replied=replied,
            back=back,
        )


def _after(lab: Lab, request: ApiRequest) -> int:
    return next((at for at, one in enumerate(lab.api.answers) if one.request is request), len(lab.api.answers))


@pytest.mark.demand("CON-1", "CON-2", "ATT-4")
def test_the_question_starts_a_turn_of_the_idle_session(story: Story) -> None:
    assert story.woken.session == story.answerer.id
    assert story.mail.wait_seen(story.question) == story.way.kind


@pytest.mark.demand("CON-4", "SRV-3")
def test_the_request_holds_sender_id_and_text(story: Story) -> None:
    text = "\n".join(story.woken.last_user_texts())
    (header,) = [line for line in text.split("\n") if line.startswith(f"[attend signal {story.question} from ")]
    assert story.asker.id in header
    assert QUESTION in text


@pytest.mark.demand("ATT-5", "CON-1")
def test_the_answer_wakes_the_session_that_asked_which_reads_it(story: Story) -> None:
    assert story.back.session == story.asker.id
    assert ANSWER in "\n".join(story.back.last_user_texts())
    assert story.mail.wait_seen(story.answer) == story.way.kind


@pytest.mark.demand("CON-1")
def test_each_message_was_shown_once(story: Story) -> None:
    assert story.mail.wait_seen(story.question)
    assert story.mail.wait_seen(story.answer)
    assert [story.mail.shown(one) for one in (story.question, story.answer)] == [1, 1]


@pytest.mark.demand("ATT-3", "ATT-5")
def test_what_send_and_reply_say_is_so(story: Story) -> None:
    assert [one["session"] for one in story.sent["recipients"]] == [story.answerer.id]
    assert [one["session"] for one in story.replied["recipients"]] == [story.asker.id]
    assert {one["state"] for one in [*story.sent["recipients"], *story.replied["recipients"]]} == {"queued"}
    assert (story.sent["note"], story.replied["note"]) == (None, None)
