"""The server's own session: found, watched, marked as present.

Owns what the server itself must know of its session between events: the marker, the Claude process whose end is
the server's end (SRV-8), and the descriptors that tell of both. Must not know modules or the protocol. Tools do
not ask here: they derive afresh (SRV-9).
"""

from __future__ import annotations

from agent_ways.base.errors import StateError
from agent_ways.base.process import alive
from agent_ways.base.watch import file_watch, process_end
from agent_ways.claude import records
from agent_ways.claude.identity import identify
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
FIRST_LOOKS = (0.05, 0.2, 0.5, 1.0, 2.0, 30.0, 120.0)
"""Seconds between the first looks for a record that was not there yet: the client writes it between 0.1 s before and
0.04 s after the end of the handshake (measured, 2.1.285 and 2.1.332)."""


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
        if record is None or claude is None or not is_own(self._env, record):
            return
        if self.claude is None:
            self._follow(claude, records.path(identity.config_dir, record.pid))
        self.session = record.session
        if self._marker is not None:
            self._marker.show(record.session)

    def _follow(self, claude: Process, record_path: str) -> None:
        self.claude = claude
        self.end_fd = process_end(self._table, claude)
        self._files = file_watch()
        self._record_path = record_path
        told = self._files is not None and self._files.add(record_path)
        self._looks = not told or self.end_fd is None

    @property
    def record_fd(self) -> int | None:
        """Readable when the record changed."""
        return self._files.fd if self._files else None

    def record_changed(self) -> None:
        """The record was written: after `/clear` it names another session."""
        if self._files is not None:
            self._files.drain()
            # A record that was replaced is another file; of one that is gone nothing tells that it came back.
            self._looks = not self._files.add(self._record_path) or self.end_fd is None
        self.resolve()

    @property
    def lives(self) -> bool:
        """Whether the session's Claude process lives, as far as one was found."""
        return self.claude is None or alive(self._table, self.claude.pid, self.claude.start)

    def next_look(self) -> float | None:
        """Seconds after which `resolve` and `lives` are due again, or None where watches tell of everything."""
        if self.claude is None:
            return self._first_looks.pop(0) if self._first_looks else None
        return LOOK_EVERY if self._looks else None
