"""The client's prompt history (ID-8): whose newest prompt, and never more than the file's end is read for it."""

from __future__ import annotations

import json
import math
import os
import tempfile

from agent_ways.claude.prompts import history_ms
from tests.fuzz.shapes import lines_of
from tests.fuzz.target import Pump, Target

SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
OTHER = "bbbbbbbb-0000-4000-8000-000000000002"
ROW = {"display": "hello", "pastedContents": {}, "timestamp": 1764537072123, "project": "/p", "sessionId": SESSION}
MOST = 5 << 20
FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-history-")


def check(data: bytes) -> None:
    path = os.path.join(FOLDER.name, "history.jsonl")
    with open(path, "wb") as file:
        file.write(data)
    read = 0

    def pread(fd: int, size: int, offset: int) -> bytes:
        nonlocal read
        found = os.pread(fd, size, offset)
        read += len(found)
        return found

    found = history_ms(FOLDER.name, SESSION, pread)
    assert read <= MOST, "more of the history is read than its end"
    assert found == _expected(data)
    assert history_ms(FOLDER.name, "", pread) is None
    assert history_ms(FOLDER.name, "nobody-at-all", pread) in (None, _expected(data, "nobody-at-all"))


def _expected(data: bytes, session: str = SESSION) -> int | None:
    """The plain reading: every whole line, the newest time of this session, by the standard library."""
    times = []
    for line in data.split(b"\n")[:-1]:
        if session.encode() not in line:
            continue
        try:
            row = json.loads(
                line.decode("utf-8", "replace").lstrip("\ufeff"), parse_constant=_refuse, parse_float=_finite
            )
        except (ValueError, RecursionError):
            continue
        at = row.get("timestamp") if isinstance(row, dict) and row.get("sessionId") == session else None
        if type(at) is int and at > 0:
            times.append(at)
    return max(times, default=None)


def _finite(text: str) -> float:
    if math.isinf(float(text)):
        raise ValueError(text)
    return float(text)


def _refuse(name: str) -> object:
    raise ValueError(name)


TARGET = Target(
    "history",
    check,
    lines_of(ROW, {**ROW, "sessionId": OTHER}),
    (SESSION.encode(), OTHER.encode(), b'"timestamp":', b'"sessionId":', b'"timestamp":1e12,', b'"timestamp":-5,', b"\n", b"}\n{"),
    (Pump(b"\n"), Pump(b"{}\n"), Pump(b"a"), Pump(json.dumps(ROW).encode() + b"\n"), Pump(json.dumps({**ROW, "sessionId": OTHER}).encode() + b"\n")),
    longest=1 << 17,
)  # fmt: skip
