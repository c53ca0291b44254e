"""What an entry of the catalogue is: a verb and its parameters, as plain data.

Owns the two forms and the JSON Schema of each. Must not know any verb.
"""

from __future__ import annotations

from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

TEXT, TEXTS, COUNT, FLAG = "string", "array", "integer", "boolean"
"""Kinds of parameters, by their names in JSON Schema; the items of an array are strings."""

OPTION, WORD, WORDS = "option", "word", "words"
"""Where the command line has a parameter: behind `--name`, as one word, or as all the words that are left."""


class Parameter(Value):
    """One thing that a verb takes. `shown` is what stands for its value in help; `tool` is false for the command alone.

    A TEXTS option may be given several times. WORDS are joined by spaces; `-` alone stands for standard input.
    """

    __slots__ = ("choices", "help", "kind", "least", "most", "name", "place", "required", "shown", "tool")

    def __init__(
        self,
        name: str,
        kind: str,
        help: str,  # noqa: A002  # what it is
        *,
        place: str = OPTION,
        shown: str = "",
        required: bool = False,
        choices: tuple[str, ...] = (),
        least: int | None = None,
        most: int | None = None,
        tool: bool = True,
    ) -> None:
        self.name: Final = name
        self.kind: Final = kind
        self.help: Final = help
        self.place: Final = place
        self.shown: Final = shown or name.upper()
        self.required: Final = required
        self.choices: Final = choices
        self.least: Final = least
        self.most: Final = most
        self.tool: Final = tool

    @property
    def option(self) -> str:
        """Its option on the command line."""
        return "--" + self.name.replace("_", "-")

    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        found: dict[str, Any] = {"type": self.kind, "description": self.help}
        of: dict[str, Any] = found
        if self.kind == TEXTS:
            of = found["items"] = {"type": "string"}
        if self.choices:
            of["enum"] = list(self.choices)
        if self.least is not None:
            found["minimum"] = self.least
        if self.most is not None:
            found["maximum"] = self.most
        return found


class Verb(Value):
    """One verb.

    `summary` is a line; `more` what else must be known, for a person and a model alike. `result` is the JSON Schema of
    what it answers, None where it answers no document (`run`). `example` is one command line that works. `tool` says
    that it is also an MCP tool, whose annotations the next three are. `group` orders the help.
    """

    __slots__ = (
        "always_load",
        "example",
        "group",
        "idempotent",
        "more",
        "name",
        "parameters",
        "read_only",
        "result",
        "summary",
        "tool",
    )

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        more: str = "",
        parameters: tuple[Parameter, ...] = (),
        result: dict[str, Any] | None,
        example: str,
        group: str,
        tool: bool = False,
        read_only: bool = False,
        idempotent: bool = True,
        always_load: bool = False,
    ) -> None:
        self.name: Final = name
        self.summary: Final = summary
        self.more: Final = more
        self.parameters: Final = parameters
        self.result: Final = result
        self.example: Final = example
        self.group: Final = group
        self.tool: Final = tool
        self.read_only: Final = read_only
        self.idempotent: Final = idempotent
        self.always_load: Final = always_load

    def input_schema(self) -> dict[str, Any]:
        """What its tool takes."""
        taken = [one for one in self.parameters if one.tool]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {one.name: one.schema() for one in taken},
            "additionalProperties": False,
        }
        required = [one.name for one in taken if one.required]
        return {**schema, "required": required} if required else schema

    def tool_entry(self) -> dict[str, Any]:
        """The keyword arguments of its MCP tool (`server.tools.Tool`)."""
        return {
            "name": f"attend_{self.name}",
            "title": f"attend {self.name}",
            "description": f"{self.summary} {self.more}".strip(),
            "input_schema": self.input_schema(),
            "output_schema": self.result,
            "read_only": self.read_only,
            "destructive": False,
            "idempotent": self.idempotent,
            "open_world": False,
            "always_load": self.always_load,
        }
