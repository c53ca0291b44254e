"""The one tree of errors that a person or a model may see.

Owns the classes and their stable codes and exit codes; `docs/reference/errors.md` is generated from them
(`make generate`). Must not know who raises or prints them: frontends print, verbs raise.

Each error says what happened (`message`) and what to do next (`hint`).
"""

from __future__ import annotations


class WaysError(Exception):
    """Something of agent-ways did not work."""

    code = "failed"
    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(WaysError):
    """The words of a command or the arguments of a tool do not fit together."""

    code = "usage"
    exit_code = 2


class RefusedError(WaysError):
    """Doing it would touch what is not ours, or trust what is not proven; nothing was changed."""

    code = "refused"
    exit_code = 3


class LockHeldError(WaysError):
    """Another process holds a lock of ours and did not let go in the time given."""

    code = "lock-held"
    exit_code = 4


class StateError(WaysError):
    """Our files could not be read or written: no space, no permission, too many open files, no home."""

    code = "state"
    exit_code = 5


class NewerRecordError(StateError):
    """A record on disk was written by a newer agent-ways than this one; it is left as it is."""

    code = "newer-record"
    exit_code = 5


class DamagedRecordError(StateError):
    """A record on disk is not what its format says; it is left as it is."""

    code = "damaged-record"
    exit_code = 5


class ConfigError(WaysError):
    """The user config, or a value meant for it, makes no sense."""

    code = "config"
    exit_code = 6


def state_error(doing: str, path: str, error: OSError) -> StateError:
    """Word an `OSError` met while `doing` something to `path`, with the repair that its cause allows."""
    import errno

    hints = {
        errno.ENOSPC: "Free some space on that disk, then run it again; nothing was changed.",
        errno.EDQUOT: "Your disk quota is used up; free some space, then run it again.",
        errno.EROFS: "That file system is read-only; name another place (docs/reference/environment.md).",
        errno.EACCES: f"Give yourself access to {path}, or name another place (docs/reference/environment.md).",
        errno.EPERM: f"Give yourself access to {path}, or name another place (docs/reference/environment.md).",
        errno.EMFILE: "This process has too many files open; raise `ulimit -n` or end what leaks them.",
        errno.ENFILE: "The system has too many files open; end what leaks them.",
    }
    reason = error.strerror or str(error)
    return StateError(f"cannot {doing} {path}: {reason}", hints.get(error.errno or 0, ""))
