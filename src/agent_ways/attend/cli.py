"""The command as a person or a model types it: words in, a verb run, its answer printed.

Owns the printing and the exit codes. Must not know a verb's body. The hot path does not come by here (`__main__`).
"""

from __future__ import annotations

import os
import sys

from agent_ways.attend import render, words
from agent_ways.attend.words import HELP, JSON
from agent_ways.base.errors import UsageError, WaysError
from agent_ways.base.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TextIO

    from agent_ways.attend.entry import Verb
    from agent_ways.attend.verbs.caller import Caller

FORMAT = 1
CLOSED = 141
"""Exit code where whoever read our output went away: 128 + SIGPIPE, as shells have it."""
INTERRUPTED = 130
_LONGEST_INPUT = 1 << 20


def run(given: list[str]) -> int:
    """Do what the words ask. Returns the exit code: that of the error's class where one was met."""
    _prepare_streams()
    options = given[: given.index("--")] if "--" in given else given
    as_json = JSON in options
    try:
        return _run([word for at, word in enumerate(given) if word != JSON or at >= len(options)], as_json=as_json)
    except WaysError as error:
        return _failed(error, as_json=as_json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED


def _run(given: list[str], *, as_json: bool) -> int:
    if given == ["--version"]:
        from agent_ways import __version__

        return _say(f"attend {__version__}\n")
    if not given:
        sys.stderr.write(words.help_text(words.width_of(_columns(sys.stderr))))
        return UsageError.exit_code
    width = words.width_of(_columns(sys.stdout))
    if given[0] in (HELP, "-h", "help"):
        return _say(words.help_of(words.verb_of(given[1]), width) if given[1:] else words.help_text(width))
    verb = words.verb_of(given[0])
    rest = given[1:]
    plain = rest[: rest.index("--")] if "--" in rest else rest
    if HELP in plain or "-h" in plain:
        return _say(words.help_of(verb, width))
    if as_json and verb.result is None:
        raise UsageError(
            f"attend {verb.name} has no {JSON}: what it prints is for the client", f"See: attend {verb.name} {HELP}"
        )
    arguments = words.parse(verb, rest)
    words.check(verb, arguments)
    return _do(verb, arguments, as_json=as_json)


def _do(verb: Verb, arguments: dict[str, Any], *, as_json: bool) -> int:
    if verb.name == "completion":
        from agent_ways.attend.completion import script

        text = script(arguments["shell"])
        return _say(dumps({"v": FORMAT, "shell": arguments["shell"], "script": text}) + "\n" if as_json else text)
    if verb.name == "hook":
        from agent_ways.attend import hooks

        return hooks.run(arguments["name"])
    if verb.name == "inbox" and (arguments.pop("drain", False) or "format" in arguments):
        from agent_ways.attend import drain

        return drain.run(arguments.get("format", "text"), os.environ, as_json=as_json)
    if verb.name == "run":
        from agent_ways.attend import loop

        return loop.run(tuple(arguments.get("sensor", ())), os.environ)
    from agent_ways.attend.verbs.caller import COMMAND, open_caller

    caller = open_caller(os.environ, COMMAND)
    if verb.name == "watch":
        from agent_ways.attend import watching

        return watching.watch(caller, arguments, _style(caller), as_json=as_json, plain=not sys.stdout.isatty())
    return _answer(verb, arguments, caller, as_json=as_json)


def _answer(verb: Verb, arguments: dict[str, Any], caller: Caller, *, as_json: bool) -> int:
    from agent_ways.attend.verbs import run_verb

    if arguments.get("body") == "-":
        arguments["body"] = _standard_input()
    document = run_verb(verb.name, arguments, caller)
    if as_json:
        _say(dumps(document) + "\n")
    else:
        way = arguments.get("action") or next((one for one in ("all", "room") if arguments.get(one)), "")
        _say(render.text_of(verb.name, document, _style(caller), way))
    if verb.name in ("inbox", "show") and sys.stdout.isatty() and not as_json:
        from agent_ways.attend.verbs.reading import read_on_terminal

        sys.stdout.flush()
        read_on_terminal(caller, document)
    return _code(verb.name, document)


def _code(verb: str, document: Mapping[str, Any]) -> int:
    if verb == "whoami":
        return 0 if document["source"] == "record" or document["user"] else 1
    if verb == "doctor":
        return int(any(one["status"] == "failed" for one in document["findings"]))
    return 0


def _standard_input() -> str:
    """What standard input holds, exactly, but for one newline at its end, which is the shell's."""
    data = sys.stdin.buffer.read(_LONGEST_INPUT)
    try:
        return data.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8 at byte {error.start + 1}",
            "Convert it, or put it into a file and name that in the message.",
        ) from None


def _style(caller: Caller) -> render.Style:
    import time

    from agent_ways.attend.verbs.caller import user

    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    person = f"{user(caller)}@{caller.bus.owner.host}" if caller.is_person else ""
    return render.Style(colours=colours, now_ms=int(time.time() * 1000), person=person, width=_columns(sys.stdout))


def _columns(stream: TextIO) -> int:
    """How wide the terminal is that `stream` goes to, in characters; 0 where it goes to none, or nobody knows."""
    if not stream.isatty():
        return 0
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return 0


def _prepare_streams() -> None:
    """What the terminal's encoding can not show becomes an escape, never an exception."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _say(text: str) -> int:
    sys.stdout.write(text)
    sys.stdout.flush()
    return 0


def _failed(error: WaysError, *, as_json: bool) -> int:
    if as_json:
        hint = error.hint or None
        _say(dumps({"v": FORMAT, "error": {"code": error.code, "message": error.message, "hint": hint}}) + "\n")
    else:
        sys.stderr.write(render.error_text(error.message, error.hint))
    return error.exit_code
