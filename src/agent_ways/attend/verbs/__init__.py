"""Verb bodies: one function per verb of the catalogue, which takes a caller and arguments and returns a value.

Owns `run_verb`, by which both frontends run a verb, and the check of its arguments. Bodies never print; what they
answer has the shape that the catalogue says. Each is imported when it is asked for.
"""

from __future__ import annotations

import sys

from agent_ways.attend import catalogue
from agent_ways.attend.addresses import near_matches
from agent_ways.attend.entry import COUNT, FLAG, TEXT, TEXTS
from agent_ways.attend.verbs.caller import SERVER
from agent_ways.base.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_ways.attend.entry import Parameter, Verb
    from agent_ways.attend.verbs.caller import Caller

FORMAT = 1
BODIES = {
    "send": "talk",
    "reply": "talk",
    "inbox": "reading",
    "show": "reading",
    "thread": "reading",
    "search": "reading",
    "join": "membership",
    "leave": "membership",
    "channels": "membership",
    "alias": "membership",
    "peers": "people",
    "status": "people",
    "whoami": "people",
    "keepwarm": "warmth",
    "cleanup": "care",
    "doctor": "care",
}
"""The verbs that answer one document, each with the module here that has its body."""
_TYPES = {TEXT: (str, "text"), TEXTS: (list, "a list"), COUNT: (int, "a whole number"), FLAG: (bool, "true or false")}


def run_verb(name: str, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """What the verb answers, with `"v": 1` first: the document of `--json`, and the tool's structured content.

    Raises `UsageError` for arguments that can not be (a sentence for each problem), and what the verb raises.
    """
    verb = catalogue.find(name)
    if verb is None or name not in BODIES:
        near = near_matches(name, BODIES)
        hint = f"Did you mean {', '.join(near)}?" if near else "See what there is: attend --help"
        raise UsageError(f"attend has no verb {name!a}", hint)
    trouble = problems(verb, arguments, tool=caller.frontend == SERVER)
    if trouble:
        raise UsageError(" ".join(trouble), f"See: attend {name} --help")
    path = f"agent_ways.attend.verbs.{BODIES[name]}"
    __import__(path)
    body = getattr(sys.modules[path], name)
    return {"v": FORMAT, **body(caller, arguments)}


def problems(verb: Verb, arguments: dict[str, Any], *, tool: bool) -> list[str]:
    """What is wrong with the arguments of a call, a sentence each."""
    taken = {one.name: one for one in verb.parameters if one.tool or not tool}
    found = [f"{name} is missing." for name, one in taken.items() if one.required and arguments.get(name) in (None, [])]
    for name, value in arguments.items():
        one = taken.get(name)
        if one is None:
            found.append(f"{verb.name} takes no {name[:60]!a}; it takes: {', '.join(taken) or 'nothing'}.")
        else:
            found += _value_problems(one, value)
    return found


def _value_problems(one: Parameter, value: object) -> list[str]:
    kind, words = _TYPES[one.kind]
    if type(value) is not kind:
        return [f"{one.name} must be {words}."]
    given = value if isinstance(value, list) else [value]
    if one.kind == TEXTS and not all(isinstance(item, str) for item in given):
        return [f"each of {one.name} must be text."]
    if one.choices and any(item not in one.choices for item in given):
        return [f"{one.name} must be one of: {', '.join(one.choices)}."]
    if isinstance(value, int) and one.kind == COUNT:
        if one.least is not None and value < one.least:
            return [f"{one.name} must be at least {one.least}."]
        if one.most is not None and value > one.most:
            return [f"{one.name} must be at most {one.most}."]
    return []
