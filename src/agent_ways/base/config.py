"""The user config's reader: `config.toml`, tolerant, for servers and verbs that must work whatever it holds.

Owns the settings that running code obeys, their defaults, and what is said of a value that makes no sense. Must
not write the file: `ways config` edits it, with its comments kept. A setting that is broken falls back alone; where
the file is no TOML, each of its tables is tried by itself.

Reading is lazy (tomllib costs 17 ms): never before initialize, never in the drain or the status line.
"""

from __future__ import annotations

import os
import stat

from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

FILE = "config.toml"
HOUR = 3600.0
LIMIT_HOUR, LIMIT_FIVE_MINUTES = 2.0, 1.25
"""What one cold cache write costs on each tier, in units of fresh input: pings never cost more (KA-5)."""
LONGEST = 64 << 10
"""Bytes above which a file is no config of a person's."""
LONGEST_LINE = 4_096
"""Characters of a line above which it is passed over: a key of very many parts takes tomllib quadratic time."""
MOST = 100.0
"""The largest number that a limit may be."""


class Config(Value):
    """What the user config says, defaults where it says nothing. `notes` names each thing that was not understood.

    `keepalive_window` and `attend_retention` are seconds. `keepalive_limit_hour` and `keepalive_limit_five_minutes` are
    what pings may cost on the two cache tiers, in units of the context as fresh input (KA-5). `conduits` are those
    that may be used.
    """

    __slots__ = (
        "attend_retention",
        "attend_wake",
        "conduits",
        "keepalive_armed",
        "keepalive_limit_five_minutes",
        "keepalive_limit_hour",
        "keepalive_window",
        "notes",
    )

    def __init__(
        self,
        *,
        keepalive_armed: bool = False,
        keepalive_window: float = 8 * HOUR,
        keepalive_limit_hour: float = LIMIT_HOUR,
        keepalive_limit_five_minutes: float = LIMIT_FIVE_MINUTES,
        attend_wake: str = "addressed",
        attend_retention: float = 30 * 24 * HOUR,
        conduits: tuple[str, ...] = ("channel", "inbox_socket"),
        notes: tuple[str, ...] = (),
    ) -> None:
        self.keepalive_armed: Final = keepalive_armed
        self.keepalive_window: Final = keepalive_window
        self.keepalive_limit_hour: Final = keepalive_limit_hour
        self.keepalive_limit_five_minutes: Final = keepalive_limit_five_minutes
        self.attend_wake: Final = attend_wake
        self.attend_retention: Final = attend_retention
        self.conduits: Final = conduits
        self.notes: Final = notes


class ConfigFile:
    """The file at `path`, read again when it was written; a file that is not there is an empty one."""

    __slots__ = ("_config", "_stamp", "path")

    def __init__(self, path: str) -> None:
        self.path: Final = path
        self._stamp: tuple[int, int, int] | None = None
        self._config = Config()

    def now(self) -> Config:
        """What it says now."""
        try:
            found = os.stat(self.path)
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp != self._stamp:
                self._config = _read(self.path, found)
                self._stamp = stamp
        except FileNotFoundError:
            self._config, self._stamp = Config(), None
        except OSError as error:
            reason = error.strerror or str(error)
            self._config, self._stamp = Config(notes=(f"{self.path} can not be read: {reason}",)), None
        return self._config


def _read(path: str, found: os.stat_result) -> Config:
    """The config in a regular file of a sane size; whatever else has its name is named and not waited for."""
    if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST:
        return Config(notes=(f"{path} is no file that a person writes; defaults are used",))
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse(file.read(LONGEST))


def parse(text: str) -> Config:
    """The config in a file's text. Never raises."""
    raw, notes = tables(text)
    told = _Told(raw, notes)
    return Config(
        keepalive_armed=told.flag("keepalive", "armed", False),
        keepalive_window=told.duration("keepalive", "window", 8 * HOUR),
        keepalive_limit_hour=told.number("keepalive", "limit_hour", LIMIT_HOUR),
        keepalive_limit_five_minutes=told.number("keepalive", "limit_five_minutes", LIMIT_FIVE_MINUTES),
        attend_wake=told.choice("attend", "wake", ("addressed", "never")),
        attend_retention=told.duration("attend", "retention", 30 * 24 * HOUR),
        conduits=tuple(name for name in ("channel", "inbox_socket") if told.flag("conduits", name, True)),
        notes=tuple(notes),
    )


def duration(text: str) -> float | None:
    """Seconds in `8h`, `90m`, `2h30m`, `45s`, `7d`; None for anything else, zero and nothing included."""
    units = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
    total, number, last = 0, "", 0
    for character in text.strip():
        if character.isascii() and character.isdigit():
            number += character
        elif character in units and number and (not last or units[character] < last) and len(number) < 10:
            last = units[character]
            total += int(number) * last
            number = ""
        else:
            return None
    return float(total) if total and not number else None


class _Told:
    """The raw tables, and the notes on what in them makes no sense."""

    __slots__ = ("_notes", "_raw")

    def __init__(self, raw: dict[str, Any], notes: list[str]) -> None:
        self._raw: Final = raw
        self._notes: Final = notes

    def _value(self, table: str, key: str) -> Any:
        found = self._raw.get(table)
        if found is not None and not isinstance(found, dict):
            self._note(f"{table} is no table: write [{table}] above its settings")
            self._raw[table] = {}
            return None
        return None if found is None else found.get(key)

    def _note(self, what: str) -> None:
        self._notes.append(f"config: {what}")

    def flag(self, table: str, key: str, default: bool) -> bool:
        found = self._value(table, key)
        if found is None or isinstance(found, bool):
            return default if found is None else found
        self._note(f"{table}.{key} is true or false, not {_shown(found)}; {str(default).lower()} is used")
        return default

    def duration(self, table: str, key: str, default: float) -> float:
        found = self._value(table, key)
        seconds = duration(found) if isinstance(found, str) else None
        if found is not None and seconds is None:
            self._note(f'{table}.{key} is a time like "8h", "90m" or "2h30m", not {_shown(found)}; the default is used')
        return default if seconds is None else seconds

    def number(self, table: str, key: str, default: float) -> float:
        found = self._value(table, key)
        if found is None:
            return default
        if type(found) in (int, float) and 0 <= found <= MOST:
            return float(found)
        self._note(f"{table}.{key} is a number from 0 to {MOST:g}, not {_shown(found)}; {default:g} is used")
        return default

    def choice(self, table: str, key: str, choices: tuple[str, ...]) -> str:
        found = self._value(table, key)
        if found is not None and found not in choices:
            self._note(f"{table}.{key} is one of {', '.join(choices)}, not {_shown(found)}; {choices[0]} is used")
        return found if found in choices else choices[0]


def _shown(value: object) -> str:
    return ascii(value)[:60]


def tables(text: str) -> tuple[dict[str, Any], list[str]]:
    """The tables of a file's text as far as they can be read, and what is said where it is no TOML. Never raises."""
    import tomllib

    text, notes = _short_lines(text.removeprefix("\ufeff"))
    try:
        return tomllib.loads(text), notes
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is one
        notes.append(f"config: not TOML: {str(error)[:200]}; what could be read by itself is used")
    raw: dict[str, Any] = {}
    for chunk in _chunks(text):
        try:
            found = tomllib.loads(chunk)
        except (ValueError, RecursionError):
            continue
        for name, value in found.items():
            if isinstance(value, dict) and isinstance(raw.get(name), dict):
                raw[name].update(value)  # not a new one for each part: a table may come in a thousand
            else:
                raw[name] = value
    return raw, notes


def _short_lines(text: str) -> tuple[str, list[str]]:
    """The text without its endless lines, and a note on each."""
    if len(text) <= LONGEST_LINE:
        return text, []
    lines = text.split("\n")
    long = [number for number, line in enumerate(lines, 1) if len(line) > LONGEST_LINE]
    kept = ["" if len(line) > LONGEST_LINE else line for line in lines]
    return "\n".join(kept) if long else text, [
        f"config: line {number} is far too long; it is passed over" for number in long
    ]


def _chunks(text: str) -> list[str]:
    """The text cut before each line that opens a table."""
    chunks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            chunks.append([])
        chunks[-1].append(line)
    return ["\n".join(chunk) for chunk in chunks]
