from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base.errors import StateError
from agent_ways.claude import dirs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=8)
PATHS = st.lists(NAME | st.sampled_from(["", ".", "..", "~"]), max_size=4).map("/".join)


@pytest.mark.demand("ID-1")
@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"HOME": "/h"}, "/h/.claude"),
        ({"HOME": "/h/"}, "/h/.claude"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}, "/c"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c///"}, "/c"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c d/x"}, "/c d/x"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/h/.claude"}, "/h/.claude"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "rel"}, "/work dir/rel"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "./a/../b/"}, "/work dir/b"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "~/x"}, "/work dir/~/x"),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": ""}, "/work dir"),
    ],
)
def test_the_config_dir_is_where_the_client_itself_looks(env: dict[str, str], expected: str) -> None:
    assert dirs.config_dir(env, cwd="/work dir") == expected


@pytest.mark.demand("ID-1")
@given(PATHS, PATHS)
def test_a_config_dir_is_absolute_and_the_same_when_asked_for_again(named: str, cwd: str) -> None:
    found = dirs.config_dir({"CLAUDE_CONFIG_DIR": named}, cwd="/" + cwd)
    assert os.path.isabs(found)
    assert found == "/" or not found.endswith("/")
    assert dirs.config_dir({"CLAUDE_CONFIG_DIR": found}, cwd="/elsewhere") == found


def test_a_relative_value_counts_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert dirs.config_dir({"CLAUDE_CONFIG_DIR": "rel"}) == str(tmp_path / "rel")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert dirs.config_dir({"CLAUDE_CONFIG_DIR": "rel"}) == "/rel"


def test_without_a_home_the_named_dir_serves_and_else_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_ways.base.paths._home_of_user", lambda: "")
    assert dirs.config_dir({"CLAUDE_CONFIG_DIR": "/c"}) == "/c"
    with pytest.raises(StateError):
        dirs.config_dir({})


@pytest.mark.demand("LIFE-5")
def test_only_a_value_that_is_not_empty_names_a_config_dir() -> None:
    assert not dirs.is_named({})
    assert not dirs.is_named({"CLAUDE_CONFIG_DIR": ""})
    assert dirs.is_named({"CLAUDE_CONFIG_DIR": "/h/.claude"})


@pytest.mark.demand("LIFE-5")
def test_the_global_file_lies_beside_the_default_dir_and_inside_a_named_one(tmp_path: Path) -> None:
    config = str(tmp_path / ".claude")
    assert dirs.global_file(config, named=False) == str(tmp_path / ".claude.json")
    assert dirs.global_file(config, named=True) == str(tmp_path / ".claude" / ".claude.json")


@pytest.mark.demand("LIFE-5")
def test_with_an_empty_variable_the_global_file_is_the_homes_all_the_same(tmp_path: Path) -> None:
    env = {"HOME": "/h", "CLAUDE_CONFIG_DIR": ""}
    config = dirs.config_dir(env, cwd=str(tmp_path))
    assert dirs.global_file(config, dirs.is_named(env), home="/h") == "/h/.claude.json"


@pytest.mark.demand("LIFE-5")
@pytest.mark.parametrize("named", [False, True])
def test_a_legacy_file_comes_first(tmp_path: Path, named: bool) -> None:
    legacy = tmp_path / ".config.json"
    legacy.write_text("{}")
    assert dirs.global_file(str(tmp_path), named) == str(legacy)


@pytest.mark.demand("LIFE-5")
def test_an_empty_legacy_file_counts_unless_it_is_read_only(tmp_path: Path) -> None:
    legacy = tmp_path / ".config.json"
    legacy.touch()
    assert dirs.global_file(str(tmp_path), named=True) == str(legacy)
    legacy.chmod(0o444)
    assert dirs.global_file(str(tmp_path), named=True) == str(tmp_path / ".claude.json")


def make_link(path: Path) -> None:
    path.symlink_to(path.parent / "missing")


@pytest.mark.demand("LIFE-5")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, make_link], ids=["folder", "fifo", "dangling link"])
def test_something_else_with_the_legacy_name_is_no_legacy_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / ".config.json")
    assert dirs.global_file(str(tmp_path), named=True) == str(tmp_path / ".claude.json")
