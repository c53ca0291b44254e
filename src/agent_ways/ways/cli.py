"""The words of `ways`: its verbs, options and help.

Owns parsing. Each verb is imported when it is asked for; what it answers is printed by `render.py`, and an error's
class is the exit code. `docs/reference/ways.md` is rendered from this (`reference.py`).
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

    Body = Callable[..., None]

_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
_FORCE = click.option("--force", is_flag=True, help="Move aside what is not ours where a link of ours belongs.")
_TAKE_OVER = click.option("--take-over", is_flag=True, help="Replace the original agent-ways where it is active.")
_DIRECTORY = click.argument("directory", metavar="DIR", type=click.Path(file_okay=False))


def _setting_names(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from agent_ways.ways.userconfig import SECTIONS

    names = [f"{section}.{key}" for section, model in SECTIONS.items() for key in model.model_fields]
    return [name for name in names if name.startswith(begun)]


def _known_dirs(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from agent_ways.ways.world import this_world

    try:
        return [
            known.target.config_dir for known in this_world().targets() if known.target.config_dir.startswith(begun)
        ]
    except WaysError:
        return []


_SETTING = click.argument("name", shell_complete=_setting_names)
_TARGET = click.argument("directory", metavar="DIR", shell_complete=_known_dirs)


def verb(name: str, function: str = "run") -> Callable[[Body], Body]:
    """The command's body: that function of the module of that name, run in this world."""

    def wrap(documented: Body) -> Body:
        @_AS_JSON
        @functools.wraps(documented)
        def body(*, as_json: bool, **options: Any) -> None:
            try:
                from agent_ways.ways.world import this_world

                module = importlib.import_module(name if "." in name else f"agent_ways.ways.commands.{name}")
                code = render.show(getattr(module, function)(this_world(), **options), as_json=as_json)
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
@_FORCE
@_TAKE_OVER
@verb("reconcile")
def reconcile() -> None:
    """Make every target what it should be: links, settings, registration.

    Without a list of targets that is the config dir in force: CLAUDE_CONFIG_DIR where it is set, else ~/.claude. What
    is right already is left alone; what is not ours is reported and kept.

    Exit code 1: something could not be done. 3: a target was refused, and nothing in it touched. What Claude Code's
    side refuses is reported with the command to run by hand, and fails nothing.
    """


@ways.group()
def target() -> None:
    """The config dirs that agent-ways is active in."""


@target.command("list")
@verb("target", "show_list")
def target_list() -> None:
    """Show every target, and whether it is as it should be."""


@target.command("plan")
@_DIRECTORY
@_FORCE
@_TAKE_OVER
@verb("target", "show_plan")
def target_plan() -> None:
    """Show what adding DIR would do there. Exit code 3: it would be refused."""


@target.command("add")
@_DIRECTORY
@_DRY_RUN
@_FORCE
@_TAKE_OVER
@verb("target", "add")
def target_add() -> None:
    """Add DIR to the targets and make it what it should be."""


@target.command("remove")
@_TARGET
@_DRY_RUN
@verb("target", "remove")
def target_remove() -> None:
    """Take everything of ours out of DIR, and forget it."""


@target.command("enable")
@_TARGET
@_DRY_RUN
@_FORCE
@_TAKE_OVER
@verb("target", "enable")
def target_enable() -> None:
    """Make a disabled target active again."""


@target.command("disable")
@_TARGET
@_DRY_RUN
@verb("target", "disable")
def target_disable() -> None:
    """Take everything of ours out of DIR, and keep it in the list."""


@target.command("reset")
@_TARGET
@_DRY_RUN
@verb("target", "reset")
def target_reset() -> None:
    """Offer again what you took out of the settings of DIR."""


@ways.group()
def config() -> None:
    """The user config: shown, asked, edited with its comments kept."""


@config.command("show")
@verb("config", "show")
def config_show() -> None:
    """Show every setting, its value, and where that comes from."""


@config.command("get")
@_SETTING
@verb("config", "get")
def config_get() -> None:
    """Print the value of one setting, as in conduits.channel."""


@config.command("set", context_settings={"ignore_unknown_options": True})  # -3 is a value here
@_SETTING
@click.argument("value")
@verb("config", "change")
def config_set() -> None:
    """Write one setting. Exit code 6: that value makes no sense, or the file can not be edited."""


@config.command("unset")
@_SETTING
@verb("config", "unset")
def config_unset() -> None:
    """Take one setting out of the file: the default again."""


@config.command("path")
@verb("config", "where")
def config_path() -> None:
    """Print where the file lies."""


@ways.command()
@verb("status")
def status() -> None:
    """Show what is installed, where it is active, and what runs."""


@ways.command()
@verb("doctor")
def doctor() -> None:
    """Try things for real, and name the repair of what does not work.

    Exit code 0: nothing of ours is broken. 1: something is.
    """


@ways.command()
@_DRY_RUN
@click.option("--purge", is_flag=True, help="Remove messages, records and the user config too.")
@verb("uninstall")
def uninstall() -> None:
    """Take back all that was installed; messages and settings stay.

    Exit code 1: something is left that only you can remove; the command for it is shown.
    """


@ways.command()
@click.option("--to", default="", metavar="VERSION", help="That version, older ones included.")
@click.option("--rollback", is_flag=True, help="Go back to the version before.")
@click.option("--check", is_flag=True, help="Only tell whether there is a newer version.")
@click.option("--sums-only", is_flag=True, help="Trust the checksum where the signature can not be verified here.")
@_DRY_RUN
@verb("agent_ways.ways.update.update")
def update() -> None:
    """Download, verify and put in force the newest release.

    Versions lie side by side, and a running session keeps its server until it restarts.
    """


@ways.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    In force at once: source <(ways completion bash). Likewise zsh; for fish: ways completion fish | source.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(ways, {}, "ways", "_WAYS_COMPLETE").source())


@ways.group()
def keepalive() -> None:
    """Keep idle sessions' prompt caches warm for a bounded time."""


@keepalive.command("on")
@click.option(
    "--window", metavar="TIME", help="How long after you last typed, as in 8h, 90m or 2h30m; from 10m to 30d."
)
@verb("keepalive", "on")
def keepalive_on() -> None:
    """Arm it, in running sessions too. Exit code 6: that time makes no sense, or the file can not be edited."""


@keepalive.command("off")
@verb("keepalive", "off")
def keepalive_off() -> None:
    """Disarm it, in running sessions too."""


@keepalive.command("status")
@verb("keepalive", "status")
def keepalive_status() -> None:
    """Show every live session: its cache, its window, what is due next and why."""


@keepalive.command("report")
@click.option("--days", metavar="N", type=click.IntRange(1, 3650), default=14, help="How far back; 14 where not said.")
@verb("keepalive", "report")
def keepalive_report() -> None:
    """Count from the transcripts what keepalive spent and what it saved, per session and day."""


@ways.command()
@verb("statusline")
def statusline() -> None:
    """Print one line for Claude Code's status line: cache, keepalive, unread mail.

    It reads the JSON that Claude Code writes to a status line command. Set it as `statusLine.command` in the
    settings.json of a config dir, with a `refreshInterval` of 30 seconds.
    """
