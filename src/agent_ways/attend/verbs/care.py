"""The verbs that look after the bus: `cleanup` and `doctor`."""

from __future__ import annotations

import os
import stat

from agent_ways.attend import disk, ids, instances, layout, retention, signals, targets
from agent_ways.attend.retention import DAY, Policy, Tidied
from agent_ways.attend.signals import HUMAN, Sender, Signal
from agent_ways.base import paths
from agent_ways.base.config import ConfigFile
from agent_ways.base.errors import WaysError
from agent_ways.base.watch import file_watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.signals import Note
    from agent_ways.attend.verbs.caller import Caller

OK, NOTE, FAILED = "ok", "note", "failed"
Finding = dict[str, "str | None"]


def cleanup(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue. `done` is false where another process is at it already."""
    config = ConfigFile(os.path.join(paths.config_dir(caller.bus.env), "config.toml")).now()
    policy = Policy(keep_days=max(1, int(config.attend_retention // DAY)))
    done = retention.tidy(caller.bus, policy, dry=arguments.get("dry_run", False))
    return {"done": done is not None, **(done or Tidied()).to_json()}


def doctor(caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    """See the catalogue. What it writes it takes away again; a bus that is not there yet is made."""
    del arguments
    return {"findings": [*_findings(caller.bus), *_who(caller)]}


def _findings(bus: Bus) -> Iterator[Finding]:
    yield from _tried("write and read back", lambda: _signal(bus))
    yield from _tried("lock", lambda: _lock(bus))
    yield from _held(bus)
    yield _watch(bus)
    yield from _modes(bus)
    yield from _damage(bus)


def _tried(subject: str, attempt: Callable[[], str]) -> Iterator[Finding]:
    try:
        yield _finding(OK, subject, attempt())
    except WaysError as error:
        yield _finding(FAILED, subject, error.message, error.hint or None)
    except OSError as error:
        yield _finding(FAILED, subject, error.strerror or str(error), "Look at the disk and its permissions.")


def _signal(bus: Bus) -> str:
    sender = Sender(kind=HUMAN, user="doctor", name="attend doctor", host=bus.owner.host)
    text = "attend doctor \u2713 \x1b"
    probe = Signal(id=ids.next_id(bus), at=bus.now_ms(), sender=sender, to=("doctor",), room="doctor", body=text)
    path = layout.signal(bus.root, ids.day(probe.id), probe.id)
    try:
        signals.post(bus, probe, (), ())
        found = signals.read(bus, probe.id)
    finally:
        try:
            os.unlink(path)
        except OSError:
            pass
    if not isinstance(found, Signal) or found.body != text:
        raise OSError(5, f"what was written to {path} does not read back")
    return f"a signal in {bus.root} was written, flushed, read back and taken away"


def _lock(bus: Bus) -> str:
    with bus.lock("doctor"):
        if bus.lock("doctor", 0.0).try_acquire():
            raise OSError(37, f"locks do not hold in {bus.root}: its file system does not support flock")
    return "a lock was taken, held against a second taker, and freed"


def _held(bus: Bus) -> Iterator[Finding]:
    """The locks that a process holds for longer than any act takes, as a stopped one does while others wait."""
    for name in disk.names(os.path.dirname(layout.lock(bus.root, ""))):
        lock, _, end = name.rpartition(".")
        if end != "lock" or lock.startswith("role."):  # a sensor loop holds its role for as long as it runs
            continue
        try:
            with bus.lock(lock):
                pass
        except WaysError as error:
            yield _finding(FAILED, "held lock", error.message, error.hint or None)


def _watch(bus: Bus) -> Finding:
    watch = file_watch()
    if watch is None:
        return _finding(
            NOTE,
            "watch",
            "no inotify to be had: mail is looked for every 2 seconds",
            "Look at fs.inotify.max_user_instances.",
        )
    told = watch.tells_all(bus.root)
    watch.close()
    if not told:
        text = f"{bus.root} is on a shared file system, which tells of no other machine's changes: mail is looked for"
        return _finding(NOTE, "watch", text)
    return _finding(OK, "watch", "changes are reported at once")


def _modes(bus: Bus) -> Iterator[Finding]:
    try:
        mode = stat.S_IMODE(os.stat(bus.root).st_mode)
    except OSError:
        return
    if mode & 0o077:
        yield _finding(FAILED, "privacy", f"others may look into {bus.root} (mode {mode:o})", f"chmod 700 {bus.root}")
    else:
        yield _finding(OK, "privacy", f"{bus.root} is yours alone")


def _damage(bus: Bus) -> Iterator[Finding]:
    notes: list[Note] = []
    instances.read_all(bus, notes)
    signals.read_all(bus, signals.all_ids(bus)[:1000], notes)
    for note in notes:
        yield _finding(NOTE, "damaged file", f"{note.path}: {note.text}", "It is passed over; move it aside.")
    told = targets.read(bus.env).note
    if told:
        yield _finding(NOTE, "targets", told, "See what is there: ways target list")


def _who(caller: Caller) -> Iterator[Finding]:
    identity = caller.identity
    if caller.is_person:
        yield _finding(OK, "identity", "a person at a terminal")
    elif identity.resolved:
        yield _finding(OK, "identity", f"session {identity.session}")
    else:
        yield _finding(NOTE, "identity", f"no session is proven: {identity.reason}", "attend whoami says more.")


def _finding(status: str, subject: str, text: str, repair: str | None = None) -> Finding:
    return {"status": status, "subject": subject, "text": text, "repair": repair}
