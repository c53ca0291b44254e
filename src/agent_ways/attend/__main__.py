"""The `attend` command.

Owns its words and what they print. Must not know how a session is found or a signal kept. It is started many times
a day by hooks: arguments are read by hand here, and nothing is imported before it is needed.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_ways.base.errors import WaysError
    from agent_ways.claude.identity import Identity

HELP = """usage: attend [--version | --help]
       attend whoami [--json]

The signal bus between Claude Code sessions.

  whoami      which session this command runs in, and how that is known
  --json      print one JSON object instead of text
  --version   print the version and exit
  --help      print this text and exit
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the words ask. Returns the exit code: that of the error's class where one was met."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    from agent_ways.base.errors import WaysError

    as_json = "--json" in given
    try:
        return _do([word for word in given if word != "--json"], as_json=as_json)
    except WaysError as error:
        return _failed(error, as_json=as_json)


def _do(given: list[str], *, as_json: bool) -> int:
    if given == ["--version"]:
        from agent_ways import __version__

        sys.stdout.write(f"attend {__version__}\n")
        return 0
    if given in ([], ["--help"], ["-h"]):
        (sys.stdout if given else sys.stderr).write(HELP)
        return 0 if given else 2
    if given == ["whoami"]:
        return _whoami(as_json=as_json)
    from agent_ways.base.errors import UsageError

    raise UsageError(f"attend does not know: {' '.join(given)}", "See what it knows: attend --help")


def _whoami(*, as_json: bool) -> int:
    import os

    from agent_ways.base.process import process_table
    from agent_ways.claude.identity import identify

    found = identify(os.environ, process_table(), os.getpid())
    if as_json:
        _print_json(_who(found))
    else:
        sys.stdout.write(_who_text(found))
    return 0 if found.resolved else 1


def _who(found: Identity) -> dict[str, Any]:
    record, process = found.record, found.claude_process
    return {
        "v": 1,
        "session": found.session,
        "source": found.source,
        "claude_pid": process.pid if process else None,
        "config_dir": found.config_dir,
        "client_version": record.version if record else None,
        "entrypoint": record.entrypoint if record else None,
        "disagreement": found.disagreement,
        "reason": found.reason,
    }


def _who_text(found: Identity) -> str:
    record = found.record
    if record is not None and found.claude_process is not None:
        lines = [
            f"session     {found.session}",
            f"known by    the client's record of process {found.claude_process.pid}",
            f"client      Claude Code {record.version or 'of unknown version'}",
            f"config dir  {found.config_dir}",
        ]
    else:
        lines = [
            f"session     {f'{found.session}, by CLAUDE_CODE_SESSION_ID alone' if found.session else 'none'}",
            f"why         {found.reason}",
            "what to do  Run it inside a Claude Code session; `ways status` lists the ones that are there.",
        ]
    if found.disagreement:
        lines.append(f"note        {found.disagreement}")
    return "\n".join(lines) + "\n"


def _failed(error: WaysError, *, as_json: bool) -> int:
    if as_json:
        _print_json({"v": 1, "error": {"code": error.code, "message": error.message, "hint": error.hint or None}})
    else:
        sys.stderr.write(f"attend: {error.message}\n" + (f"{error.hint}\n" if error.hint else ""))
    return error.exit_code


def _print_json(value: dict[str, Any]) -> None:
    from agent_ways.base.jsontext import dumps

    sys.stdout.write(dumps(value) + "\n")


if __name__ == "__main__":
    sys.exit(main())
