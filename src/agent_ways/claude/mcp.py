"""The calls of `claude mcp` that register our server at user scope, and their proof (LIFE-5).

Owns the only calls of `claude mcp`, and reading the client's global file before and after them: whether a plan
(`registration.py`) was carried out is told by the file and not by what `claude` says. Must not know targets or how
results are shown. The file is read and never written.
"""

from __future__ import annotations

import os
import stat
import time

from agent_ways.base.values import Value
from agent_ways.claude import dirs
from agent_ways.claude.registration import (
    Found,
    add,
    parse,
    plan_registration,
    plan_removal,
    removal,
    steps_by_hand,
    worded,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Final

    from agent_ways.claude.registration import Plan

    Run = Callable[[Sequence[str]], "Ran"]
    Read = Callable[[str], "Found"]

PATIENCE = 15.0
"""Seconds that one call of `claude` may take."""
PAUSES = (0.05, 0.1, 0.2)
"""Seconds between attempts at a file that is no JSON: a client may be writing it in place."""
LOCK_LOOKS, LOCK_PAUSE = 60, 0.05
"""How often and at what distance, in seconds, it is looked whether another client's lock is gone."""
LONGEST = 256 << 20
"""Bytes above which the global file is not read."""


class Outcome(Value):
    """What came of a plan.

    `state` is current, added, replaced, removed, absent; or foreign, managed (the file is read-only), unreadable,
    missing (no `claude`), failed. `done` says whether it is as wanted; `by_hand` is the shell line that does what could
    not be done.
    """

    __slots__ = ("by_hand", "reason", "state")

    def __init__(self, state: str, reason: str, by_hand: str = "") -> None:
        self.state: Final = state
        self.reason: Final = reason
        self.by_hand: Final = by_hand

    @property
    def done(self) -> bool:
        """Whether all is as it should be now."""
        return self.state in ("current", "added", "replaced", "removed", "absent")


class Ran(Value):
    """One call of `claude`: its exit code, or None with the `trouble`: missing, or a sentence's end."""

    __slots__ = ("code", "said", "trouble")

    def __init__(self, code: int | None, said: str = "", trouble: str = "") -> None:
        self.code: Final = code
        self.said: Final = said
        self.trouble: Final = trouble


class Place(Value):
    """Which configuration is meant: a config dir, and whether `CLAUDE_CONFIG_DIR` names it to the client."""

    __slots__ = ("config_dir", "home", "named")

    def __init__(self, *, config_dir: str, named: bool, home: str) -> None:
        self.config_dir: Final = config_dir
        self.named: Final = named
        self.home: Final = home

    @property
    def file(self) -> str:
        """The global file that sessions of this config dir read."""
        return dirs.global_file(self.config_dir, self.named, self.home)

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` as `claude` must have it to mean this place."""
        clean = {name: value for name, value in env.items() if name != dirs.VARIABLE}
        return {**clean, dirs.VARIABLE: self.config_dir} if self.named else clean

    def by_hand(self, steps: Sequence[Sequence[str]], env: Mapping[str, str]) -> str:
        """The shell line with which a person takes the steps; `env` is theirs."""
        from shlex import join

        if self.named:
            before = ["env", f"{dirs.VARIABLE}={self.config_dir}"]
        else:
            before = ["env", "-u", dirs.VARIABLE] if dirs.VARIABLE in env else []
        return " && ".join(join([*before, "claude", *step]) for step in steps)


def read(path: str, pause: Callable[[float], None] = time.sleep) -> Found:
    """What stands in the file at `path`; one that is no JSON is read again for a moment."""
    found = _read(path)
    for seconds in PAUSES:
        if found.state != "unreadable":
            break
        pause(seconds)
        found = _read(path)
    if found.state == "unreadable":
        return Found("unreadable", reason=f"{path} {found.reason}")
    return Found(found.state, found.entry, managed=path if found.managed else "")


def _read(path: str) -> Found:
    try:
        # O_NONBLOCK: a FIFO with that name must not hold us.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        return Found("absent")
    except OSError as error:
        return Found("unreadable", reason=f"can not be read: {error.strerror}")
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LONGEST:
            return Found("unreadable", reason="is no file, or a very large one")
        parts = []
        while part := os.read(fd, 1 << 20):
            parts.append(part)
    except OSError as error:
        return Found("unreadable", reason=f"can not be read: {error.strerror}")
    finally:
        os.close(fd)
    found = parse(b"".join(parts))
    # Root may write everything, so the mode is asked as well.
    writable = status.st_mode & 0o222 and os.access(path, os.W_OK)
    return Found(found.state, found.entry, found.reason, "" if writable else path)


def find_program(env: Mapping[str, str], name: str = "claude") -> str | None:
    """The path of `claude` as a shell with this environment finds it; None for an alias, a function, a broken link."""
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or os.curdir, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    return None


def runner(place: Place, env: Mapping[str, str], patience: float = PATIENCE) -> Run:
    """What calls `claude` for `place`: from the home directory, without input, without a terminal, bounded."""
    program = find_program(env)
    if program is None:
        return lambda _: Ran(None, trouble="missing")
    return lambda words: _call([program, *words], place.environment(env), place.home, patience)


def _call(command: list[str], env: Mapping[str, str], folder: str, patience: float) -> Ran:
    import signal
    import subprocess
    import tempfile

    # A file and not a pipe: what `claude` leaves running behind it could hold a pipe open for ever.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder if os.path.isdir(folder) else None,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return Ran(None, trouble=f"can not be started: {error.strerror or error}")
        try:
            code: int | None = process.wait(patience)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        said = output.read(4096).decode("utf-8", "replace")
    return Ran(code, said, "" if code is not None else f"did not end within {patience:g} s")


def register(
    place: Place,
    command: str,
    run: Run,
    env: Mapping[str, str],
    read: Read = read,
    pause: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Bring `command` to stand under our name, and prove it by the file.

    Where that fails while another client holds the file's lock, it is tried once more when the lock has gone.
    """
    outcome = _register(place, command, run, env, read)
    if outcome.state == "failed" and _lock_goes(place, pause):
        return _register(place, command, run, env, read)
    return outcome


def _register(place: Place, command: str, run: Run, env: Mapping[str, str], read: Read) -> Outcome:
    before = read(place.file)
    plan = plan_registration(before, command)
    if not plan.steps:
        return Outcome(plan.state, plan.reason, place.by_hand(steps_by_hand(plan.state, command), env))
    trouble = ""
    for step in plan.steps:
        ran = run(step)
        if ran.trouble == "missing":
            return Outcome("missing", "claude is not on PATH", place.by_hand(plan.steps, env))
        trouble = _trouble(step, ran, place)
        after = read(place.file)
        if step[1] == "remove" and after.state != "absent":
            return Outcome("failed", trouble, place.by_hand(plan.steps, env))
    if plan_registration(after, command).state == "current":
        return Outcome("added" if plan.state == "add" else "replaced", plan.reason)
    if plan.state == "replace" and after.state == "absent":
        trouble = f"{trouble}; {_put_back(place, before, run, read)}"
    return Outcome("failed", trouble, place.by_hand(_left_to_do(read(place.file), command, plan), env))


def unregister(
    place: Place,
    command: str,
    run: Run,
    env: Mapping[str, str],
    read: Read = read,
    pause: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Take the registration of `command` away, and prove it by the file; as `register` where it is locked."""
    outcome = _unregister(place, command, run, env, read)
    if outcome.state == "failed" and _lock_goes(place, pause):
        return _unregister(place, command, run, env, read)
    return outcome


def _lock_goes(place: Place, pause: Callable[[float], None]) -> bool:
    """Whether a client's lock, a folder beside the file (seen on both versions), is there and goes in time."""
    lock = f"{place.file}.lock"
    if not os.path.isdir(lock):
        return False
    for _ in range(LOCK_LOOKS):
        pause(LOCK_PAUSE)
        if not os.path.isdir(lock):
            return True
    return False


def _unregister(place: Place, command: str, run: Run, env: Mapping[str, str], read: Read) -> Outcome:
    plan = plan_removal(read(place.file), command)
    if not plan.steps:
        hand = place.by_hand([removal()], env) if plan.state in ("foreign", "unreadable") else ""
        return Outcome(plan.state, plan.reason, hand)
    ran = run(plan.steps[0])
    if plan_removal(read(place.file), command).state == "absent":
        return Outcome("removed", plan.reason)
    by_hand = place.by_hand(plan.steps, env)
    if ran.trouble == "missing":
        return Outcome("missing", "claude is not on PATH", by_hand)
    return Outcome("failed", _trouble(plan.steps[0], ran, place), by_hand)


def _put_back(place: Place, before: Found, run: Run, read: Read) -> str:
    run(add(before.entry))
    if read(place.file).state == "entry":
        return "the entry that was there before is back"
    return f"the entry that was there before is gone; it was {worded(before.entry)}"


def _left_to_do(found: Found, command: str, plan: Plan) -> Sequence[Sequence[str]]:
    return plan_registration(found, command).steps or plan.steps[-1:]


def _trouble(step: Sequence[str], ran: Ran, place: Place) -> str:
    called = f"claude {' '.join(step[:2])}"
    if ran.trouble:
        return f"{called} {ran.trouble}"
    said = " ".join(" ".join(line.split()) for line in ran.said.splitlines() if line.strip())
    said = "".join(character if character.isprintable() else "?" for character in said)[:300]
    if ran.code:
        return f"{called} failed with exit code {ran.code}: {said or 'it said nothing'}"
    return f"{called} said that it was done, but {place.file} does not show it"
