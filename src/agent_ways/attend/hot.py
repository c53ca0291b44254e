"""The drain's first question: whether anything waits for this session (ATT-9).

Owns answering it with few files and fewer imports: the client asks at the end of every turn, and nearly always nothing
does. Nothing is opened that grows with history: the session's record, then the listing of its own tray and of its
project's. Whatever is not plain is left to the drain itself. Writes nothing.
"""

from __future__ import annotations

import os

from agent_ways.attend import layout
from agent_ways.base.errors import WaysError
from agent_ways.base.process import process_table
from agent_ways.claude.identity import identify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_ways.base.process import ProcessTable
    from agent_ways.claude.records import SessionRecord

_AFTER, _HELD = "after.", "held"
_WORKTREES = "/.claude/worktrees/"
_LONGEST_RECORD = 65536


def nothing_waits(
    env: Mapping[str, str] = os.environ, table: ProcessTable | None = None, pid: int | None = None
) -> bool:
    """Whether the drain has nothing to do for the session of this process; False where a closer look is needed."""
    try:
        root = layout.bus_root(env)
        if not os.path.isdir(layout.trays(root)):
            return True
        found = identify(env, table or process_table(), os.getpid() if pid is None else pid)
    except WaysError:
        return False
    record = found.record
    if record is None or record.is_sdk:
        return True  # nothing is shown to a session that is not proven, nor to one of -p
    return not (_waits(root, record.session, record) or _has_slips(layout.tray(root, _project_tray(record))))


def _project_tray(record: SessionRecord) -> str:
    return layout.tray_of_project((record.cwd or "").partition(_WORKTREES)[0] or record.cwd or "")


def _waits(root: str, session: str, record: SessionRecord) -> bool:
    """Whether there is a slip in the session's tray, or in one of an earlier id that its tray names."""
    todo, done = [session], set()
    while todo:
        name = todo.pop()
        done.add(name)
        try:
            entries = os.listdir(layout.tray(root, name))
        except FileNotFoundError:
            if name == session and _went_on(root, record):
                return True
            continue
        except OSError:
            return True
        for entry in entries:
            if entry.startswith(_AFTER):
                if entry[len(_AFTER) :] not in done:
                    todo.append(entry[len(_AFTER) :])
            elif entry != _HELD:
                return True
    # Again where there are earlier ids: what waited under one may have been brought here meanwhile.
    return len(done) > 1 and _has_slips(layout.tray(root, session))


def _went_on(root: str, record: SessionRecord) -> bool:
    """Whether an instance names the session's process: it was cleared, and nobody has moved its mail yet."""
    wanted = b'"pid":%d' % record.pid
    folder = layout.instances(root)
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        try:
            fd = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            if wanted in os.read(fd, _LONGEST_RECORD):
                return True
        except OSError:
            continue
        finally:
            os.close(fd)
    return False


def _has_slips(folder: str) -> bool:
    try:
        return any(entry != _HELD and not entry.startswith(_AFTER) for entry in os.listdir(folder))
    except OSError:
        return False
