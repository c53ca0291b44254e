"""The contract of ATT-4 with nothing made up between verb and caller: the server's process, the command's process.

Two homes are seeded alike, each with two live sessions of a fake client and their servers. In one, every case goes as
a tools/call over the session's own stdio; in the other as `attend` below the client's shell. After each, what was
answered and what lies on the bus must be the same, but for what chance, clocks and process ids put there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import catalogue, layout
from tests.attend.frontends.test_contract import CASES
from tests.attend.test_drain import ATTEND
from tests.attend.world import A, B
from tests.server.serving import SERVER
from tests.support.fake_client import FakeClient, Plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

ID = r"[0-9a-hjkmnp-tv-z]{12}-[0-9a-hjkmnp-tv-z]{8}\b"
CHANCE = [
    (r'"pid":\d+,"start":"\d+"', '"pid":0,"start":"0"'),
    (r'"(at|since|updated|made|by|offset)":[\d.]+', r'"\1":0'),
    (r'"at":"[^"]*"', '"at":"then"'),
    (r'"looked":\{[^}]*\}', '"looked":{}'),
    (r"process \d+", "process 0"),
    (r'"client_name":"[^"]*"', '"client_name":"the client\'s"'),
    (r'/[^" ]*\.sock', "/the.sock"),
]
"""What differs between two runs: process ids, times, places in transcripts, sockets, the client's own names."""


class Machine:
    """One seeded home. `ask` runs a case by one frontend; a context manager."""

    def __init__(self, root: Path, ask: Callable[[FakeClient, str, list[str], dict[str, Any]], dict[str, Any]]) -> None:
        self._ask = ask
        self._root = root
        folder = root / "home" / ".config" / "agent-ways"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text('[attend]\nwake = "never"\n', encoding="utf-8")
        project = root.parent / "project"  # the same for both homes: a nickname goes by its path
        project.mkdir(exist_ok=True)
        self.other = FakeClient(root, Plan(server=SERVER, session_id=B, project=str(project)))
        self.me = FakeClient(root, Plan(server=SERVER, session_id=A, project=str(project)))
        self.bus = layout.bus_root({"HOME": self.me.plan.home})
        self.mail = self._seeded()

    def _seeded(self) -> str:
        for client in (self.other, self.me):
            client.wait_handshake()
            client.wait_channel_open()
            self._spawned(client, "join", "deploy")
        self._spawned(self.other, "send", "--to", "#deploy", "old news")
        env = {"HOME": self.me.plan.home, "PATH": os.environ["PATH"]}
        words = [*ATTEND, "send", "--to", A, "from the person"]
        subprocess.run(words, env=env, check=True, timeout=60, stdin=subprocess.DEVNULL, capture_output=True)
        return str(json.loads(self._spawned(self.other, "send", "--json", "--to", A, "a question"))["id"])

    def _spawned(self, client: FakeClient, *words: str) -> str:
        result = client.spawn([*ATTEND, *words], timeout=60)
        assert result["code"] == 0, result
        return str(result["stdout"])

    def run(self, verb: str, line: list[str], arguments: dict[str, Any]) -> dict[str, str]:
        """What the case answered and what lies on the bus then, as texts without chance in them."""
        filled = [word.format(mail=self.mail) for word in line]
        given = {name: v.format(mail=self.mail) if isinstance(v, str) else v for name, v in arguments.items()}
        answer = json.dumps(self._ask(self.me, verb, filled, given), ensure_ascii=False, separators=(",", ":"))
        for client in (self.me, self.other):
            client.ask("ping")  # whatever its server does about it is done
        return self._plain({"answer": answer, **self._tree()})

    def _tree(self) -> dict[str, str]:
        found = {}
        for folder, _, files in os.walk(self.bus):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), self.bus)
                if path != "clock" and not path.startswith("locks") and not name.endswith(".tmp"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        found[path] = file.read()
        return found

    def _plain(self, texts: dict[str, str]) -> dict[str, str]:
        """Ids by their order in time, instances by their sessions, and the home by a name."""
        everything = "\n".join([*texts, *texts.values()])
        names = {one: f"<id {at}>" for at, one in enumerate(sorted(set(re.findall(ID, everything))))}
        for key in os.listdir(layout.instances(self.bus)):
            with open(os.path.join(layout.instances(self.bus), key), encoding="utf-8") as file:
                names[key.removesuffix(".json")] = f"<key of {json.load(file)['sessions'][-1]}>"
        names[str(self._root)] = "<root>"
        found = {}
        for path, text in texts.items():
            for pattern, word in CHANCE:
                text = re.sub(pattern, word, text)  # noqa: PLW2901  # step by step
            for one, word in names.items():
                path, text = path.replace(one, word), text.replace(one, word)  # noqa: PLW2901
            found[path] = text
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.me.close()
        self.other.close()


def by_tool(client: FakeClient, verb: str, line: list[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """The session's model calls the tool of its server."""
    del line
    result = client.call_tool(f"attend_{verb}", arguments, timeout=60)
    if result["isError"]:
        return {"error": result["content"][0]["text"]}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return dict(result["structuredContent"])


def by_command(client: FakeClient, verb: str, line: list[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """The session's model runs the command in its shell."""
    del arguments
    result = client.spawn([*ATTEND, verb, "--json", *line], timeout=60)
    document: dict[str, Any] = json.loads(result["stdout"])
    assert (result["code"] == 0) == ("error" not in document), result
    if "error" in document:
        error = document["error"]
        hint = "" if error["hint"] == f"See: attend {verb} --help" else error["hint"]  # the command's own help
        told = "\n".join(part for part in (error["message"], hint) if part)
        return {"error": re.sub(r"^--(\w+) (must be .+)\nWrite: .+$", r"\1 \2.", told)}  # an option by its own name
    return document


@pytest.mark.demand("ATT-4")
def test_every_verb_answers_and_leaves_the_same_by_a_real_server_and_by_the_real_command(tmp_path: Path) -> None:
    with Machine(tmp_path / "tool", by_tool) as tool, Machine(tmp_path / "command", by_command) as command:
        before: dict[str, str] = {}
        for case in CASES:
            left, right = tool.run(*case), command.run(*case)
            assert right == left, case[1]
            entry = catalogue.find(case[0])
            assert entry is not None
            assert {**left, "answer": ""} == {**before, "answer": ""} or not (entry.read_only and before)
            before = left
