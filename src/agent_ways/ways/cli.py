"""The words of `ways`: its verbs, options and help.

Owns parsing. Each verb is imported when it is asked for; what it answers is printed by `render.py`, and an error's
class is the exit code.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

import click

from agent_ways import __version__
from agent_ways.base.errors import WaysError
from agent_ways.ways import render

if TYPE_CHECKING:
    from collections.abc import Callable

_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")


def _verb(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The command's body: the verb of that name, run in this world."""

    def wrap(documented: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(documented)
        def body(*, as_json: bool, **options: Any) -> None:
            try:
                from agent_ways.ways.world import this_world

                verb = importlib.import_module(f"agent_ways.ways.commands.{name}")
                code = render.show(verb.run(this_world(), **options), as_json=as_json)
            except WaysError as error:
                code = render.show_error(error, as_json=as_json)
            raise SystemExit(code)

        return body

    return wrap


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="ways", message="%(prog)s %(version)s")
def ways() -> None:
    """Set up agent-ways for Claude Code, look after it, and take it back."""


@ways.command()
@_DRY_RUN
@_AS_JSON
@_verb("reconcile")
def reconcile() -> None:
    """Link and register the server for the config dir in force.

    That is CLAUDE_CONFIG_DIR where it is set, else ~/.claude. What is right already is left alone; what is not ours is
    reported and kept.
    """


@ways.command()
@_AS_JSON
@_verb("status")
def status() -> None:
    """Show what is installed, registered and running."""


@ways.command()
@_AS_JSON
@_verb("doctor")
def doctor() -> None:
    """Try things for real, and name the repair of what does not work.

    Exit code 0: nothing of ours is broken. 1: something is.
    """


@ways.command()
@_DRY_RUN
@_AS_JSON
@_verb("uninstall")
def uninstall() -> None:
    """Take back all that was installed; messages and settings stay.

    Exit code 1: a registration is left that only you can remove; the command for it is shown.
    """
