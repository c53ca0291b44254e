"""The same verb on the same disk state answers the same and leaves the same, whichever frontend ran it (ATT-4).

The command's side goes from words, the server's from JSON arguments. Both start from one seeded state, in a home of the
same name; what chance and clock put into ids is named by its order before the two are compared.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import catalogue, ids, words
from agent_ways.attend.verbs import run_verb
from agent_ways.attend.verbs.caller import COMMAND, SERVER
from agent_ways.base.errors import WaysError
from agent_ways.base.jsontext import dumps
from tests.attend.frontends.callers import serve, session
from tests.attend.world import WEB, A, B, C, World

if TYPE_CHECKING:
    from pathlib import Path

CASES: list[tuple[str, list[str], dict[str, Any]]] = [
    ("send", ["--to", B, "hello there"], {"to": [B], "body": "hello there"}),
    ("send", ["--to", "#deploy", "--to=operator", "a", "b"], {"to": ["#deploy", "operator"], "body": "a b"}),
    ("send", ["to all"], {"body": "to all"}),
    (
        "send",
        ["--to", "self", "--on-behalf-of", "ops", "later"],
        {"to": ["self"], "on_behalf_of": "ops", "body": "later"},
    ),
    ("send", ["--to", C, "to the dead"], {"to": [C], "body": "to the dead"}),
    ("send", ["--to", "Nobody", "x"], {"to": ["Nobody"], "body": "x"}),
    ("send", ["--to", A, "to myself"], {"to": [A], "body": "to myself"}),
    ("send", ["  "], {"body": "  "}),
    ("reply", ["--re", "{mail}", "yes"], {"re": "{mail}", "body": "yes"}),
    ("reply", ["to the newest shown"], {"body": "to the newest shown"}),
    ("reply", ["--re", "zzzzzzzz", "x"], {"re": "zzzzzzzz", "body": "x"}),
    ("inbox", [], {}),
    ("inbox", ["--unseen", "--limit", "1"], {"unseen": True, "limit": 1}),
    ("inbox", ["--room", "#deploy", "--grep", "NEWS"], {"room": "#deploy", "grep": "NEWS"}),
    ("inbox", ["--since", "1h", "--from", "person"], {"since": "1h", "from": "person"}),
    ("inbox", ["--before", "{mail}"], {"before": "{mail}"}),
    ("inbox", ["--limit", "0"], {"limit": 0}),
    ("inbox", ["--id", "{mail}", "--part", "1"], {"id": "{mail}", "part": 1}),
    ("inbox", ["--id", "{mail}", "--part", "2"], {"id": "{mail}", "part": 2}),
    ("peers", [], {}),
    ("peers", ["--all"], {"all": True}),
    ("status", [], {}),
    ("join", ["Deploy"], {"channel": "Deploy"}),
    ("join", ["#new"], {"channel": "#new"}),
    ("join", ["a b"], {"channel": "a b"}),
    ("leave", ["deploy"], {"channel": "deploy"}),
    ("leave", ["nowhere"], {"channel": "nowhere"}),
]


def seeded(home: Path) -> dict[str, str]:
    """A bus with three sessions, a channel, mail seen, under way and waiting; the ids of what matters."""
    world = World(home)
    me, other, dead = world.session(10, A), world.session(20, B), world.session(30, C, cwd="/home/person/api")
    serve(world, A, 90)
    run_verb("join", {"channel": "deploy"}, session(world, 10))
    run_verb("join", {"channel": "deploy"}, session(world, 20))
    world.send(other, "old news", "#deploy")
    world.clock.advance(7200)
    mail = world.send(other, "a question", A).signal.id
    world.claim(me)
    world.send(None, "from the person", A)
    world.send(dead, "talk", "*")
    return {"mail": mail}


def opened(home: Path) -> World:
    """The seeded state as a frontend's process finds it."""
    world = World(home)
    for pid, session_id, cwd in ((10, A, WEB), (20, B, WEB)):
        world.client(pid, session_id, cwd)
    world.clock.advance(7201)
    world.table.add(90)
    return world


def outcome(world: World, frontend: str, verb: str, arguments: dict[str, Any]) -> tuple[str, dict[str, bytes | None]]:
    """What it answered, and the tree that it left."""
    try:
        answer = run_verb(verb, arguments, session(world, 10, frontend))
    except WaysError as error:
        answer = {"error": [error.code, error.message, error.hint]}
    return dumps(answer), world.tree()


def in_order(text: str, names: dict[str, str]) -> str:
    """`text` with each id, and each short form of one, replaced by a name that tells its place alone."""

    def name(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"<id {len(names)}>")

    return re.sub(r"[0-9a-hjkmnp-tv-z]{12}-[0-9a-hjkmnp-tv-z]{8}\b", name, text)


def compared(home: str, answer: str, tree: dict[str, bytes | None], known: set[str]) -> dict[str, str]:
    """Answer and tree as texts that two runs of one verb have in common."""
    names = {one: one for one in known}
    found = {"answer": in_order(answer, names)}
    for path, data in sorted(tree.items()):
        content = "" if data is None else data.decode("utf-8", "replace")
        found[in_order(path, names)] = in_order(content, names)
    return {path: text.replace(home, "<home>") for path, text in found.items()}


@pytest.mark.demand("ATT-4")
@pytest.mark.parametrize(("verb", "line", "arguments"), CASES, ids=lambda value: str(value)[:60])
def test_a_verb_leaves_and_answers_the_same_from_words_and_from_json(
    tmp_path: Path, verb: str, line: list[str], arguments: dict[str, Any]
) -> None:
    home = tmp_path / "home"
    marks = seeded(home)
    shutil.move(home, tmp_path / "seed")
    filled = [word.format(**marks) for word in line]
    given = {key: value.format(**marks) if isinstance(value, str) else value for key, value in arguments.items()}
    entry = catalogue.find(verb)
    assert entry is not None
    assert words.parse(entry, filled) == given
    results = []
    for frontend, wanted in ((COMMAND, words.parse(entry, filled)), (SERVER, json.loads(json.dumps(given)))):
        shutil.copytree(tmp_path / "seed", home)
        world = opened(home)
        before = world.tree()
        answer, tree = outcome(world, frontend, verb, wanted)
        known = {name for path in before for name in re.split(r"[/.]", path) if ids.is_id(name)}
        results.append(compared(str(home), answer, tree, known))
        if entry.read_only or '"error"' in answer:
            assert tree == before
        shutil.rmtree(home)
    assert results[0] == results[1]


@pytest.mark.demand("ATT-4")
def test_every_tool_is_in_the_contract() -> None:
    assert {verb for verb, _, _ in CASES} == {verb.name for verb in catalogue.tools()}


def test_the_comparison_notices_a_difference(tmp_path: Path) -> None:
    seeded(tmp_path / "home")
    world = opened(tmp_path / "home")
    first, _ = outcome(world, COMMAND, "send", {"to": [B], "body": "one"})
    second, _ = outcome(world, SERVER, "send", {"to": [B], "body": "two"})
    assert in_order(first, {}) == in_order(second, {})
    left = compared(world.home, "", world.tree(), set())
    os.unlink(os.path.join(world.bus.root, next(path for path in world.tree() if path.endswith(".direct"))))
    assert compared(world.home, "", world.tree(), set()) != left
