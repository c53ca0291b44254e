"""Waits that are woken by a change in a folder, not by a clock.

Owns one function. Must not know what is waited for.
"""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, TypeVar

from agent_ways.base.watch import file_watch

if TYPE_CHECKING:
    from collections.abc import Callable

Found = TypeVar("Found")


def until(folder: str, look: Callable[[], Found], *, timeout: float = 10.0) -> Found:
    """What `look` returns once it is true, looked at again after every change in `folder` (made if it is missing)."""
    os.makedirs(folder, exist_ok=True)
    watch = file_watch()
    assert watch is not None
    assert watch.add(folder)
    end = time.monotonic() + timeout
    try:
        while not (found := look()):
            left = end - time.monotonic()
            assert left > 0, f"nothing came in {folder}: {sorted(os.listdir(folder))}"
            select.select([watch.fd], [], [], left)
            watch.drain()
    finally:
        watch.close()
    return found
