"""Links of ours outside the data dir: on PATH, and in config dirs.

Owns the rule of what is ours: a symbolic link whose text leads to our versions, or is what we noted when we made it.
Everything else is a person's and is never touched. Must not know which links there should be.
"""

from __future__ import annotations

import os
from enum import Enum

from agent_ways.base.errors import RefusedError, state_error
from agent_ways.ways.layout import flip_link


class Link(Enum):
    """What stands where a link of ours belongs."""

    ABSENT = "absent"
    CURRENT = "current"
    OURS = "ours"
    """Of ours, and leads elsewhere."""
    FOREIGN = "foreign"


def judge(path: str, target: str, data: str, noted: str = "") -> Link:
    """What stands at `path`, where a link to `target` belongs; `data` is our data dir, `noted` what ours led to."""
    try:
        text = os.readlink(path)
    except FileNotFoundError:
        return Link.ABSENT
    except OSError:
        return Link.FOREIGN
    if text == target:
        return Link.CURRENT
    ours = (os.path.join(data, "current", ""), os.path.join(data, "versions", ""))
    return Link.OURS if text == noted or text.startswith(ours) else Link.FOREIGN


def refuse_foreign(path: str, target: str, data: str, hint: str) -> None:
    """Raise `RefusedError` where something of a person's stands at `path`."""
    if judge(path, target, data) is Link.FOREIGN:
        raise RefusedError(f"{path} is there already and is not ours", hint)


def put(path: str, target: str, data: str, noted: str = "") -> bool:
    """Make the link; False where it was right already. Its folder must be there. Never replaces what is not ours."""
    found = judge(path, target, data, noted)
    if found is Link.CURRENT:
        return False
    if found is Link.OURS:
        flip_link(path, target)
        return True
    try:
        os.symlink(target, path)  # fails where something came to be there meanwhile
    except FileExistsError:
        raise RefusedError(f"{path} is there already and is not ours", "Move it aside, then run it again.") from None
    except OSError as error:
        raise state_error("link", path, error) from None
    return True


def take(path: str, target: str, data: str, noted: str = "") -> bool:
    """Take a link of ours away; False where there is none."""
    if judge(path, target, data, noted) not in (Link.CURRENT, Link.OURS):
        return False
    try:
        os.unlink(path)
    except OSError as error:
        raise state_error("remove", path, error) from None
    return True
