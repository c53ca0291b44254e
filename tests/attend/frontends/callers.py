"""Callers of verbs in a made-up world, and a check of what they answer.

Owns who calls (a person, a session by either frontend), the marker of a made-up server, and `misfits`: where a
document has not the shape that the catalogue says. Must not know any verb.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from agent_ways.attend import catalogue
from agent_ways.attend.verbs import run_verb
from agent_ways.attend.verbs.caller import COMMAND, Caller
from agent_ways.claude import identity
from tests.attend.world import WEB

if TYPE_CHECKING:
    from tests.attend.world import World

Document = dict[str, Any]


def person(world: World) -> Caller:
    """A person at a plain terminal."""
    nobody = identity.identify({"HOME": world.home}, world.table, os.getpid())
    return Caller(world.bus, nobody, COMMAND, WEB)


def session(world: World, pid: int, frontend: str = COMMAND) -> Caller:
    """A process of the session whose Claude process is `pid`."""
    return Caller(world.bus, world.identity(pid), frontend, WEB)


def serve(world: World, session_id: str, pid: int) -> None:
    """A live server of that session, as its presence marker shows it."""
    process = world.table.add(pid)
    owner = {"host": world.host, "boot": world.boot, "namespace": "ns", "pid": pid, "start": process.start}
    folder = os.path.join(os.path.dirname(world.bus.root), "servers")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{session_id}.{pid}"), "w", encoding="utf-8") as file:
        json.dump({"v": 1, "owner": owner}, file)


def call(caller: Caller, verb: str, **arguments: Any) -> Document:
    """What a verb answers, held to the catalogue. A name that is a keyword is given with an underscore behind it."""
    document = run_verb(verb, {name.rstrip("_"): value for name, value in arguments.items()}, caller)
    entry = catalogue.find(verb)
    assert entry is not None
    assert entry.result is not None
    assert misfits(entry.result, document) == []
    return document


def misfits(schema: Document, value: Any, where: str = "answer") -> list[str]:
    """Where `value` is other than `schema` says, as far as our catalogue's schemas go; keys beyond it are allowed."""
    if "const" in schema:
        return [] if value == schema["const"] else [f"{where} is {value!r}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where} is {value!r}"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    types = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    if not any(type(value) is types[kind] for kind in kinds):
        return [f"{where} is {type(value).__name__}, not {kinds}"]
    found = []
    if isinstance(value, dict):
        found += [f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, rule in schema.get("properties", {}).items():
            if name in value:
                found += misfits(rule, value[name], f"{where}.{name}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            found += misfits(schema["items"], item, f"{where}[{at}]")
    return found
