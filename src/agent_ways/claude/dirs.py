"""Where Claude Code keeps its own files.

Owns the client's rules for its config dir and for its global file, which are not the XDG rules of
`base/paths.py`. Must not know what those files hold. The environment comes in by argument.
"""

from __future__ import annotations

import os
import stat

from agent_ways.base import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "CLAUDE_CONFIG_DIR"


def config_dir(env: Mapping[str, str], cwd: str | None = None) -> str:
    """The config dir of a client with this environment: `CLAUDE_CONFIG_DIR`, else `~/.claude` (ID-1).

    Absolute and without a trailing slash. As the client has it (seen on 2.1.285 and 2.1.332): a relative value counts
    from the client's working directory `cwd` (the one that it starts its servers in, hence the default), a `~` is
    an ordinary name, and an empty value is `cwd` itself. Raises `StateError` where neither variable nor home is set.
    """
    named = env.get(VARIABLE)
    if named is None:
        return _plain(os.path.join(paths.home(env), ".claude"))
    if not os.path.isabs(named):
        named = os.path.join(_here() if cwd is None else cwd, named)
    return _plain(named)


def is_named(env: Mapping[str, str]) -> bool:
    """Whether the environment names a config dir, which moves the global file; an empty value does not."""
    return bool(env.get(VARIABLE))


def global_file(config_dir: str, named: bool, home: str | None = None) -> str:
    """The file that holds user-scope MCP servers (LIFE-5; seen on 2.1.285 and 2.1.332).

    A legacy `.config.json` in the config dir comes first, for reading and writing. Otherwise it is `.claude.json`: in
    the config dir where `CLAUDE_CONFIG_DIR` named that (`named`; also when it names the default one), else in the
    home directory `home`, which the default config dir lies in.
    """
    legacy = os.path.join(config_dir, ".config.json")
    if _counts(legacy):
        return legacy
    if named:
        return os.path.join(config_dir, ".claude.json")
    return os.path.join(os.path.dirname(config_dir) if home is None else home, ".claude.json")


def _counts(path: str) -> bool:
    """Whether the client takes a legacy file for one: a regular file, and not the empty read-only kind."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and (found.st_size > 0 or bool(found.st_mode & 0o222))


def _plain(path: str) -> str:
    """An absolute path without empty and dot parts; POSIX lets two leading slashes be special, the client does not."""
    return "/" + os.path.normpath(path).lstrip("/")


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep  # a working directory that was removed: nothing can lie in it
