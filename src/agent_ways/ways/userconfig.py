"""The user config as a person edits it: every setting with its kind, default and meaning, and edits that keep comments.

Owns the models, which say no to what makes no sense; what runs reads by the tolerant reader of `base/config.py`, and a
test holds the two together. Must not print.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tomlkit
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from tomlkit.exceptions import TOMLKitError

from agent_ways.base.config import LIMIT_FIVE_MINUTES, LIMIT_HOUR, MOST, duration
from agent_ways.base.errors import ConfigError, RefusedError, UsageError, state_error
from agent_ways.base.records import FILE_MODE, make_dirs, write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.fields import FieldInfo


def _duration(text: str) -> str:
    if duration(text) is None:
        raise ValueError('is a time like "8h", "90m" or "2h30m"')
    return text


WINDOW = "keepalive.window"
SHORTEST_WINDOW, LONGEST_WINDOW = 600.0, 30 * 86_400.0
"""Seconds: what the command line takes. A file written by hand may say anything."""

Duration = Annotated[str, AfterValidator(_duration)]
Limit = Annotated[float, Field(ge=0, le=MOST)]


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class Keepalive(_Section):
    """Keeping an idle session's prompt cache warm."""

    armed: bool = Field(default=False, description="whether idle sessions are kept warm at all")
    window: Duration = Field(default="8h", description="how long after you last typed")
    limit_hour: Limit = Field(
        default=LIMIT_HOUR, description="what pings may cost on the hour tier, in units of the context as fresh input"
    )
    limit_five_minutes: Limit = Field(default=LIMIT_FIVE_MINUTES, description="the same on the five-minute tier")


class Attend(_Section):
    """Messages between sessions."""

    wake: Literal["addressed", "never"] = Field(
        default="addressed", description="what may start a turn in an idle session"
    )
    retention: Duration = Field(default="30d", description="how long messages are kept")


class Conduits(_Section):
    """The ways by which an event may be pushed into a session."""

    channel: bool = Field(default=True, description="the channel, where the session was launched with the flag")
    inbox_socket: bool = Field(default=True, description="the client's inbox socket")


class UserConfig(_Section):
    """The whole file."""

    keepalive: Keepalive = Keepalive()
    attend: Attend = Attend()
    conduits: Conduits = Conduits()


SECTIONS: dict[str, type[_Section]] = {"keepalive": Keepalive, "attend": Attend, "conduits": Conduits}


@dataclass(frozen=True)
class Setting:
    """One setting: its name, kind and meaning; the value in force, where it comes from, and what is wrong there."""

    name: str
    kind: str
    help: str
    default: Any
    value: Any
    origin: str
    """`default`, or the file with its line."""
    trouble: str = ""


def settings(path: str) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
    """Every setting as it is in force with the file at `path`, and what else in it is not understood.

    Raises `StateError` where it can not be read; one that is not TOML is told, and its tables are read by themselves.
    """
    from agent_ways.base import config

    text = _read(path)
    raw, notes = config.tables(text)
    found = tuple(
        _setting(section, key, field, raw.get(section), _Lines(path, text))
        for section, model in SECTIONS.items()
        for key, field in model.model_fields.items()
    )
    return found, (*notes, *_strangers(raw))


def find(name: str, found: tuple[Setting, ...]) -> Setting:
    """The setting of that name; raises `UsageError` naming those there are."""
    for setting in found:
        if setting.name == name:
            return setting
    raise _unknown(name, [setting.name for setting in found])


def _unknown(name: str, names: list[str]) -> UsageError:
    near = difflib.get_close_matches(name[:100], names, n=2, cutoff=0.75)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}"
    return UsageError(f"there is no setting {name}", hint)


def parse(name: str, word: str) -> Any:
    """The value that a word of the command line means for a setting; raises `ConfigError`."""
    model, key = _model(name)
    field = model.model_fields[key]
    value: Any = {"true": True, "on": True, "false": False, "off": False}.get(word, word)
    if field.annotation is float:
        value = _number(word)
    elif field.annotation is not bool:
        value = word
    trouble = _trouble(field, value)
    if trouble:
        raise ConfigError(f"{name} {trouble}, not {word!r}")
    if name == WINDOW and not SHORTEST_WINDOW <= (duration(word) or 0) <= LONGEST_WINDOW:
        raise ConfigError(
            f"{name} is from 10m to 30d, not {word!r}",
            "A shorter one closes before there is anything to keep warm; for a longer one there is no use.",
        )
    return value


def _number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


def edit(path: str, name: str, value: Any | None, make_folder: Callable[[str], None] = make_dirs) -> bool:
    """Write a setting, or take it out for None; False where the file says so already. Comments and order stay.

    A table that holds nothing any more goes, unless a comment stands in it.

    Raises `ConfigError` where the file is not TOML, `RefusedError` where it is read-only (another program's).
    """
    model, key = _model(name)
    section = name.partition(".")[0]
    if value is not None and (trouble := _trouble(model.model_fields[key], value)):
        raise ConfigError(f"{name} {trouble}, not {value!r}")
    real = os.path.realpath(path)
    before = _read(path)
    try:
        document = tomlkit.parse(before)
        table: Any = document.get(section)
        if table is None:
            if value is None:
                return False
            document[section] = table = tomlkit.table()
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: {section} is no table", f"Write [{section}] above its settings.")
        if value is None:
            table.pop(key, None)
            held: Any = document[section]
            if not table and not (held.as_string() if hasattr(held, "as_string") else "#").strip():
                del document[section]
        elif table.get(key) != value or type(table.get(key)) is not type(tomlkit.item(value)):
            table[key] = value
        after = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ConfigError(f"{path} is not TOML: {error}", "Mend that line, then run it again.") from None
    if after == before:
        return False
    mode = os.stat(real).st_mode & 0o777 if os.path.exists(real) else FILE_MODE
    if not mode & 0o222:
        raise RefusedError(f"{path} is read-only, so another program manages it", f"Change {name} where that has it.")
    make_folder(os.path.dirname(real))
    write_bytes(real, after.encode("utf-8"), mode)
    return True


def shown(value: Any) -> str:
    """A value as it stands in the file."""
    return str(tomlkit.item(value).as_string())


def _model(name: str) -> tuple[type[_Section], str]:
    section, _, key = name.partition(".")
    model = SECTIONS.get(section)
    if model is None or key not in model.model_fields:
        names = [f"{section}.{key}" for section, model in SECTIONS.items() for key in model.model_fields]
        raise _unknown(name, names)
    return model, key


def _setting(section: str, key: str, field: FieldInfo, table: Any, lines: _Lines) -> Setting:
    name = f"{section}.{key}"
    kind = _kind(field)
    value, origin, trouble = field.default, "default", ""
    if isinstance(table, dict) and key in table:
        trouble = _trouble(field, table[key])
        origin = lines.of(section, key) if not trouble else "default"
        if trouble:
            trouble = f"{lines.of(section, key)} {trouble}, not {ascii(table[key])[:60]}; the default is used"
        else:
            value = table[key]
    return Setting(name, kind, field.description or "", field.default, value, origin, trouble)


def _kind(field: FieldInfo) -> str:
    if field.annotation is bool:
        return "true or false"
    if field.annotation is float:
        return "a number"
    return "a time" if field.metadata else " or ".join(getattr(field.annotation, "__args__", ()))


def _trouble(field: FieldInfo, value: Any) -> str:
    """What is wrong with a value, as the end of a sentence; empty where it fits."""
    kind: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    try:
        TypeAdapter(kind, config=ConfigDict(strict=True)).validate_python(value)
    except ValidationError:
        if field.annotation is bool:
            return "is true or false"
        if field.annotation is float:
            return f"is a number from 0 to {MOST:g}"
        if field.metadata:
            return 'is a time like "8h", "90m" or "2h30m"'
        return f"is one of {', '.join(kind.__args__)}"
    return ""


def _strangers(raw: dict[str, Any]) -> list[str]:
    """What stands in the file and means nothing to us."""
    notes = []
    for section, table in raw.items():
        model = SECTIONS.get(section)
        if model is None:
            notes.append(f"config: {section} means nothing here")
        elif not isinstance(table, dict):
            notes.append(f"config: {section} is no table: write [{section}] above its settings")
        else:
            notes += [f"config: {section}.{key} means nothing here" for key in table if key not in model.model_fields]
    return notes


class _Lines:
    """Where in the text a setting stands, for a person to find it."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text

    def of(self, section: str, key: str) -> str:
        """The file and the line of a setting; the file alone where it is written in an unusual form."""
        here = ""
        for number, line in enumerate(self._text.splitlines(), 1):
            plain = line.strip()
            if plain.startswith("["):
                here = plain.partition("]")[0].strip("[] \t\"'")
            name = plain.partition("=")[0].strip().replace('"', "").replace("'", "")
            if "=" in plain and ((here == section and name == key) or (not here and name == f"{section}.{key}")):
                return f"{self._path}:{number}"
        return self._path


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise state_error("read", path, error) from None
