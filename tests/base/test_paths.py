from __future__ import annotations

import os
import pwd

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from platformdirs.unix import Unix

from agent_ways.base import paths
from agent_ways.base.errors import StateError

VARIABLES = ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_BIN_HOME"]
NAME = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12)
ABSOLUTE = st.lists(NAME, min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
VALUE = st.one_of(ABSOLUTE, st.just(""), NAME, st.just("./x"), st.just("~/x"))
ENVIRONMENT = st.fixed_dictionaries({"HOME": ABSOLUTE}, optional=dict.fromkeys(VARIABLES, VALUE))


@given(ENVIRONMENT)
@example({"HOME": "/home/a b", "XDG_STATE_HOME": "/s p/"})
def test_our_folders_are_those_of_platformdirs_on_unix(env: dict[str, str]) -> None:
    ours = (paths.state_root(env), paths.config_dir(env), paths.data_dir(env))
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        for name, value in env.items():
            # The specification bids to ignore a relative value, and platformdirs leaves that to its caller.
            if name == "HOME" or os.path.isabs(value):
                patch.setenv(name, value)
        theirs = Unix(paths.APP, appauthor=False)
        assert ours == (theirs.user_state_dir, theirs.user_config_dir, theirs.user_data_dir)


@given(ENVIRONMENT)
def test_commands_go_where_xdg_bin_home_says_or_below_the_home(env: dict[str, str]) -> None:
    named = env.get("XDG_BIN_HOME", "")
    assert paths.bin_dir(env) == (named if os.path.isabs(named) else os.path.join(env["HOME"], ".local/bin"))


@given(ENVIRONMENT)
def test_every_folder_is_absolute_whatever_the_variables_hold(env: dict[str, str]) -> None:
    for place in (paths.state_root, paths.config_dir, paths.data_dir, paths.bin_dir):
        assert os.path.isabs(place(env))


@pytest.mark.parametrize("env", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_a_home_variable_the_password_database_is_asked(env: dict[str, str]) -> None:
    assert paths.home(env) == pwd.getpwuid(os.getuid()).pw_dir


def test_a_user_without_any_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(StateError, match="there is no home directory") as caught:
        paths.state_root({})
    assert "HOME" in caught.value.hint


def test_a_home_in_the_password_database_that_is_no_path_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = pwd.struct_passwd(("x", "x", 1, 1, "", "", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: entry)
    with pytest.raises(StateError):
        paths.home({})


def test_a_named_state_folder_needs_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "home", pytest.fail)
    assert paths.state_root({"XDG_STATE_HOME": "/s"}) == "/s/agent-ways"
