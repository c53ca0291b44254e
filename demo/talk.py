"""The second story: two sessions talk, one dies, its mail waits, and it is read when the session comes back.

Owns `talk`. Must not know how it looks (see `narrator.py`). The servers and the `attend` command are the real ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from tests.support.fake_client import FLAGGED, FakeClient, Plan

from demo.narrator import NotSoError, plain_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from demo.narrator import Narrator

RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import main; sys.exit(main(sys.argv[1:]))"
QUESTION = "Is the schema change merged? I wait with the migration until then."
ANSWER = "Merged ten minutes ago: go ahead."
PATIENCE = 15.0
"""Seconds."""
LATER = "Migrated. Two rows had no owner: look at them when you are back."


class Person:
    """Who keeps both sessions open: one home, a folder per project, and a terminal of their own."""

    def __init__(self, package: str, folder: str) -> None:
        self._package = package
        self._folder = folder
        self.home = os.path.join(folder, "home")

    def opens(self, project: str, *, flag: bool, resume: str | None = None) -> FakeClient:
        """Claude Code in that project; after a first prompt, so that the session has a transcript."""
        plan = Plan(
            server=self._python("agent_ways.server.__main__"),
            argv=FLAGGED if flag else ("claude",),
            env=plain_environment(),
            home=self.home,
            project=os.path.join(self._folder, project),
            resume=resume,
        )
        client = FakeClient(self._folder, plan)
        try:
            client.wait_handshake()
            if resume is None:
                client.type("Good morning.")
                client.wait_status("idle")
                mode = {"type": "permission-mode", "permissionMode": "default", "sessionId": client.session_id}
                client.append_transcript(mode)
        except BaseException:
            client.close()
            raise
        return client

    def attend(self, *words: str) -> Any:
        """What `attend WORDS --json` says in a plain terminal."""
        command = [*self._python("agent_ways.attend.__main__"), *words, "--json"]
        env = {**plain_environment(), "HOME": self.home}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=20, check=False)
        if done.returncode:
            raise NotSoError(f"`attend {' '.join(words)}` answers: not so ({done.stderr.strip()})")
        return json.loads(done.stdout)

    def asks(self, *words: str, until: Callable[[Any], Any]) -> Any:
        """The same, asked again until `until` makes something of the answer: what that is."""
        end = time.monotonic() + PATIENCE
        while not (found := until(answer := self.attend(*words))):
            if time.monotonic() > end:
                raise NotSoError(f"`attend {' '.join(words)}` says what was awaited: not so ({answer})")
        return found

    def _python(self, module: str) -> tuple[str, ...]:
        return (sys.executable, "-I", "-S", "-c", RUN.format(module=module), self._package)


def talk(narrator: Narrator, package: str, folder: str) -> None:
    """The whole story, in `folder`. Raises `NotSoError`, or `ClientError` where something never came."""
    person = Person(package, folder)
    with person.opens("web", flag=False) as web:
        with person.opens("api", flag=True) as api:
            names = _names(narrator, person, web, api)
            _question(narrator, web, api, names["api"])
            _answer(narrator, web, api)
            _death(narrator, api)
        signal = _kept(narrator, web, names["api"])
        with person.opens("api", flag=True, resume=api.session_id) as again:
            _read(narrator, person, again, signal, names["api"])


def _names(narrator: Narrator, person: Person, web: FakeClient, api: FakeClient) -> dict[str, str]:
    narrator.step("The next morning: two sessions, in two projects")
    narrator.say(
        "The one in web was started plainly, the one in api with the channel flag. `attend peers`, in a terminal:"
    )
    unnamed = {client.record()["name"] for client in (web, api)}

    def registered(answer: Any) -> Any:
        return answer["peers"] if unnamed.isdisjoint(one["name"] for one in answer["peers"]) else None

    names = {}
    for peer in person.asks("peers", until=registered):
        project = os.path.basename(peer["project"])
        names[project] = peer["name"]
        narrator.quote(f"{peer['name']:16} {peer['status']:8} in {project}")
    narrator.check("both are there, each with a name of its own", set(names) == {"web", "api"}, names)
    return names


def _question(narrator: Narrator, web: FakeClient, api: FakeClient, to: str) -> None:
    narrator.step("The session in web asks the one in api")
    sent = web.model_call("attend_send", {"to": [to], "body": QUESTION})["structuredContent"]
    narrator.say("The tool's answer says what is true at that moment, and no more:")
    narrator.quote("\n".join(f"{one['name']}: {one['state']}" for one in sent["recipients"]))
    narrator.check("it is not said to have been read", all(one["state"] != "seen" for one in sent["recipients"]), sent)
    shown = api.wait_shown(lambda shown: any(QUESTION in text for text in shown.texts))
    narrator.say("The idle session in api has a turn that nobody typed. What its model is given:")
    narrator.quote(shown.texts[0])
    narrator.check("it came through the channel", shown.kind == "channel", shown.kind)


def _answer(narrator: Narrator, web: FakeClient, api: FakeClient) -> None:
    narrator.step("It answers, and the asker wakes: without any flag, through its own inbox socket")
    api.wait_status("idle", count=2)
    api.model_call("attend_reply", {"body": ANSWER})
    shown = web.wait_shown(lambda shown: any(ANSWER in text for text in shown.texts))
    narrator.quote(shown.texts[0])
    narrator.check("it came through the inbox socket", shown.kind == "peer", shown.kind)


def _death(narrator: Narrator, api: FakeClient) -> None:
    narrator.step("The session in api dies, without a word")
    api.kill()
    narrator.say(f"kill -9 {api.pid}: its record, its key and its mail lie where they lay.")


def _kept(narrator: Narrator, web: FakeClient, to: str) -> str:
    narrator.step("The one in web writes to it once more")
    sent = web.model_call("attend_send", {"to": [to], "body": LATER})["structuredContent"]
    narrator.quote("\n".join(f"{one['name']}: {one['state']}" for one in sent["recipients"]))
    narrator.check("it is kept, and said to be so", any("kept" in one["state"] for one in sent["recipients"]), sent)
    return str(sent["id"])


def _read(narrator: Narrator, person: Person, again: FakeClient, signal: str, name: str) -> None:
    narrator.step("Later the person opens it again: claude --resume")
    shown = again.wait_shown(lambda shown: any(LATER in text for text in shown.texts))
    narrator.quote(shown.texts[0])
    narrator.check("the mail that waited was given to the model", signal in shown.texts[0], shown)
    narrator.say("Anybody can look it up in a terminal. `attend show`:")
    receipt = person.asks("show", signal, until=_proven)
    proof = "\n".join(f"  {key} {value}" for key, value in receipt["proof"].items())
    narrator.quote(f"{receipt['name']}: {receipt['state']}\n{proof}")
    narrator.check("the session has the name that it had", receipt["name"] == name, receipt)
    times = sum(LATER in text for shown in again.shown for text in shown.texts)
    narrator.check("and it was given that mail once", times == 1, times)


def _proven(shown: Any) -> Any:
    """The receipt of a signal that was seen, None before."""
    return next((one for one in shown["receipts"] if one["state"] == "seen" and one["proof"]), None)
