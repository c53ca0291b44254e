"""Bounded waits: woken by file descriptors where something can wake them, looking again often where nothing can.

Must not know what is waited for.
"""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

# Seconds. Generous: a loaded two-core machine takes 10 s for what takes 1 s; a wait that succeeds ends at once.
PATIENCE = 45.0

# Milliseconds between two looks at something that can not wake us (a file that another process writes).
_LOOK_AGAIN_MS = 40


class TooLongError(AssertionError):
    """What was waited for did not come; the message says what, and shows what was there instead."""


def until(
    what: str,
    look: Callable[[], T | None],
    *,
    patience: float = PATIENCE,
    wake: Iterable[int] = (),
    instead: Callable[[], str] | None = None,
) -> T:
    """The first truthy answer of `look`, which is asked again whenever a descriptor of `wake` has data, and often.

    Data on a descriptor of `wake` is read and thrown away. Raises TooLongError after `patience` seconds, with
    `instead()` in its words.
    """
    deadline = time.monotonic() + patience
    poll = select.poll()
    for fd in wake:
        poll.register(fd, select.POLLIN)
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            rest = f"\n{instead()}" if instead else ""
            raise TooLongError(f"waited {patience:.0f} s for {what}{rest}")
        for fd, _ in poll.poll(_LOOK_AGAIN_MS):
            _drain(fd)


def _drain(fd: int) -> None:
    try:
        os.read(fd, 65536)
    except BlockingIOError:
        return
