"""The user config's reader obeys what makes sense and names what does not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base.config import Config, ConfigFile, duration, parse

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """
# a person's comment
[keepalive]
armed = true
window = "2h30m"
limit_hour = 1
limit_five_minutes = 0.5

[attend]
wake = "never"
retention = "7d"

[conduits]
inbox_socket = false

[somebody.elses]
key = 1
"""


def test_what_is_written_is_obeyed_and_the_rest_is_default() -> None:
    assert parse(WHOLE) == Config(
        keepalive_armed=True,
        keepalive_window=9000.0,
        keepalive_limit_hour=1.0,
        keepalive_limit_five_minutes=0.5,
        attend_wake="never",
        attend_retention=604_800.0,
        conduits=("channel",),
    )
    assert parse("") == Config()
    assert parse("\ufeff" + WHOLE) == parse(WHOLE)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[keepalive]\narmed = 1\n[attend]\nwake='never'", "keepalive.armed"),
        ("[keepalive]\nwindow = 8\n[attend]\nwake='never'", "keepalive.window"),
        ("[keepalive]\nwindow = 'long'\n[attend]\nwake='never'", "keepalive.window"),
        ("[keepalive]\nwindow = '0h'\n[attend]\nwake='never'", "keepalive.window"),
        ("[keepalive]\nwindow = '-8h'\n[attend]\nwake='never'", "keepalive.window"),
        ("[keepalive]\nlimit_hour = -1\n[attend]\nwake='never'", "keepalive.limit_hour"),
        ("[keepalive]\nlimit_hour = true\n[attend]\nwake='never'", "keepalive.limit_hour"),
        ("[keepalive]\nlimit_five_minutes = nan\n[attend]\nwake='never'", "keepalive.limit_five_minutes"),
        ("keepalive = 3\n[attend]\nwake='never'", "keepalive is no table"),
        ("[keepalive\narmed = true\n[attend]\nwake='never'", "not TOML"),
        ("[keepalive]\narmed = yes\n[attend]\nwake='never'", "not TOML"),
        ("[keepalive]\narmed = true\narmed = true\n[attend]\nwake='never'", "not TOML"),
        ("[conduits]\nchannel = 'no'\n[attend]\nwake='never'", "conduits.channel"),
    ],
)
def test_a_broken_setting_falls_back_alone_and_is_named(text: str, word: str) -> None:
    config = parse(text)
    assert len(config.notes) == 1
    assert word in config.notes[0]
    assert config == Config(attend_wake="never", notes=config.notes)


@given(st.text())
def test_no_text_can_raise(text: str) -> None:
    parse(text)


@given(
    st.dictionaries(st.sampled_from(["armed", "window", "wake"]), st.integers() | st.booleans() | st.text(), max_size=3)
)
def test_values_of_any_type_give_a_usable_config(values: dict[str, Any]) -> None:
    lines = []
    for key, value in values.items():
        written = f'"{value.encode("ascii", "ignore").hex()}"' if isinstance(value, str) else str(value).lower()
        lines.append(f"{key} = {written}")
    config = parse("[keepalive]\n" + "\n".join(lines))
    assert isinstance(config.keepalive_armed, bool)
    assert config.keepalive_window > 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("8h", 28_800),
        ("90m", 5400),
        ("2h30m", 9000),
        ("1d", 86_400),
        ("45s", 45),
        (" 8h ", 28_800),
        ("1d2h3m4s", 93_784),
    ],
)
def test_a_duration_is_read(text: str, seconds: int) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "8", "h", "0h", "-8h", "8 h", "8h8h", "30m2h", "1.5h", "8H", "٨h", "9" * 30 + "h"]
)
def test_nonsense_is_no_duration(text: str) -> None:
    assert duration(text) is None


def test_the_file_is_read_again_only_when_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    file = ConfigFile(str(path))
    assert file.now() == Config()
    path.write_text("[keepalive]\narmed = true")
    assert file.now().keepalive_armed
    first = file.now()
    assert file.now() is first
    path.write_text("[keepalive]\narmed = false")
    assert not file.now().keepalive_armed
    path.unlink()
    assert file.now() == Config()


def test_what_is_no_file_is_named_and_never_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    os.mkfifo(path)
    config = ConfigFile(str(path)).now()
    assert config == Config(notes=config.notes)
    assert str(path) in config.notes[0]


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.mkdir()
    config = ConfigFile(str(path)).now()
    assert config == Config(notes=config.notes)
    assert str(path) in config.notes[0]
