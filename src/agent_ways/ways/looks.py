"""What doctor looks at around a live session: its environment, the client's flags and policies, its socket's folder.

Owns reading these. Each answers with nothing where it can not be read. Must not judge.
"""

from __future__ import annotations

import glob
import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

from agent_ways.ways.gate import Seen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_ways.claude.launch import ChannelIntent
    from agent_ways.claude.records import SessionRecord

POLICIES = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
"""Where an organisation's managed settings lie."""


def seen(record: SessionRecord, intent: ChannelIntent, global_file: str, *, served: bool, root: str = POLICIES) -> Seen:
    """Everything that bears on the channel of one session."""
    settings: dict[str, str] = {}
    folders = [record.config_dir, os.path.join(record.cwd, ".claude") if record.cwd else ""]
    for folder in filter(None, folders):
        for name in ("settings.json", "settings.local.json"):
            settings |= _texts(read_json(os.path.join(folder, name)).get("env"))
    features = read_json(global_file).get("cachedGrowthBookFeatures")
    return Seen(
        intent=intent,
        environment=environment_of(record.pid),
        settings=settings,
        features=features if isinstance(features, dict) else {},
        policies=policies(root),
        served=served,
    )


def policies(root: str) -> dict[str, Mapping[str, Any]]:
    """The managed settings there are, by their path."""
    paths = [os.path.join(root, "managed-settings.json"), *sorted(glob.glob(f"{root}/managed-settings.d/*.json"))]
    return {path: read_json(path) for path in paths if os.path.isfile(path)}


def environment_of(pid: int) -> dict[str, str] | None:
    """The environment that a process was started with; None where it can not be read, as on macOS."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            data = file.read()
    except OSError:
        return None
    pairs = (entry.partition(b"=") for entry in data.split(b"\0") if b"=" in entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def socket_trouble(path: str) -> str:
    """What is wrong with a session's inbox socket and its folder; empty where nothing is."""
    folder = os.path.dirname(path)
    try:
        found = os.stat(folder)
        there = os.stat(path)
    except OSError as error:
        return f"{error.filename} can not be looked at: {error.strerror}"
    if found.st_uid != os.getuid():
        return f"{folder} belongs to somebody else"
    if found.st_mode & 0o022:
        return f"others may write in {folder} (mode {stat.S_IMODE(found.st_mode):o})"
    if not stat.S_ISSOCK(there.st_mode):
        return f"{path} is no socket"
    return "" if os.access(path, os.W_OK) else f"{path} can not be written to"


def read_json(path: str) -> dict[str, Any]:
    """The object in a file; empty where there is none."""
    if not os.path.isfile(path):
        return {}
    try:
        with open(path, encoding="utf-8-sig") as file:
            content = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _texts(raw: object) -> dict[str, str]:
    return {name: value for name, value in raw.items() if isinstance(value, str)} if isinstance(raw, dict) else {}
