"""JSON text changed in place: one value put in, taken out or replaced, every other character as it was.

Owns the parser that knows where each value stands, and the style of what is put in, which follows its neighbours.
Must not know what the text is for. Strict JSON only: the client takes no comments in its settings either. A byte order
mark before the value is passed over, and stays.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

_SPACE = " \t\r\n"
BOM = "\ufeff"
"""The mark that some editors put before a text in UTF-8."""

Path = tuple[str | int, ...]
"""Keys and indices from the root; () is the root."""


class NotEditableError(ValueError):
    """The text is not one JSON value, or not in the way that the edit needs."""


@dataclass(frozen=True)
class Node:
    """One value and where it stands; `start` of an object's member is where its key begins."""

    value: Any
    start: int
    end: int
    outer: int
    """Where the member or item begins: its key's quote in an object, else `start`."""
    children: tuple[tuple[str | int, Node], ...] = ()

    def child(self, key: str | int) -> Node | None:
        """The member or item of that name; of a key that is there twice the last, as the client has it."""
        return next((node for name, node in reversed(self.children) if name == key), None)


def parse(text: str) -> Node:
    """The tree of `text`. Raises `NotEditableError` for what is not exactly one JSON value."""
    parser = _Parser(text)
    try:
        node = parser.value(parser.space(len(BOM) if text.startswith(BOM) else 0))
    except RecursionError:
        raise NotEditableError("is nested too deep") from None
    if parser.space(node.end) != len(text):
        parser.fail(node.end, "something follows the value")
    return node


def find(root: Node, path: Path) -> Node | None:
    """The node at `path`, or None where there is none."""
    node: Node | None = root
    for key in path:
        node = node.child(key) if node is not None else None
    return node


def insert(text: str, path: Path, value: Any, key: str | None = None) -> str:
    """`text` with `value` as the last item of the array at `path`, or as the last member under `key` of an object."""
    root = parse(text)
    node = _at(root, path)
    style = _Style(text, root)
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + style.colon
    if not node.children:
        inner = style.in_empty(text, node)
        opened, closed = text[node.start], text[node.end - 1]
        before = "" if inner is None else style.newline + inner + style.unit
        after = "" if inner is None else style.newline + inner
        body = name + style.render(value, None if inner is None else inner + style.unit)
        return text[: node.start] + opened + before + body + after + closed + text[node.end :]
    gap = style.gap(text, node)
    indent = gap.rpartition("\n")[2] if "\n" in gap else None
    last = node.children[-1][1].end
    return f"{text[:last]},{gap}{name}{style.render(value, indent)}{text[last:]}"


def remove(text: str, path: Path) -> str:
    """`text` without the member or item at `path`, its comma and the space that came with it."""
    root = parse(text)
    container = _at(root, path[:-1])
    names = [name for name, _ in container.children]
    if path[-1] not in names:
        raise NotEditableError(f"has nothing at {path}")
    index = len(names) - 1 - names[::-1].index(path[-1])
    node = container.children[index][1]
    if len(names) == 1:
        return text[: container.start + 1] + text[container.end - 1 :]
    if index:
        return text[: container.children[index - 1][1].end] + text[node.end :]
    return text[: node.outer] + text[container.children[1][1].outer :]


def replace(text: str, path: Path, value: Any) -> str:
    """`text` with `value` in the place of what stands at `path`."""
    root = parse(text)
    node = _at(root, path)
    before = text[: node.outer]
    line = before.rpartition("\n")[2] if "\n" in before else None
    indent = line if line is not None and not line.strip(_SPACE) else None
    return text[: node.start] + _Style(text, root).render(value, indent) + text[node.end :]


def replace_text(text: str, path: Path, literal: str) -> str:
    """`text` with `literal`, which is JSON, in the place of what stands at `path`."""
    node = _at(parse(text), path)
    return text[: node.start] + literal + text[node.end :]


def _at(root: Node, path: Path) -> Node:
    node = find(root, path)
    if node is None:
        raise NotEditableError(f"has nothing at {path}")
    return node


class _Style:
    """How this text is laid out: line ends, indentation, the space after a colon."""

    def __init__(self, text: str, root: Node) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        lead = text[root.start + 1 : root.children[0][1].outer] if root.children else self.newline + "  "
        self._one_line = "\n" not in lead
        self.unit = "  " if self._one_line else lead.rpartition("\n")[2] or "  "
        self.colon = _colon(text, root)

    def gap(self, text: str, node: Node) -> str:
        """What to put between the comma and the next child of a container that has some."""
        first = node.children[0][1]
        if len(node.children) > 1:
            second = node.children[1][1]
            gap = text[first.end : second.outer].partition(",")[2]
        else:
            gap = text[node.start + 1 : first.outer]
            if "\n" not in gap:
                return " " if self.colon != ":" else ""
        return self.newline + gap.rpartition("\n")[2] if "\n" in gap else gap

    def in_empty(self, text: str, node: Node) -> str | None:
        """The indentation of the line that an empty container begins on; None where all is one line."""
        if self._one_line:
            return None
        line = text[: node.start].rpartition("\n")[2].removeprefix(BOM)
        return line[: len(line) - len(line.lstrip(" \t"))]

    def render(self, value: Any, indent: str | None) -> str:
        """`value` as text that begins in a line with that indentation; on one line for None."""
        if indent is None:
            separators = (",", self.colon) if self.colon == ":" else (", ", self.colon)
            return json.dumps(value, ensure_ascii=False, separators=separators)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).split("\n")
        return (self.newline + indent).join(lines)


def _colon(text: str, root: Node) -> str:
    """The colon and the space behind it, as the first member of the root has them."""
    if isinstance(root.value, dict) and root.children:
        node = root.children[0][1]
        written = text[node.outer : node.start].rpartition(":")[2]
        return f":{written}" if "\n" not in written else ": "
    return ": "


class _Parser:
    """Recursive descent; scalars are read by the standard library."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._scan = json.JSONDecoder(parse_constant=_not_json).raw_decode

    def fail(self, at: int, why: str) -> NoReturn:
        line = self._text.count("\n", 0, at) + 1
        if self._text[at : at + 2] in ("//", "/*"):
            raise NotEditableError(f"is not JSON: there is a comment at line {line}, and JSON has none")
        raise NotEditableError(f"is not JSON: {why} at line {line}")

    def space(self, at: int) -> int:
        while at < len(self._text) and self._text[at] in _SPACE:
            at += 1
        return at

    def value(self, at: int, outer: int | None = None) -> Node:
        opening = self._text[at : at + 1]
        if opening in ("{", "["):
            return self._container(at, at if outer is None else outer, is_object=opening == "{")
        value, end = self._scalar(at)
        return Node(value, at, end, at if outer is None else outer)

    def _scalar(self, at: int) -> tuple[Any, int]:
        try:
            return self._scan(self._text, at)
        except ValueError as error:
            self.fail(at, getattr(error, "msg", "") or "not a value")

    def _container(self, start: int, outer: int, *, is_object: bool) -> Node:
        close = "}" if is_object else "]"
        children: list[tuple[str | int, Node]] = []
        at = self.space(start + 1)
        while self._text[at : at + 1] != close or children:
            begin = at
            if is_object:
                if self._text[at : at + 1] != '"':
                    self.fail(at, "a key is missing")
                key, at = self._scalar(at)
                at = self.space(at)
                if self._text[at : at + 1] != ":":
                    self.fail(at, "a colon is missing")
                at = self.space(at + 1)
            else:
                key = len(children)
            child = self.value(at, begin)
            children.append((key, child))
            at = self.space(child.end)
            if self._text[at : at + 1] == close:
                break
            if self._text[at : at + 1] != ",":
                self.fail(at, "a comma or the end is missing")
            at = self.space(at + 1)
        value: Any = (
            {key: child.value for key, child in children} if is_object else [child.value for _, child in children]
        )
        return Node(value, start, at + 1, outer, tuple(children))


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
