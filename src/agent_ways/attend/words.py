"""The command line's words, by the catalogue: from words to a verb's arguments, its help, and what completes them.

Owns the grammar: `attend VERB [--option VALUE | --option=VALUE | --flag]... [--] [words]`. Options may stand anywhere
before `--`. Must not know any verb. Pure: standard input is read by who calls.
"""

from __future__ import annotations

from agent_ways.attend import catalogue, commands
from agent_ways.attend.addresses import near_matches
from agent_ways.attend.entry import COUNT, FLAG, OPTION, TEXTS, WORD, WORDS
from agent_ways.base.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_ways.attend.entry import Parameter, Verb

JSON, HELP = "--json", "--help"
WIDTH, WIDEST, NARROWEST = 80, 95, 40
"""Columns of help where nobody says how many there are, at most, and at least."""
_INDENT, _NAMES = 24, 14

OPENING = (
    "usage: attend VERB [options] [words]",
    "",
    "The signal bus between Claude Code sessions: messages that are kept until they were read.",
    "",
)
CLOSING = (
    "Every verb that answers takes --json (one JSON object instead of text); all take --help.",
    "attend --version: the version.",
    "",
)


def verb_of(word: str) -> Verb:
    """The verb of that name; raises `UsageError` with near matches."""
    found = catalogue.find(word)
    if found is None:
        near = near_matches(word, [verb.name for verb in commands.VERBS])
        hint = f"Did you mean: attend {near[0]}?" if near else "See what it knows: attend --help"
        raise UsageError(f"attend does not know: {word}", hint)
    return found


def parse(verb: Verb, given: list[str]) -> dict[str, Any]:
    """The arguments in the words behind a verb; raises `UsageError` for words that do not fit, with what would."""
    options = {one.option: one for one in verb.parameters if one.place == OPTION}
    arguments: dict[str, Any] = {}
    plain: list[str] = []
    rest = list(reversed(given))
    while rest:
        word = rest.pop()
        if word == "--":
            plain += reversed(rest)
            break
        if not word.startswith("--"):
            plain.append(word)
            continue
        name, equals, value = word.partition("=")
        one = options.get(name)
        if one is None:
            raise UsageError(f"attend {verb.name} has no option {name}", _hint(verb, name, list(options)))
        if one.kind == FLAG:
            if equals:
                raise UsageError(f"{name} takes no value", f"Write: {name}")
            arguments[one.name] = True
            continue
        if not equals:
            if not rest:
                raise UsageError(f"{name} needs a value", f"Write: {name} {one.shown}")
            value = rest.pop()
        _put(arguments, one, value)
    _place(verb, arguments, plain)
    return arguments


def _put(arguments: dict[str, Any], one: Parameter, value: str) -> None:
    if one.kind == TEXTS:
        arguments.setdefault(one.name, []).append(value)
    elif one.name in arguments:
        raise UsageError(f"{one.option} was given twice", "Give it once.")
    elif one.kind == COUNT:
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise UsageError(f"{one.option} needs a whole number, not {value!a}", f"Write: {one.option} 10")
        arguments[one.name] = int(value[:20])  # a longer one is out of every range all the same
    else:
        arguments[one.name] = value


def _place(verb: Verb, arguments: dict[str, Any], plain: list[str]) -> None:
    rest = list(plain)
    for one in verb.parameters:
        if one.place == WORD and rest:
            arguments[one.name] = rest.pop(0)
        elif one.place == WORDS and rest:
            arguments[one.name] = " ".join(rest)
            rest.clear()
        elif one.place != OPTION and one.required and one.name not in arguments:
            raise UsageError(f"attend {verb.name} needs {one.shown}", f"Example: {verb.example}")
    if rest:
        raise UsageError(
            f"attend {verb.name} does not know what to do with: {' '.join(rest)}", f"Example: {verb.example}"
        )


def check(verb: Verb, arguments: dict[str, Any]) -> None:
    """Raise `UsageError` for a value that a parameter can not have, as the command line shows both."""
    for one in verb.parameters:
        value = arguments.get(one.name)
        for word in [value] if isinstance(value, str) else value if isinstance(value, list) else []:
            if one.choices and word not in one.choices:
                raise _no_choice(verb, one, word)
        if one.kind == COUNT and value is not None:
            for wrong, bound, words in (
                (one.least is not None and value < one.least, one.least, "at least"),
                (one.most is not None and value > one.most, one.most, "at most"),
            ):
                if wrong:
                    raise UsageError(f"{one.option} must be {words} {bound}", f"Write: {one.option} {bound}")


def _no_choice(verb: Verb, one: Parameter, word: str) -> UsageError:
    choices, near = ", ".join(one.choices), near_matches(word, one.choices)
    if one.place == OPTION:
        message, line = f"{one.option} must be one of: {choices}", one.option
    else:
        message, line = f"attend {verb.name} does not know {word!a}; it takes: {choices}", f"attend {verb.name}"
    return UsageError(message, f"Did you mean: {line} {near[0]}?" if near else f"Example: {verb.example}")


def _hint(verb: Verb, name: str, options: list[str]) -> str:
    near = near_matches(name, [*options, JSON, HELP])
    if near:
        return f"Did you mean {near[0]}?"
    words = any(one.place == WORDS for one in verb.parameters)
    return "A text that begins with -- goes behind --" if words else f"See: attend {verb.name} --help"


def help_text(width: int = WIDTH) -> str:
    """`attend --help`, in lines of `width` columns."""
    lines = [line for text in OPENING for line in _wrapped(text, 0, width)]
    for group in catalogue.GROUPS:
        lines.append(f"{group}:")
        for verb in commands.VERBS:
            if verb.group == group:
                lines += _beside(f"  {verb.name:<11} ", _wrapped(summary(verb), _NAMES, width))
        lines.append("")
    return "\n".join([*lines, *(line for text in CLOSING for line in _wrapped(text, 0, width))])


def help_of(verb: Verb, width: int = WIDTH) -> str:
    """`attend VERB --help`, in lines of `width` columns."""
    lines = [usage(verb), "", *_wrapped(summary(verb), 0, width)]
    if verb.more:
        lines += _wrapped(verb.more, 0, width)
    lines.append("")
    for one in verb.parameters:
        lines += _row(_left(one), one.help, width)
    lines += _row(JSON, "Print one JSON object instead of text.", width) if verb.result else []
    lines += _row(HELP, "Print this text.", width)
    return "\n".join([*lines, "", f"example: {verb.example}", ""])


def summary(verb: Verb) -> str:
    """What a verb does, and where it does it alone."""
    return f"{verb.summary} (inside a session only)" if verb.name in commands.SESSIONS_ONLY else verb.summary


def width_of(columns: int) -> int:
    """The width of help on a terminal of so many columns; 0 where there is no terminal."""
    return max(NARROWEST, min(columns, WIDEST)) if columns else WIDTH


def usage(verb: Verb) -> str:
    """The first line of a verb's help."""
    words = [f"usage: attend {verb.name}"]
    if verb.parameters or verb.result:
        words.append("[options]")
    for one in verb.parameters:
        if one.place != OPTION:
            shown = f"{one.shown}..." if one.place == WORDS else one.shown
            words.append(shown if one.required or shown.startswith("[") else f"[{shown}]")
    return " ".join(words)


def _left(one: Parameter) -> str:
    if one.place != OPTION:
        return one.shown
    return one.option if one.kind == FLAG else f"{one.option} {one.shown}"


def _row(left: str, text: str, width: int) -> list[str]:
    lines = _wrapped(text, _INDENT, width)
    head = f"  {left}"
    if len(head) + 2 > _INDENT:
        return [head, *lines]
    return _beside(f"{head:<{_INDENT}}", lines)


def _beside(head: str, lines: list[str]) -> list[str]:
    """`lines`, with `head` in the indent of the first."""
    return [f"{head}{lines[0].lstrip()}", *lines[1:]]


def _wrapped(text: str, indent: int, width: int) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and indent + len(line) + 1 + len(word) > width:
            lines.append(" " * indent + line)
            line = word
        else:
            line = f"{line} {word}".lstrip()
    return [*lines, " " * indent + line]
