from __future__ import annotations

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base import errors
from agent_ways.base.errors import WaysError, state_error


def tree(root: type[WaysError]) -> list[type[WaysError]]:
    return [root, *(found for child in root.__subclasses__() for found in tree(child))]


def test_every_error_has_a_code_of_its_own_and_says_what_it_means() -> None:
    codes = [kind.code for kind in tree(WaysError)]
    assert len(set(codes)) == len(codes)
    assert all(kind.__doc__ and kind.code.islower() for kind in tree(WaysError))


def test_a_subclass_never_exits_as_success_and_usage_is_two() -> None:
    assert all(0 < kind.exit_code < 64 for kind in tree(WaysError))
    assert errors.UsageError.exit_code == 2


@pytest.mark.parametrize("kind", tree(WaysError), ids=lambda kind: kind.code)
def test_an_error_carries_its_words_and_its_repair(kind: type[WaysError]) -> None:
    error = kind("it broke", "mend it")
    assert (str(error), error.message, error.hint) == ("it broke", "it broke", "mend it")
    assert kind("it broke").hint == ""


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize(
    ("number", "word"),
    [
        (errno.ENOSPC, "space"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "name another place"),
        (errno.EACCES, "access"),
        (errno.EPERM, "access"),
        (errno.EMFILE, "ulimit"),
        (errno.ENFILE, "system"),
    ],
)
def test_a_cause_with_a_known_repair_is_told_with_it(number: int, word: str) -> None:
    error = state_error("write", "/s/x", OSError(number, os.strerror(number)))
    assert error.message == f"cannot write /s/x: {os.strerror(number)}"
    assert word in error.hint
    assert error.hint.endswith((".", "/s/x"))


@given(st.integers(1, 200), st.text(min_size=1))
def test_any_os_error_becomes_one_clear_error(number: int, path: str) -> None:
    error = state_error("read", path, OSError(number, os.strerror(number)))
    assert error.code == "state"
    assert path in error.message


def test_an_os_error_without_a_number_keeps_its_words() -> None:
    assert state_error("read", "/x", OSError("odd")).message == "cannot read /x: odd"
