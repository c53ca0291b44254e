"""`ways keepalive`: armed, disarmed, looked at, accounted for.

Owns the four verbs. The user config is edited by `userconfig.py`, what is due is the judge's to say, what it cost the
report's to count. Pushes nothing and writes no record.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

from agent_ways.attend import bus as buses
from agent_ways.attend import perceiver, reach
from agent_ways.base import config, paths
from agent_ways.base.errors import state_error
from agent_ways.base.records import FILE_MODE
from agent_ways.claude import registration
from agent_ways.claude.cache import FIVE_MINUTES
from agent_ways.claude.identity import Identity
from agent_ways.claude.reach import NO, YES
from agent_ways.keepalive import judge, situation
from agent_ways.keepalive.look import SessionEyes, read_clock
from agent_ways.keepalive.report import Line as Counted
from agent_ways.keepalive.report import local_day, read_report, total
from agent_ways.keepalive.situation import CHANNEL, INBOX_SOCKET, LOOP, Conduits
from agent_ways.keepalive.status import status_now
from agent_ways.keepalive.store import Store
from agent_ways.keepalive.words import spell
from agent_ways.ways import sessions, tables, userconfig
from agent_ways.ways.commands import reconcile
from agent_ways.ways.commands.config import file_of
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.userconfig import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_ways.attend.bus import Bus
    from agent_ways.base.process import Owner
    from agent_ways.claude.records import SessionRecord
    from agent_ways.keepalive.situation import Settings
    from agent_ways.ways.sessions import Session
    from agent_ways.ways.world import World

ARMED = "keepalive.armed"
DAYS = 14
"""How many days the report goes back, today included, where nothing else is asked for."""


def changed_file(env: Mapping[str, str]) -> str:
    """What running servers watch, to read the user config again at once."""
    return os.path.join(paths.state_root(env), "config-changed")


def on(world: World, window: str | None = None) -> Report:
    """`ways keepalive on [--window 8h]`."""
    path = file_of(world)
    # Both are judged before either is written.
    wanted = None if window is None else userconfig.parse(WINDOW, window)
    make_folder = Ledger(world.layout).make_folder
    edits = [userconfig.edit(path, WINDOW, wanted, make_folder)] if wanted is not None else []
    edits.append(userconfig.edit(path, ARMED, True, make_folder))
    _tell(world)
    told = _config(world)
    settings = situation.settings(told)
    text = f"armed, until {spell(settings.window_ms)} after you last typed in a session"
    default = config.Config().keepalive_window
    if window is None and told.keepalive_window != default:
        text += f" (as set before; ways config unset {WINDOW} for {spell(int(default * 1000))})"
    lines = [Line(Status.DONE if any(edits) else Status.OK, "keepalive", text)]
    lines += _notes(told, path)
    note = _five_minutes(settings)
    if note:
        lines.append(Line(Status.NOTE, "five-minute caches", note))
    lines.append(Line(Status.OK, "what now", "running sessions obey at once: ways keepalive status shows them"))
    return Report("keepalive on", tuple(lines), data=_told(told, path))


def off(world: World) -> Report:
    """`ways keepalive off`."""
    path = file_of(world)
    done = _config(world).keepalive_armed and userconfig.edit(path, ARMED, False)
    _tell(world)
    told = _config(world)
    line = Line(Status.DONE if done else Status.OK, "keepalive", "off: no session is pinged or wrapped")
    return Report("keepalive off", (line, *_notes(told, path)), data=_told(told, path))


def status(world: World) -> Report:
    """`ways keepalive status`: every live session, by the judge that acts."""
    path, told = file_of(world), _config(world)
    settings = situation.settings(told)
    config_dirs = _config_dirs(world)
    bus = buses.open_bus(world.env, world.table, config_dirs)
    found = []
    for session in sessions.live(world, config_dirs):
        if session.record is None:
            continue  # of another machine or namespace: its transcript is not to be seen from here
        seen = _seen(bus, session, session.record)
        head = {"name": session.name, "project": session.project or None, "status": session.status}
        found.append({**head, **status_now(seen, Store(paths.state_root(world.env), bus.owner), settings)})
    notes = [note.removeprefix("config: ") for note in told.notes]
    data = {**_told(told, path), "sessions": found, "notes": notes}
    first = f"armed, until {spell(settings.window_ms)} after you last typed" if settings.armed else "off"
    text = [f"keepalive: {first}  ({path})", *(f"config: {note}" for note in notes)]
    text += ["", _status_table(found)] if found else ["", "No session is live."]
    for note in dict.fromkeys(note for one in found for note in one["notes"]):
        names = [one["session"][:8] for one in found if note in one["notes"]]
        text += ["", f"{', '.join(names)}: {note}"]
    return Report("keepalive status", (), quiet="\n".join(text), bare=True, data=data)


def report(world: World, days: int = DAYS, now: Callable[[], float] = time.time) -> Report:
    """`ways keepalive report [--days 14]`: per session and day, from transcripts."""
    since_ms = _midnight(now(), days)
    counted = [line for one in _config_dirs(world) for line in read_report(one, registration.NAME, since_ms)]
    counted.sort(key=lambda line: (line.day, line.session))
    whole = total(counted)
    data = {
        "since": local_day(since_ms),
        "days": [line.to_json() for line in counted],
        "total": {key: value for key, value in whole.to_json().items() if key not in ("session", "day")},
    }
    span = f"since {local_day(since_ms)}"
    if not counted:
        text = f"No cold start, ping or wrap in any transcript {span}."
        return Report("keepalive report", (), quiet=text, bare=True, data=data)
    parts = [
        f"Keepalive {span}. Tokens are in units of fresh input: a read counts a tenth, a write 1.25 or 2.",
        _report_table(counted, whole),
        tables.chart(_by_day(counted), shutil.get_terminal_size().columns, sys.stdout.encoding or "ascii"),
        _verdict(whole),
    ]
    return Report("keepalive report", (), quiet="\n\n".join(filter(None, parts)), bare=True, data=data)


# -- the config ---------------------------------------------------------------------------------------------------


def _config(world: World) -> config.Config:
    return config.ConfigFile(file_of(world)).now()


def _told(told: config.Config, path: str) -> dict[str, Any]:
    return {"armed": told.keepalive_armed, "window_s": told.keepalive_window, "file": path}


def _notes(told: config.Config, path: str) -> list[Line]:
    return [Line(Status.NOTE, "config", note.removeprefix("config: "), f"look at {path}") for note in told.notes]


def _tell(world: World) -> None:
    """Have running servers read the config again."""
    path = changed_file(world.env)
    Ledger(world.layout).make_folder(os.path.dirname(path))
    try:
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, FILE_MODE)):
            pass
    except OSError as error:
        raise state_error("write", path, error) from None


def _five_minutes(settings: Settings) -> str:
    """What to know before the shorter cache surprises a person (KA-5)."""
    note, known, _ = judge.note(settings, FIVE_MINUTES).partition(", when they have cost")
    note = note.replace("This session's cache is", "with an API key, as a rule, a cache is", 1)
    return f"{note}, and normally no wrap is sent" if known else ""


# -- status -------------------------------------------------------------------------------------------------------


def _config_dirs(world: World) -> tuple[str, ...]:
    known = reconcile.meant(world, world.targets())
    return tuple(dict.fromkeys(each.target.config_dir for each in known if each.enabled))


def _seen(bus: Bus, session: Session, record: SessionRecord) -> SessionEyes:
    """The eyes of whoever keeps that session warm, as far as they can be had from outside of it."""
    conduits = _usable(session.conduits)
    owners = perceiver.servers(bus, record.session)
    owner: Owner = owners[0] if owners else bus.owner
    return SessionEyes(
        identify=lambda: Identity(config_dir=record.config_dir, session=record.session, source="record", record=record),
        conduits=lambda _: conduits,
        clock=lambda: read_clock(boot=bus.owner.boot),
        owner=owner,
        server=registration.NAME,
        thorough=True,
    )


def _usable(found: reach.Conduits) -> Conduits:
    """The conduits that keepalive may use: those that the server pushes through, else the sensor loop."""
    usable, reasons = [], []
    for name in (CHANNEL, INBOX_SOCKET):
        if found[name]["state"] == NO:
            reasons.append(f"{name}: {found[name]['reason']}")
        else:
            usable.append(name)
    if not usable and found[LOOP]["state"] == YES:
        usable.append(LOOP)
    return Conduits(tuple(usable), "; ".join(reasons))


def _status_table(found: list[dict[str, Any]]) -> str:
    rows = [("session", "project", "cache", "window", "pings", "next")]
    for one in found:
        project = os.path.basename(one["project"] or "") or "-"
        rows.append((one["session"][:8], project, _cache(one), _window(one), _pings(one), _next(one)))
    lines = tables.table(rows).split("\n")
    said = [lines[0]]
    for line, one in zip(lines[1:], found, strict=True):
        said += [line, f"          {one['next']['reason']}"]
        if one["conduit"]["reason"]:
            said.append(f"          {one['conduit']['reason']}")
    return "\n".join(said)


def _cache(one: dict[str, Any]) -> str:
    cache = one["cache"]
    if cache["tier"] is None or cache["age_s"] is None:
        return "unknown"
    left = cache["expires_in_s"]
    return f"{cache['tier']}, {'warm for ' + _spell(left) if left else 'cold'}"


def _window(one: dict[str, Any]) -> str:
    window = one["window"]
    if not one["armed"]:
        return "off"
    if window["closes_in_s"] is None:
        return "not open yet"
    wrapped = one["wrap"]["state"]
    if wrapped != "none":
        return f"wrapped ({wrapped})"
    return f"{_spell(window['closes_in_s'])} left" if window["open"] else "closed"


def _pings(one: dict[str, Any]) -> str:
    pings = one["pings"]
    verdict = one["readback"]["verdict"]
    return f"{pings['sent']}{', ' + verdict if verdict else ''}"


def _next(one: dict[str, Any]) -> str:
    step = one["next"]
    if step["then"] and step["in_s"] is not None:
        return f"{step['then']} in {_spell(step['in_s'])}"
    return str(step["then"] or step["action"])


def _spell(seconds: float) -> str:
    return spell(int(seconds * 1000))


# -- report -------------------------------------------------------------------------------------------------------


def _midnight(now: float, days: int) -> int:
    """When the day `days` - 1 before today began, by the calendar on the wall; ms."""
    today = time.localtime(now)
    began = (today.tm_year, today.tm_mon, today.tm_mday - (days - 1), 0, 0, 0, 0, 0, -1)
    return int(time.mktime(began) * 1000)


def _report_table(counted: list[Counted], whole: Counted) -> str:
    head = ("day", "session", "cold starts", "tokens", "pings", "wraps", "tokens", "avoided", "tokens", "net")
    rows = [
        (
            line.day or "total",
            line.session[:8],
            str(line.cold_starts),
            tables.short(line.cold_tokens),
            str(line.pings),
            str(line.wraps),
            tables.short(line.ping_tokens + line.wrap_tokens),
            str(line.avoided),
            tables.short(line.avoided_tokens),
            tables.short(line.net_tokens),
        )
        for line in (*counted, whole)
    ]
    return tables.table([head, *rows], numbers=range(2, 10))


def _by_day(counted: list[Counted]) -> list[tuple[str, list[tuple[str, int]]]]:
    days: dict[str, list[Counted]] = {}
    for line in counted:
        days.setdefault(line.day, []).append(line)
    groups = []
    for day, lines in days.items():
        sums = total(lines)
        bars = [
            ("paid for cold starts", sums.cold_tokens),
            ("spent by keepalive", sums.ping_tokens + sums.wrap_tokens),
            ("saved by keepalive", sums.avoided_tokens),
        ]
        groups.append((day, bars))
    return groups


def _verdict(whole: Counted) -> str:
    if not whole.pings and not whole.wraps:
        return f"Keepalive sent nothing. Cold starts cost {tables.short(whole.cold_tokens)} tokens more than warm ones."
    word = "saved" if whole.net_tokens >= 0 else "cost"
    return f"Keepalive {word} {tables.short(abs(whole.net_tokens))} tokens in all."
