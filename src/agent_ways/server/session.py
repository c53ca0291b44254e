"""The server's own session: found, watched, marked as present.

Owns what the server itself must know of its session between events: the marker, the Claude process whose end is
the server's end (SRV-8), and the descriptors that tell of both. Must not know modules or the protocol. Tools do
not ask here: they derive afresh (SRV-9).
"""

from __future__ import annotations

import os

from agent_ways.base.errors import StateError
from agent_ways.base.process import alive
from agent_ways.base.watch import file_watch, process_end
from agent_ways.claude import records
from agent_ways.claude.identity import HANDSHAKE, identify
from agent_ways.server.sight import is_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from agent_ways.base.process import Process, ProcessTable
    from agent_ways.base.watch import FileWatch
    from agent_ways.server.presence import Marker

LOOK_EVERY = 4.0
"""Seconds between looks at the record and the Claude process where the system can not tell of their changes."""
FIRST_LOOKS = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds between the first looks for a record that was not there yet: the client writes it between 0.1 s before and
0.04 s after the end of the handshake (measured, 2.1.285 and 2.1.332)."""
LATE_LOOKS = (30.0, 120.0)
"""Seconds between the looks after those, where the system can not tell that a record has come."""


class OwnSession:
    """The session that started this server, as far as it resolves.

    Only an interactive session, whose server this is, resolves here: not `-p` and SDK sessions (ID-5), not a
    server that a model or a hook started by hand inside one.
    """

    def __init__(self, env: Mapping[str, str], table: ProcessTable, pid: int, marker: Marker | None) -> None:
        self._env: Final = env
        self._table: Final = table
        self._pid: Final = pid
        self._marker: Final = marker
        self._files: FileWatch | None = None
        self._looks = False
        self._record_path = ""
        self._first_looks = list(FIRST_LOOKS)
        self._late_looks = list(LATE_LOOKS)
        self.awaited: Final = _may_be_a_session(env)
        self._arrivals = ""
        self.end_fd: int | None = None
        self.claude: Process | None = None
        self.session: str | None = None

    def resolve(self) -> None:
        """Look who we are, and be present there. Called after initialized, and whenever the record changed."""
        try:
            identity = identify(self._env, self._table, self._pid, anchor=self.claude)
        except StateError:
            return  # no home directory: nothing resolves, and ways_status says why
        record, claude = identity.record, identity.claude_process
        if record is None or claude is None:
            if self.awaited and not self._first_looks and self._await_record(identity.config_dir):
                self.resolve()  # it may have come just before we were told of such
            return
        if not is_own(self._env, record):
            if self.end_fd is None:
                self.end_fd = process_end(self._table, claude)  # its end is ours all the same (SRV-8)
            return
        if self.claude is None:
            self._follow(claude, records.path(identity.config_dir, record.pid))
        self.session = record.session
        if self._marker is not None:
            self._marker.show(record.session)

    def _await_record(self, config_dir: str) -> bool:
        """Be told when a record comes into its folder, or the folder comes; True where that is new.

        Not asked for at once: what the watch loads is too much for a server that lives for a health check.
        """
        if self._files is None:
            self._files = file_watch()
        folder = os.path.dirname(records.path(config_dir, self._pid))
        for wanted in (folder, config_dir):
            if self._arrivals == wanted:
                return False
            if self._files is not None and self._files.add_arrivals(wanted):
                self._arrivals = wanted
                return True
        return False

    def _follow(self, claude: Process, record_path: str) -> None:
        self.claude = claude
        if self.end_fd is None:
            self.end_fd = process_end(self._table, claude)
        if self._files is not None:
            self._files.close()
        self._files = file_watch()
        self._record_path = record_path
        told = self._files is not None and self._files.add(record_path)
        self._looks = not told or self.end_fd is None

    @property
    def record_fd(self) -> int | None:
        """Readable when the record changed, or where there is none yet, when it may have come."""
        return self._files.fd if self._files else None

    def record_changed(self) -> None:
        """The record was written: after `/clear` it names another session. Or some record has come, ours perhaps."""
        if self._files is not None:
            self._files.drain()
        if self.claude is None:
            self._first_looks = list(FIRST_LOOKS)  # it is made first and written then
        elif self._files is not None:
            # A record that was replaced is another file; of one that is gone nothing tells that it came back.
            self._looks = not self._files.add(self._record_path) or self.end_fd is None
        self.resolve()

    @property
    def lives(self) -> bool:
        """Whether the session's Claude process lives, as far as one was found."""
        return self.claude is None or alive(self._table, self.claude.pid, self.claude.start)

    def next_look(self) -> float | None:
        """Seconds after which `resolve` and `lives` are due again, or None where watches tell of everything."""
        if self.claude is not None:
            return LOOK_EVERY if self._looks else None
        looks = self._first_looks or ([] if self._arrivals else self._late_looks)
        return looks.pop(0) if looks else None


def _may_be_a_session(env: Mapping[str, str]) -> bool:
    """Whether the client's environment is that of a session of a person, whose record may just be late."""
    entrypoint = env.get("CLAUDE_CODE_ENTRYPOINT")
    told = entrypoint or env.get("CLAUDE_CODE_SESSION_ID")
    return bool(told) and not records.is_sdk(entrypoint) and not env.get(HANDSHAKE)
