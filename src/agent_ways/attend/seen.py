"""Seen marks: which signals a session was given, each with its proof.

Owns the mark files: one line per signal, one file per instance and day of the signals, appended to under the ledger's
lock. Must not know how a proof was found. A mark is final.
"""

from __future__ import annotations

import os

from agent_ways.attend import disk, ids, layout
from agent_ways.base.errors import state_error
from agent_ways.base.jsontext import NotJSONError, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from agent_ways.attend.bus import Bus

    Proof = dict[str, Any]
    """How it is known: `kind` (channel, peer, loop, hook, tool, terminal), `at` (ISO time) and `session`."""


def mark(bus: Bus, key: str, proofs: Mapping[str, Proof]) -> None:
    """Mark signals as seen, durable once this returns. Raises `StateError`, and then none of that day is marked."""
    by_day: dict[str, list[str]] = {}
    for signal_id in sorted(proofs):
        line = dumps({"v": layout.FORMAT, "id": signal_id, "proof": proofs[signal_id]})
        by_day.setdefault(ids.day(signal_id), []).append(line + "\n")
    for day, lines in by_day.items():
        path = layout.marks(bus.root, key, day)
        try:
            _append(path, "".join(lines).encode("ascii"))
        except OSError as error:
            raise state_error("write", path, error) from None


def _append(path: str, data: bytes) -> None:
    made = disk.make_folders(os.path.dirname(path))
    size = 0
    fd = disk.open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            data = b"\n" + data  # a writer was killed in the middle of its line
        disk.write_all(fd, data)
    except OSError:
        if size:
            os.ftruncate(fd, size)
        else:
            disk.forget(path)
            disk.remove_folders(made)
        raise
    finally:
        os.close(fd)


def proofs(bus: Bus, key: str, signal_ids: Iterable[str]) -> dict[str, Proof]:
    """The proofs of those of `signal_ids` that are marked. Lines and files that hold no marks are passed over.

    Raises `StateError` where too many files are open: what is marked must not look as if it were not.
    """
    by_day: dict[str, set[str]] = {}
    for signal_id in signal_ids:
        by_day.setdefault(ids.day(signal_id), set()).add(signal_id)
    found: dict[str, Proof] = {}
    for day, wanted in by_day.items():
        found.update({one: proof for one, proof in _marks(layout.marks(bus.root, key, day)) if one in wanted})
    return found


def _marks(path: str) -> list[tuple[str, Proof]]:
    try:
        data = _bytes(path)
    except OSError as error:
        if disk.about_us(error):
            raise state_error("read", path, error) from None
        return []
    found = []
    for line in data.split(b"\n"):
        try:
            value = loads(line.decode("utf-8", "replace")) if line else None
        except NotJSONError:
            continue
        if isinstance(value, dict) and ids.is_id(value.get("id")):
            proof = value.get("proof")
            found.append((str(value["id"]), proof if isinstance(proof, dict) else {}))
    return found


def _bytes(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        data = b""
        while more := os.read(fd, 1 << 20):
            data += more
        return data
    finally:
        os.close(fd)
