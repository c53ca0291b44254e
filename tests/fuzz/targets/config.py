"""The user config: read tolerantly, whatever it holds, and edited with everything else kept."""

from __future__ import annotations

import os
import tempfile
import tomllib

from hypothesis import strategies as st

from agent_ways.base.config import MOST, Config, duration, parse
from agent_ways.base.errors import ConfigError
from agent_ways.ways import userconfig
from tests.fuzz.shapes import joined
from tests.fuzz.target import Pump, Target

EDITED = 2_000
"""Bytes above which the edit is left out: the library that keeps the comments takes quadratic time for blank lines."""
FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-config-")


def check(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    found = parse(text)
    _sane(found)
    seconds = duration(text[:40])
    assert seconds is None or seconds > 0
    path = os.path.join(FOLDER.name, "config.toml")
    with open(path, "wb") as file:
        file.write(data)
    shown, notes = userconfig.settings(path)
    assert all(isinstance(note, str) for note in notes)
    values = {setting.name: setting.value for setting in shown}
    assert values["keepalive.armed"] == found.keepalive_armed
    assert values["attend.wake"] == found.attend_wake
    assert values["keepalive.limit_hour"] == found.keepalive_limit_hour
    if len(data) > EDITED:
        return
    try:
        userconfig.edit(path, "keepalive.window", "7h30m")
    except ConfigError:
        with open(path, "rb") as file:
            assert file.read() == data, "a file that was refused was changed"
        return
    with open(path, encoding="utf-8", newline="") as file:
        after = file.read()
    changed = parse(after)
    assert changed.keepalive_window == 27_000
    for name in ("keepalive_armed", "keepalive_limit_hour", "attend_wake", "attend_retention", "conduits"):
        assert getattr(changed, name) == getattr(found, name), f"{name} changed with another setting"
    before = tomllib.loads(text)
    assert {key for key in before if key != "keepalive"} <= tomllib.loads(after).keys()


def _sane(found: Config) -> None:
    assert type(found.keepalive_armed) is bool
    assert 0 < found.keepalive_window < 1e12
    assert 0 < found.attend_retention < 1e12
    assert 0 <= found.keepalive_limit_hour <= MOST
    assert 0 <= found.keepalive_limit_five_minutes <= MOST
    assert found.attend_wake in ("addressed", "never")
    assert set(found.conduits) <= {"channel", "inbox_socket"}
    assert all(len(note) < 500 for note in found.notes)


LINES = (
    *(b"[keepalive]", b"[attend]", b"[conduits]", b"armed = true", b'window = "8h"', b"limit_hour = 1.5", b'wake = "never"'),
    *(b'retention = "7d"', b"channel = false", b"inbox_socket = false", b"# a comment", b"keepalive.armed = true", b"[[keepalive]]"),
    *(b"keepalive = 3", b"x = 1979-02-30", b"x = 1979-05-27T07:32:00Z", b"x = {a = 1}", b'x = """', b"limit_hour = nan", b"limit_hour = inf"),
    *(b"x = 0x10", b"armed = 1", b'window = ""', b"[keepalive.window]", b"x = '\x00'", b"[other]", b'"" = 1', b"limit_hour = 1_0.0"),
)  # fmt: skip
TARGET = Target(
    "config",
    check,
    st.one_of(joined(LINES, b"\n"), joined((*LINES, b" = ", b".", b'"', b"[", b"]", b"{", b"}"), b"")),
    (*LINES, b"\n", b"\r\n", b" = ", b"9" * 4400),
    (
        Pump(b"[a]\nb = 1\n"),
        Pump(b"x"),
        Pump(b"\n"),
        Pump(b"["),
        Pump(b'x = "', b"[keepalive]\n"),
        Pump(b"1h", b'[keepalive]\nwindow = "', b'"\n'),
        Pump(b"9", b"x = "),
        Pump(b"a.", b"", b"b = 1"),
    ),
    longest=1 << 15,
)
