"""The segment for Claude Code's status line: keepalive, window, cache, unread mail.

Owns its words. Pure: what the client wrote on standard input, our record and the unread count in, a short text out.
Opens no transcript, reads no config, decides nothing (KA-2): the cache's state is the client's own `prompt_cache`.
"""

from __future__ import annotations

import time

from agent_ways.keepalive.words import spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_ways.keepalive.record import Record

BETWEEN = " · "


def local_time(ms: int) -> str:
    """Hours and minutes by the clock on the wall."""
    return time.strftime("%H:%M", time.localtime(ms // 1000))


def segment(
    client: object, record: Record | None, unread: int, now_ms: int, clock_time: Callable[[int], str] = local_time
) -> str:
    """One short line; empty where there is nothing to say. `client` is the parsed standard input, of any shape."""
    parts = [_cache(client, now_ms, clock_time), _keepalive(record, now_ms), f"{unread} unread" if unread > 0 else ""]
    return BETWEEN.join(part for part in parts if part)


def session_in(client: object) -> str:
    """The session's id in the standard input, empty where there is none."""
    found = client.get("session_id") if isinstance(client, dict) else None
    return found if isinstance(found, str) else ""


def _cache(client: object, now_ms: int, clock_time: Callable[[int], str]) -> str:
    found = client.get("prompt_cache") if isinstance(client, dict) else None
    if not isinstance(found, dict):
        return ""
    expires = found.get("expires_at")
    if not isinstance(expires, int | float) or isinstance(expires, bool) or not 0 < expires < 1e11:
        return "cache cold" if found.get("warm") is False else ""
    if expires * 1000 <= now_ms or found.get("warm") is False:
        return "cache cold"
    return f"cache warm until {clock_time(int(expires * 1000))}"


def _keepalive(record: Record | None, now_ms: int) -> str:
    if record is None or not record.armed:
        return ""
    if record.wrap is not None:
        return "keepalive: wrapped"
    if record.stopped:
        return "keepalive: stopped, cache was cold"
    closes = record.closes_ms
    if closes is None:
        return "keepalive armed"
    if closes <= now_ms:
        return "keepalive: window closed"
    return f"keepalive {spell(max(closes - now_ms, 60_000) // 60_000 * 60_000)}"
