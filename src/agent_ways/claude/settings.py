"""The client's own settings files, as far as they decide what may reach a session.

Owns where they lie and the one setting that we obey, `crossSessionInbound`. Reads only; must not know our entries in
them (`ways/` merges those). A file that is missing or broken says nothing, as the client has it.
"""

from __future__ import annotations

import os
import sys

from agent_ways.base.jsontext import NotJSONError, loads
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final

LONGEST = 4 << 20
HOLD, REFUSE = "hold", "refuse"
_STRICT = {REFUSE: 2, HOLD: 1}


class Inbound(Value):
    """What the settings say of messages from other sessions: `accept`, `hold`, `refuse` or `default`, and the file."""

    __slots__ = ("file", "policy")

    def __init__(self, policy: str, file: str | None) -> None:
        self.policy: Final = policy
        self.file: Final = file

    @property
    def keeps_out(self) -> bool:
        """Whether the client shows its model nothing that comes through the inbox socket by itself."""
        return self.policy in _STRICT


def managed_file() -> str:
    """Where an organisation's settings lie on this system."""
    if sys.platform == "darwin":
        return "/Library/Application Support/ClaudeCode/managed-settings.json"
    return "/etc/claude-code/managed-settings.json"


def files(config_dir: str, project: str | None, managed: str | None = None) -> list[str]:
    """The settings files of a session, the one that wins first."""
    found = [managed_file() if managed is None else managed]
    if project:
        found += [os.path.join(project, ".claude", name) for name in ("settings.local.json", "settings.json")]
    return [*found, os.path.join(config_dir, "settings.json")]


def inbound(paths: Iterable[str]) -> Inbound:
    """The policy for messages that come through the inbox socket, from the files of `files`, the winning one first.

    The managed file decides where it says anything. Below it, a file of the project may tighten what the person's own
    says and not loosen it (documented for 2.1.224 and later; hold and refuse seen on 2.1.332), so the strictest counts.
    """
    told = [Inbound(policy, path) for path in paths if (policy := _policy(path)) is not None]
    if not told:
        return Inbound("default", None)
    first = next(iter(paths), None)
    if told[0].file == first:
        return told[0]
    return max(told, key=lambda one: _STRICT.get(one.policy, 0))


def _policy(path: str) -> str | None:
    found = read(path).get("crossSessionInbound")
    return found if isinstance(found, str) else None


def read(path: str) -> dict[str, Any]:
    """The settings in a file; empty where there are none to be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return {}
    try:
        data = os.read(fd, LONGEST)
        while more := os.read(fd, LONGEST - len(data)):
            data += more
    except OSError:
        return {}
    finally:
        os.close(fd)
    try:
        raw = loads(data.decode("utf-8-sig", "replace"))
    except NotJSONError:
        return {}
    return raw if isinstance(raw, dict) else {}
