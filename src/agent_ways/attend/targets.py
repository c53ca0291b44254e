"""The other targets: config dirs whose sessions are listed beside those of our own (ID-1).

Owns reading `ways`' list of targets, as far as listing needs it: which dirs are enabled and which are not. Reads only,
afresh each time, and only where sessions are listed: neither the drain nor the server's start comes here. A list that
is missing names nobody; one that can not be read is said and names nobody either. Must not know what else `ways` keeps
there, nor any session.
"""

from __future__ import annotations

import os

from agent_ways.base import paths
from agent_ways.base.errors import StateError
from agent_ways.base.records import read_record
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Final

FILE = "targets.json"
FORMAT = 1
"""The newest version of the list that is understood here."""


class Targets(Value):
    """The dirs of enabled targets and of disabled ones, in the list's order; `note` says what could not be read."""

    __slots__ = ("disabled", "enabled", "note")

    def __init__(self, enabled: tuple[str, ...] = (), disabled: tuple[str, ...] = (), note: str = "") -> None:
        self.enabled: Final = enabled
        self.disabled: Final = disabled
        self.note: Final = note


def read(env: Mapping[str, str]) -> Targets:
    """The targets that `ways` keeps for this person."""
    try:
        record = read_record(os.path.join(paths.state_root(env), FILE), FORMAT)
    except StateError as error:
        return Targets(note=f"sessions of other targets are not listed: {error.message}")
    found: dict[str, bool] = {}
    listed = record.get("targets") if record else None
    for one in listed if isinstance(listed, list) else []:
        path = one.get("config_dir") if isinstance(one, dict) else None
        if isinstance(path, str) and os.path.isabs(path) and "\0" not in path:
            found[os.path.normpath(path)] = one.get("enabled") is not False
    return Targets(
        tuple(path for path, enabled in found.items() if enabled),
        tuple(path for path, enabled in found.items() if not enabled),
    )


def looked_in(targets: Targets, own: str, others: Iterable[str]) -> tuple[str, ...]:
    """The config dirs whose sessions are listed: our `own`, `others` but for disabled ones, and the enabled ones.

    Each folder once, by whatever names it is known.
    """
    off = {os.path.realpath(path) for path in targets.disabled} - {os.path.realpath(own)}
    found: dict[str, str] = {}
    for path in (own, *others, *targets.enabled):
        found.setdefault(os.path.realpath(path), path)
    return tuple(path for real, path in found.items() if real not in off)
