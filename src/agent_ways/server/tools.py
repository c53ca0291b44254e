"""What a tool is: its catalogue entry as plain data, its JSON for tools/list, the check of a call's arguments.

Owns the form of tools and of their results (SRV-6). Must not know any tool. The check covers the part of JSON
Schema that our catalogues use, and says each problem in one plain sentence, so that a model can mend its call.
"""

from __future__ import annotations

from agent_ways.base.jsontext import dumps, dumps_readable
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

LONGEST_TEXT = 50_000
"""Characters of a result above which the client files it away (2.1.285, 2.1.332), counted as it does: UTF-16 units."""

LONGEST_FAILURE = 20_000
"""Characters of a failure that are said: enough for anybody, and no more than `LONGEST_TEXT` whatever they are."""

MOST_PROBLEMS = 20
"""Problems of one call that are said, each once; of the others only how many they are."""

LONGEST_DESCRIPTION = 2_048
"""Bytes of a description or of the instructions that every tracked client shows whole (2.1.285)."""


class Tool(Value):
    """One tool: `name` is `<module>_<verb>`; schemas are JSON Schema objects.

    `read_only`, `destructive`, `idempotent` and `open_world` become the annotations of the protocol;
    `always_load` asks the client not to defer the tool behind its search.
    """

    __slots__ = (
        "always_load",
        "description",
        "destructive",
        "idempotent",
        "input_schema",
        "name",
        "open_world",
        "output_schema",
        "read_only",
        "title",
    )

    def __init__(
        self,
        *,
        name: str,
        title: str,
        description: str,
        input_schema: dict[str, Any],
        output_schema: dict[str, Any],
        read_only: bool,
        destructive: bool = False,
        idempotent: bool = True,
        open_world: bool = False,
        always_load: bool = False,
    ) -> None:
        self.name: Final = name
        self.title: Final = title
        self.description: Final = description
        self.input_schema: Final = input_schema
        self.output_schema: Final = output_schema
        self.read_only: Final = read_only
        self.destructive: Final = destructive
        self.idempotent: Final = idempotent
        self.open_world: Final = open_world
        self.always_load: Final = always_load

    def to_json(self) -> str:
        """Its entry in tools/list."""
        entry: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.idempotent,
                "openWorldHint": self.open_world,
            },
        }
        if self.always_load:
            entry["_meta"] = {"anthropic/alwaysLoad": True}
        return dumps(entry)


def result_text(structured: dict[str, Any]) -> str:
    """The JSON of a tool's result: the object, and the same as compact text for clients that read only that.

    What is no object, or can not be JSON, raises: the module's defect.
    """
    if type(structured) is not dict:
        raise TypeError(f"the result is no object but {type(structured).__name__}")
    text = dumps_readable(structured)
    length = len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    if length > LONGEST_TEXT:
        return failure_text(f"The result has {length} characters, more than the {LONGEST_TEXT} that fit: ask for less.")
    same = text if text.isascii() else dumps(structured)
    return f'{{"content":[{{"type":"text","text":{dumps(text)}}}],"structuredContent":{same},"isError":false}}'


def failure_text(*sentences: str) -> str:
    """The JSON of a tool's result that says why there is none."""
    text = "\n".join(sentences)
    if len(text) > LONGEST_FAILURE:
        text = f"{text[:LONGEST_FAILURE]}…\n(The first {LONGEST_FAILURE} of {len(text)} characters.)"
    content = dumps([{"type": "text", "text": text}])
    return f'{{"content":{content},"isError":true}}'


def problems(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    """What is wrong with the arguments of a call, a sentence each; empty where nothing is."""
    known: dict[str, Any] = schema.get("properties", {})
    found = [f"{name} is missing: it is required." for name in schema.get("required", ()) if name not in arguments]
    for name, value in arguments.items():
        if name in known:
            found += _value_problems(name, known[name], value)
        else:
            found.append(f"{_shown(name)} is not an argument of this tool; it takes: {', '.join(known) or 'none'}.")
    return _bounded(found) if found else found


def _bounded(found: list[str]) -> list[str]:
    each = list(dict.fromkeys(found))
    more = len(each) - MOST_PROBLEMS
    return [*each[:MOST_PROBLEMS], f"And {more} problems more."] if more > 0 else each


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "text"),
    "integer": ((int,), "a whole number"),
    "boolean": ((bool,), "true or false"),
    "array": ((list,), "a list"),
    "object": ((dict,), "an object"),
}


def _value_problems(name: str, rule: dict[str, Any], value: object) -> list[str]:
    types, words = _KINDS[rule["type"]]
    if type(value) not in types:
        return [f"{name} must be {words}."]
    found = []
    if "enum" in rule and value not in rule["enum"]:
        found.append(f"{name} must be one of: {', '.join(rule['enum'])}.")
    if isinstance(value, str):
        found += _bounds(name, len(value), rule.get("minLength"), rule.get("maxLength"), " characters")
    elif isinstance(value, list):
        found += _bounds(name, len(value), rule.get("minItems"), rule.get("maxItems"), " items")
        for item in value:
            found += _value_problems(f"each of {name}", rule["items"], item)
    elif type(value) is int:
        found += _bounds(name, value, rule.get("minimum"), rule.get("maximum"), "")
    return found


def _bounds(name: str, size: int, least: int | None, most: int | None, unit: str) -> list[str]:
    if least is not None and size < least:
        return [f"{name} must be at least {least}{unit}."]
    if most is not None and size > most:
        return [f"{name} must be at most {most}{unit}."]
    return []


def _shown(name: str) -> str:
    return dumps_readable(name[:60])
