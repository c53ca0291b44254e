"""Signal ids: sortable by time, unique across hosts, never used twice.

Owns their form and the high-water mark that keeps them in order when the wall clock steps back. An id is twelve
characters of time (microseconds since 1970) and eight of chance (40 bits), in one lower-case alphabet without
look-alikes: `06hm3k2v9wqa-7c4n0zpd`. Its order as text is the order of signals (ATT-1, ATT-11).
Must not know signals. The time in an id is for order; what the wall clock said stands in the signal.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from agent_ways.attend import disk, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_ways.attend.bus import Bus

_TIME, _CHANCE = 12, 8
LENGTH = _TIME + 1 + _CHANCE
"""Characters of an id."""
_CHARACTERS = frozenset("0123456789abcdefghjkmnpqrstvwxyz")
_DIGITS = 20
_PATIENCE = 0.5
"""Seconds that a stopped process may keep us from raising the mark; sending goes on without, ids stay unique."""


def make(microseconds: int, chance: bytes) -> str:
    """The id of that time; `chance` is five random bytes."""
    return f"{layout.spell(microseconds, _TIME)}-{layout.spell(int.from_bytes(chance, 'big'), _CHANCE)}"


def is_id(text: object) -> bool:
    """Whether `text` has the form of an id; safe as a file's name then."""
    return (
        isinstance(text, str)
        and len(text) == LENGTH
        and text[_TIME] == "-"
        and _CHARACTERS.issuperset(text[:_TIME])
        and _CHARACTERS.issuperset(text[_TIME + 1 :])
    )


def microseconds(signal_id: str) -> int:
    """The time in an id."""
    return layout.unspell(signal_id[:_TIME])


def day(signal_id: str) -> str:
    """The UTC day in an id, `2026-11-30`: the folder that its signal lies in."""
    return day_of(microseconds(signal_id) // 1_000_000)


def day_of(seconds: float) -> str:
    """A UTC day by its seconds since 1970; beyond the year 9999 the last day of it."""
    return time.strftime("%Y-%m-%d", time.gmtime(min(max(0, int(seconds)), 253402300799)))


def short(signal_id: str) -> str:
    """The part of an id that a person may type instead of the whole."""
    return signal_id[_TIME + 1 :]


def next_id(bus: Bus, chance: Callable[[int], bytes] = os.urandom) -> str:
    """A new id, later than every id that was made on this bus before, whatever the wall clock says. Writes nothing."""
    return make(max(int(bus.clock() * 1_000_000), high_water(bus) + 1), chance(5))


def high_water(bus: Bus) -> int:
    """The latest time of an id so far, 0 where there is none; a damaged mark counts as none."""
    try:
        fd = os.open(layout.high_water(bus.root), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        return _mark(fd)
    except OSError:
        return 0
    finally:
        os.close(fd)


def raise_high_water(bus: Bus, signal_id: str) -> None:
    """Keep later ids behind `signal_id`; in place and of fixed width, so it needs no space after the first time.

    Raises OSError where the mark can not be written.
    """
    path = layout.high_water(bus.root)
    fd = disk.open_private(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
    try:
        _lock_briefly(fd, bus.monotonic)
        wanted = microseconds(signal_id)
        if wanted > _mark(fd):
            os.pwrite(fd, b"%0*d\n" % (_DIGITS, wanted), 0)
    finally:
        os.close(fd)


def _lock_briefly(fd: int, monotonic: Callable[[], float]) -> None:
    end = monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR) or monotonic() >= end:
                return
            time.sleep(0.002)
        else:
            return


def _mark(fd: int) -> int:
    data = os.pread(fd, _DIGITS + 1, 0)
    whole = len(data) == _DIGITS + 1 and data[:-1].isdigit() and data[-1:] == b"\n"
    return int(data) if whole and int(data) < 1 << 5 * _TIME else 0
