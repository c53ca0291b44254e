"""The client's record of one session, `sessions/<pid>.json`, and the peer key beside it.

Owns the record's shape for both tracked versions and how it is written. Must not know when.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import TYPE_CHECKING, Any

from tests.support.processes import start_of
from tests.support.session_files import JSON, compact, milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.plan import Plan


class SessionRecord:
    """`sessions/<pid>.json` and the peer key beside it.

    Rewritten in place, same inode, only on changes; no heartbeat (seen 2.1.285 and 2.1.332).
    """

    def __init__(self, plan: Plan, *, pid: int, session_id: str, socket_path: str, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.folder = os.path.join(plan.config_dir, "sessions")
        self.path = os.path.join(self.folder, f"{pid}.json")
        self._key = ""
        started = milliseconds(clock())
        self.content: JSON = {
            "pid": pid,
            "sessionId": session_id,
            "cwd": plan.project,
            "startedAt": started,
            "procStart": start_of(pid),
            "version": plan.version,
            "peerProtocol": 1,
            "peerFeatures": ["notify_idle", "reply_across_default_dirs", "artifact_yield"],
            "kind": plan.kind,
            "entrypoint": plan.entrypoint,
            "pidDomain": f"linux:{_machine_id()}:{_pid_namespace()}",
        }
        if plan.version != "2.1.285":
            self.content["asksForConvertedSkills"] = None
        if "TMUX" in plan.env:
            self.content["tmux"] = "m:@0.%0"
        if socket_path:
            self.content["messagingSocketPath"] = socket_path
            self._key = os.path.join(self.folder, f"{pid}.{hashlib.sha256(socket_path.encode()).hexdigest()}.key")
        self.content |= {
            "name": f"{os.path.basename(plan.project)}-{secrets.token_hex(1)}",
            "nameSource": "derived",
            "nameSince": started,
            "status": "idle",
            "updatedAt": started,
            "statusUpdatedAt": started,
        }

    def write_key(self) -> None:
        """The peer key, there from the start on, also under a start dialog."""
        if self._key:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            names = ("procStart", "pidDomain")
            key = {"peerToken": secrets.token_hex(16), **{name: self.content[name] for name in names}}
            fd = os.open(self._key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(fd, "w", encoding="utf-8") as file:
                file.write(compact(key))

    def write(self) -> None:
        """Write the record as it now is."""
        self.write_raw(compact(self.content).encode())

    def write_raw(self, data: bytes) -> None:
        """Write any bytes in the record's place."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)

    def set_status(self, status: str, waiting_for: str | None = None) -> None:
        """A change of status; both times move."""
        self.content.pop("waitingFor", None)
        self.content["status"] = status
        if waiting_for is not None:
            self.content["waitingFor"] = waiting_for
        self.content["updatedAt"] = self.content["statusUpdatedAt"] = milliseconds(self._clock())

    def change(self, **fields: Any) -> None:
        """Any other change: only `updatedAt` moves (seen after /clear)."""
        self.content |= fields
        self.content["updatedAt"] = milliseconds(self._clock())

    def remove(self) -> None:
        """As at a clean end."""
        for path in (self.path, self._key):
            if path:
                try:
                    os.unlink(path)
                except FileNotFoundError:
                    pass


def _machine_id() -> str:
    try:
        with open("/etc/machine-id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "0" * 32


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return "pid:[0]"
