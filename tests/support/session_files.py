"""Where the client keeps a session's files, and in which form: names, times, one line of JSON at a time.

Owns the history's row too. Must not know records or transcript rows (`session_record.py`, `transcript_rows.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.plan import Plan

JSON = dict[str, Any]


def compact(value: Any) -> str:
    """JSON as the client writes it: one line, nothing escaped that need not be."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def new_id() -> str:
    """A session, prompt or row id."""
    return str(uuid.uuid4())


def milliseconds(now: float) -> int:
    """Epoch milliseconds, as records have them."""
    return int(now * 1000)


def iso(now: float) -> str:
    """UTC with milliseconds, as transcript rows have it."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    return f"{whole}.{int(now * 1000) % 1000:03d}Z"


def project_folder(cwd: str) -> str:
    """The folder below `projects/` for a working directory; a long one is cut to 200 characters and a hash."""
    name = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    if len(name) <= 200:
        return name
    return f"{name[:200]}-{hashlib.sha256(cwd.encode()).hexdigest()[:6]}"


def append_line(path: str, text: str) -> None:
    """Append one line in one write, making the file 0600 and its folders where they are missing."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, text.encode("utf-8", "surrogatepass") + b"\n")
    finally:
        os.close(fd)


def transcript_path(plan: Plan, session_id: str) -> str:
    """Where the client keeps a session's transcript."""
    return os.path.join(plan.config_dir, "projects", project_folder(plan.project), f"{session_id}.jsonl")


def history_row(plan: Plan, text: str, session_id: str, now: float) -> JSON:
    """The line of `history.jsonl` for something typed."""
    return {
        "display": text,
        "pastedContents": {},
        "timestamp": milliseconds(now),
        "project": plan.project,
        "sessionId": session_id,
    }
