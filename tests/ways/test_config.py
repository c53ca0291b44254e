from __future__ import annotations

import json
import tempfile
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base import config as reader
from agent_ways.base.errors import ConfigError, RefusedError, UsageError
from agent_ways.ways import userconfig
from agent_ways.ways.commands import config as verbs
from agent_ways.ways.report import Status
from tests.ways.support import Machine, ways

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
# mine
[attend]
wake = "never"   # not at night

[keepalive] # later
window = "4h"
other = 1
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def write(machine: Machine, text: str) -> Path:
    path = machine.home / ".config" / "agent-ways" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def told(value: Any) -> dict[str, Any]:
    """What the tolerant reader makes of a file with these sections."""
    found = reader.parse(tomlkit.dumps(value))
    return {
        "keepalive.armed": found.keepalive_armed,
        "keepalive.window": found.keepalive_window,
        "keepalive.limit_hour": found.keepalive_limit_hour,
        "keepalive.limit_five_minutes": found.keepalive_limit_five_minutes,
        "attend.wake": found.attend_wake,
        "attend.retention": found.attend_retention,
        "conduits.channel": "channel" in found.conduits,
        "conduits.inbox_socket": "inbox_socket" in found.conduits,
    }


values = (
    st.booleans() | st.integers(0, 99) | st.sampled_from(["addressed", "never", "8h", "90m", "0h", "true", "", "2h30m"])
)
NAMES = [f"{section}.{key}" for section, model in userconfig.SECTIONS.items() for key in model.model_fields]


@given(st.dictionaries(st.sampled_from(NAMES), values | st.lists(values, max_size=2)))
def test_the_models_and_the_tolerant_reader_hold_the_same_values_right(raw: dict[str, Any]) -> None:
    nested: dict[str, dict[str, Any]] = {}
    for name, value in raw.items():
        section, _, key = name.partition(".")
        nested.setdefault(section, {})[key] = value
    wanted = {}
    for section, model in userconfig.SECTIONS.items():
        for key, field in model.model_fields.items():
            value = nested.get(section, {}).get(key, field.default)
            value = field.default if userconfig._trouble(field, value) else value
            is_time = field.metadata and isinstance(value, str)
            wanted[f"{section}.{key}"] = reader.duration(value) if is_time else value
    assert told(nested) == wanted
    wrong = [name for name in raw if userconfig._trouble(*_field(name, raw[name]))]
    assert len(reader.parse(tomlkit.dumps(nested)).notes) == len(wrong)


def _field(name: str, value: Any) -> tuple[Any, Any]:
    model, key = userconfig._model(name)
    return model.model_fields[key], value


def test_every_setting_is_shown_with_where_it_comes_from(machine: Machine) -> None:
    path = write(machine, TEXT)
    answer = verbs.show(machine.world).to_json()
    assert set(answer["settings"]) == set(NAMES)
    assert answer["settings"]["attend.wake"]["origin"] == f"{path}:3"
    assert answer["settings"]["keepalive.window"] == {
        "value": "4h",
        "default": "8h",
        "origin": f"{path}:6",
        "trouble": None,
        "kind": "a time",
        "help": "how long after you last typed",
    }
    assert answer["settings"]["conduits.channel"]["origin"] == "default"
    assert answer["notes"] == ["config: keepalive.other means nothing here"]


def test_a_broken_section_falls_back_alone_and_is_named(machine: Machine) -> None:
    path = write(machine, '[keepalive]\nwindow = "4h"\narmed = "yes"\n[attend]\nwake = never\n')
    report = verbs.show(machine.world)
    by_name = {line.subject: line for line in report.lines}
    assert by_name["keepalive.window"].text.startswith(f'"4h"  ({path}:2')
    assert by_name["keepalive.armed"].status is Status.NOTE
    assert f"{path}:3 is true or false" in by_name["keepalive.armed"].text
    assert "not TOML" in by_name["config"].text


def test_a_setting_is_written_with_comments_and_order_kept(machine: Machine) -> None:
    path = write(machine, TEXT)
    verbs.change(machine.world, "keepalive.window", "90m")
    assert path.read_text() == TEXT.replace('"4h"', '"90m"')
    verbs.change(machine.world, "conduits.channel", "false")
    assert path.read_text().startswith(TEXT.replace('"4h"', '"90m"'))
    assert tomllib.loads(path.read_text())["conduits"] == {"channel": False}
    assert verbs.unset(machine.world, "attend.wake").changed
    assert "# mine" in path.read_text()
    assert "never" not in path.read_text()


def test_setting_what_is_set_already_writes_nothing(machine: Machine) -> None:
    path = write(machine, TEXT)
    before = path.stat().st_mtime_ns
    assert not verbs.change(machine.world, "keepalive.window", "4h").changed
    assert not verbs.unset(machine.world, "conduits.channel").changed
    assert path.stat().st_mtime_ns == before


@given(st.sampled_from(NAMES), st.data())
def test_what_was_set_is_what_is_read(name: str, data: st.DataObject) -> None:
    model, key = userconfig._model(name)
    field = model.model_fields[key]
    words = {bool: ["true", "false"], float: ["0.5", "7"], str: ["8h", "1h30m"]}.get(field.annotation, ["never"])  # type: ignore[arg-type]
    word = data.draw(st.sampled_from(words))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/config.toml"
        userconfig.edit(path, name, userconfig.parse(name, word))
        with open(path, encoding="utf-8") as file:
            value = told(tomllib.loads(file.read()))[name]
    wanted = {"true": True, "false": False, "0.5": 0.5, "7": 7.0}.get(word, reader.duration(word) or word)
    assert value == wanted


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("keepalive.window", "soon"),
        ("keepalive.armed", "maybe"),
        ("attend.wake", "always"),
        ("keepalive.limit_hour", "-1"),
        ("keepalive.limit_hour", "much"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_and_nothing_written(name: str, value: str, machine: Machine) -> None:
    path = write(machine, TEXT)
    with pytest.raises(ConfigError, match=name):
        verbs.change(machine.world, name, value)
    assert path.read_text() == TEXT


@pytest.mark.parametrize("name", ["nothing", "keepalive", "keepalive.nothing", ""])
def test_an_unknown_setting_names_those_there_are(name: str, machine: Machine) -> None:
    with pytest.raises(UsageError) as raised:
        verbs.get(machine.world, name)
    assert "keepalive.armed" in raised.value.hint
    with pytest.raises(UsageError) as raised:
        verbs.change(machine.world, name, "x")
    assert "keepalive.armed" in raised.value.hint


def test_a_file_that_is_no_toml_is_not_edited(machine: Machine) -> None:
    path = write(machine, "[keepalive\n")
    with pytest.raises(ConfigError, match="is not TOML"):
        verbs.change(machine.world, "keepalive.armed", "true")
    assert path.read_text() == "[keepalive\n"


def test_a_section_that_is_no_table_is_not_edited(machine: Machine) -> None:
    write(machine, "keepalive = 1\n")
    with pytest.raises(ConfigError, match="is no table"):
        verbs.change(machine.world, "keepalive.armed", "true")


def test_a_link_stays_a_link_and_what_is_read_only_is_another_programs(machine: Machine) -> None:
    path = write(machine, TEXT)
    real = machine.home / "dotfiles.toml"
    path.rename(real)
    path.symlink_to(real)
    verbs.change(machine.world, "keepalive.armed", "true")
    assert path.is_symlink()
    assert "armed = true" in real.read_text()
    real.chmod(0o444)
    with pytest.raises(RefusedError, match="another program"):
        verbs.change(machine.world, "keepalive.armed", "false")


def test_get_and_path_answer_with_the_bare_value(machine: Machine) -> None:
    path = write(machine, TEXT)
    assert ways(machine, "config", "get", "keepalive.window").stdout == "4h\n"
    assert ways(machine, "config", "get", "keepalive.armed").stdout == "false\n"
    assert ways(machine, "config", "path").stdout == f"{path}\n"
    assert json.loads(ways(machine, "config", "get", "attend.wake", "--json").stdout)["value"] == "never"
    assert ways(machine, "config", "set", "keepalive.window", "x").returncode == 6
    assert ways(machine, "config", "set", "keepalive.windows", "x").returncode == 2


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('[attend]\nwake = "never"\n', ""),
        ('# mine\n[attend]\nwake = "never"\n\n[keepalive]\nwindow = "4h"\n', '# mine\n[keepalive]\nwindow = "4h"\n'),
        ('[attend]\n# not at night\nwake = "never"\n', "[attend]\n# not at night\n"),
        ('[attend]\nwake = "never"\nother = 1\n', "[attend]\nother = 1\n"),
        ('attend.wake = "never"\n', ""),
    ],
)
def test_a_table_that_holds_nothing_any_more_goes_with_its_last_setting(text: str, left: str, machine: Machine) -> None:
    path = write(machine, text)
    verbs.unset(machine.world, "attend.wake")
    assert path.read_text() == left


def test_a_setting_with_a_slip_in_its_name_is_guessed(machine: Machine) -> None:
    for verb in (verbs.get, verbs.unset):
        with pytest.raises(UsageError) as raised:
            verb(machine.world, "keepalive.armd")
        assert raised.value.hint == "Did you mean keepalive.armed?"
    with pytest.raises(UsageError) as raised:
        verbs.get(machine.world, "nonsense")
    assert raised.value.hint.startswith("There are: keepalive.armed, ")


def test_a_number_below_zero_reaches_what_says_its_range(machine: Machine) -> None:
    ran = ways(machine, "config", "set", "keepalive.limit_hour", "-3")
    assert (ran.returncode, ran.stdout) == (ConfigError.exit_code, "")
    assert "keepalive.limit_hour is a number from 0 to 100, not '-3'" in ran.stderr
