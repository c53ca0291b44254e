"""Where our own files are.

Owns the XDG rules in their short form (Linux and macOS alike: one layout for a tool of the terminal). Must not
know what lies in the folders, nor where Claude Code keeps its own (`claude/dirs.py`).

A variable that is empty or relative counts as unset, as the XDG base directory specification says. The
environment comes in by argument.
"""

from __future__ import annotations

import os

from agent_ways.base.errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

APP = "agent-ways"


def home(env: Mapping[str, str]) -> str:
    """The person's home directory; raises `StateError` where there is none to be found."""
    named = env.get("HOME", "")
    if os.path.isabs(named):
        return named
    known = _home_of_user()
    if known:
        return known
    raise StateError("there is no home directory", "Set HOME to a directory of your own.")


def _home_of_user() -> str:
    """The password database's answer, as the shell's `~` has it; empty where the user is in none."""
    try:
        import pwd

        found = pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return ""
    return found if os.path.isabs(found) else ""


def _base(env: Mapping[str, str], variable: str, *below_home: str) -> str:
    named = env.get(variable, "")
    return named if os.path.isabs(named) else os.path.join(home(env), *below_home)


def state_root(env: Mapping[str, str]) -> str:
    """State that must last: the bus, presence markers, keepalive records, locks."""
    return os.path.join(_base(env, "XDG_STATE_HOME", ".local", "state"), APP)


def config_dir(env: Mapping[str, str]) -> str:
    """Where the person's `config.toml` lies."""
    return os.path.join(_base(env, "XDG_CONFIG_HOME", ".config"), APP)


def data_dir(env: Mapping[str, str]) -> str:
    """Where installed versions lie, side by side."""
    return os.path.join(_base(env, "XDG_DATA_HOME", ".local", "share"), APP)


def bin_dir(env: Mapping[str, str]) -> str:
    """Where `make install` links the three commands."""
    return _base(env, "XDG_BIN_HOME", ".local", "bin")
