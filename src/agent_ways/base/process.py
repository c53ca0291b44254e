"""Processes of this machine, seen from outside: who is alive, since when, whose child, started how.

Owns the process table (`/proc` on Linux, `ps` elsewhere) and the owner proof (`Owner`) that locks and markers
carry. Must not know Claude Code. A process is its pid **and** its start: a pid alone is reused.

Start times are opaque text, compared for equality only: on Linux field 22 of `/proc/<pid>/stat`, clock ticks
since boot, which a stepped wall clock leaves alone (it is also what the client writes as `procStart`).
"""

from __future__ import annotations

import os
import sys

from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final, Protocol

    class ProcessTable(Protocol):
        """What the product asks of a process table; tests bring their own."""

        def look(self, pid: int) -> Process | None:
            """The process with that pid, or None: gone, a zombie, or not to be seen."""

        def argv(self, pid: int) -> tuple[str, ...] | None:
            """Its arguments as typed, or None where they can not be read."""

        def stopped(self, pid: int) -> bool:
            """Whether it stands still until it is told to go on: ctrl-Z, SIGSTOP, a debugger."""


class SplitWords(tuple[str, ...]):
    """A command line that was shown joined by spaces: an argument that held a space came apart."""

    __slots__ = ()


class Process(Value):
    """One live process: its pid, its parent's, and its start time."""

    __slots__ = ("parent", "pid", "start")

    def __init__(self, *, pid: int, parent: int, start: str) -> None:
        self.pid: Final = pid
        self.parent: Final = parent
        self.start: Final = start


class ProcTable:
    """Linux: `/proc`."""

    def __init__(self, root: str = "/proc") -> None:
        self.root: Final = root

    def look(self, pid: int) -> Process | None:
        """See `ProcessTable`. The name in parentheses may itself hold parentheses, spaces and newlines.

        None for the caller's own pid where this `/proc` is that of another pid namespace: the number is some other
        process's there, and so would be its ancestors.
        """
        if pid == os.getpid() and not self._is_ours(pid):
            return None
        data = _read(f"{self.root}/{pid}/stat")
        if data is None:
            return None
        fields = data.rpartition(b")")[2].split()
        if len(fields) < 20 or fields[0] in (b"Z", b"X", b"x"):
            return None
        try:
            return Process(pid=pid, parent=int(fields[1]), start=str(int(fields[19])))
        except ValueError:
            return None

    def stopped(self, pid: int) -> bool:
        """See `ProcessTable`."""
        fields = (_read(f"{self.root}/{pid}/stat") or b"").rpartition(b")")[2].split()
        return fields[:1] in ([b"T"], [b"t"])

    def _is_ours(self, pid: int) -> bool:
        try:
            return os.readlink(f"{self.root}/self") == str(pid)
        except OSError:
            return False

    def argv(self, pid: int) -> tuple[str, ...] | None:
        """See `ProcessTable`. Empty for a kernel thread or a process that wiped its own: unreadable, not none."""
        data = _read(f"{self.root}/{pid}/cmdline")
        if not data:
            return None
        return tuple(part.decode("utf-8", "replace") for part in data.removesuffix(b"\0").split(b"\0"))


class PsTable:
    """Elsewhere: `ps`, asked when needed, in the C locale (a start time is text and must not be translated)."""

    def __init__(self, command: str = "ps") -> None:
        self.command: Final = command

    def look(self, pid: int) -> Process | None:
        """See `ProcessTable`."""
        fields = self._ask(pid, "ppid=,state=,lstart=").split(None, 2)
        if len(fields) < 3 or fields[1].startswith("Z") or not fields[0].isdigit():
            return None
        return Process(pid=pid, parent=int(fields[0]), start=" ".join(fields[2].split()))

    def argv(self, pid: int) -> tuple[str, ...] | None:
        """See `ProcessTable`; `SplitWords`, since `ps` joins arguments with spaces."""
        return SplitWords(self._ask(pid, "args=").split()) or None

    def stopped(self, pid: int) -> bool:
        """See `ProcessTable`."""
        return self._ask(pid, "state=").startswith("T")

    def _ask(self, pid: int, columns: str) -> str:
        return _answer(self.command, "-ww", "-o", columns, "-p", str(pid))


def process_table() -> ProcessTable:
    """This machine's process table."""
    return ProcTable() if sys.platform == "linux" else PsTable()


def alive(table: ProcessTable, pid: int, start: str) -> bool:
    """Whether exactly that process lives: the pid is there and started then."""
    found = table.look(pid)
    return found is not None and found.start == start


class Owner(Value):
    """Proof of who made a lock or marker: machine, boot, pid namespace, pid and start.

    `verdict` tells what can be said of it from here.
    """

    __slots__ = ("boot", "host", "namespace", "pid", "start")

    def __init__(self, *, host: str, boot: str, namespace: str, pid: int, start: str) -> None:
        self.host: Final = host
        self.boot: Final = boot
        self.namespace: Final = namespace
        self.pid: Final = pid
        self.start: Final = start

    def to_json(self) -> dict[str, str | int]:
        """The form in records of ours."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, raw: object) -> Owner | None:
        """The owner in a record, or None where it is none."""
        if not isinstance(raw, dict) or not isinstance(raw.get("pid"), int):
            return None
        texts = [raw.get(name) for name in ("host", "boot", "namespace", "start")]
        if not all(isinstance(text, str) for text in texts):
            return None
        host, boot, namespace, start = (str(text) for text in texts)
        return cls(host=host, boot=boot, namespace=namespace, pid=raw["pid"], start=start)

    def verdict(self, here: Owner, table: ProcessTable) -> str:
        """`alive`, `dead`, or `unknown` where it belongs to another machine or pid namespace.

        The same machine after a reboot is `dead`: nothing outlives a boot. Dead is never a guess: where either side
        could not read its boot or its own start, as under a masked `/proc`, a process that is not seen is `unknown`.
        """
        if self.host != here.host:
            return "unknown"
        boots_known = bool(self.boot and here.boot)
        if boots_known and self.boot != here.boot:
            return "dead"
        if self.namespace != here.namespace:
            return "unknown"
        if alive(table, self.pid, self.start):
            return "alive"
        return "dead" if boots_known and self.start and here.start else "unknown"

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def this_process(table: ProcessTable, env: Mapping[str, str]) -> Owner:
    """The proof of the calling process.

    `AGENT_WAYS_HOST` overrides the machine's name, for machines whose names collide on a shared mount.
    """
    pid = os.getpid()
    found = table.look(pid)
    return Owner(
        host=env.get("AGENT_WAYS_HOST") or os.uname().nodename,
        boot=boot_id(),
        namespace=pid_namespace(),
        pid=pid,
        start=found.start if found else "",
    )


def boot_id() -> str:
    """What changes with each boot of this machine; empty where the system does not tell."""
    data = _read("/proc/sys/kernel/random/boot_id")
    if data:
        return data.decode("ascii", "replace").strip()
    return _answer("sysctl", "-n", "kern.bootsessionuuid") if sys.platform == "darwin" else ""


def pid_namespace() -> str:
    """What tells pid namespaces (containers) of one machine apart; empty where there are none."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _answer(*command: str) -> str:
    """What a small system command prints, in the C locale and UTC; empty where it fails or takes over 5 s."""
    import subprocess

    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
            env={"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ.get("PATH", os.defpath)},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.decode("utf-8", "replace").strip()


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            parts = []
            while part := file.read(65536):
                parts.append(part)
            return b"".join(parts)
    except (OSError, ValueError):
        return None
