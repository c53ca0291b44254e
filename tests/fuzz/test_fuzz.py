"""Every parser that meets bytes of others keeps its promises for all of them: the short hunt, in every run of the tests.

`make fuzz` is the long one. What either finds lies among the seeds from then on.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from tests.fuzz import growth
from tests.fuzz.engines import Hunt, guided, mutated, structured
from tests.fuzz.mutation import mutate, smaller
from tests.fuzz.target import SEEDS, Fault, Pump, Target, holds, keep, load, names, seeds

if TYPE_CHECKING:
    from pathlib import Path

NAMES = names()
KEPT = [(name, file) for name in NAMES for file in seeds(name)]


def test_each_target_has_seeds_and_each_folder_of_seeds_a_target() -> None:
    assert sorted(os.listdir(SEEDS)) == list(NAMES)
    assert all(any(not file.startswith("found-") for file in seeds(name)) for name in NAMES)


@pytest.mark.parametrize(("name", "file"), KEPT, ids=["/".join(pair) for pair in KEPT])
def test_what_must_hold_holds_for_the_kept_inputs(name: str, file: str) -> None:
    fault = holds(load(name), seeds(name)[file])
    assert fault is None, fault.trace


@pytest.mark.parametrize("name", NAMES)
def test_what_must_hold_holds_for_changed_and_made_up_inputs(name: str, tmp_path: Path) -> None:
    hunt = Hunt(load(name), str(tmp_path))
    structured(hunt, 1, 0, most=50)
    mutated(hunt, 1, 150)
    assert hunt.runs >= 180  # hypothesis may run out of different examples
    assert hunt.found == {}


@pytest.mark.parametrize("name", NAMES)
def test_reading_takes_time_linear_in_the_size(name: str) -> None:
    target = load(name)
    assert [told for pump in target.pumps if (told := growth.grows(target, pump))] == []


# ---- the hunt itself


def _fragile(data: bytes) -> None:
    """Fails for what only an engine that sees the way taken comes by: four bytes, one after the other."""
    assert not data.startswith(b"[") or b"boom" not in data


FRAGILE = Target("fragile", _fragile, st.sampled_from([b"", b"[boom]", b"[x]"]), (b"boom", b"["), (Pump(b"x"),))


def test_a_fault_is_kept_once_per_kind_and_as_small_as_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hunt = Hunt(FRAGILE, str(tmp_path))
    for data in (b"[x boom x]", b"[ and another boom", b"fine"):
        hunt.run(data)
    assert list(seeds("fragile", str(tmp_path)).values()) == [b"[boom"]
    (place,) = hunt.found
    assert place.startswith("AssertionError at ")
    assert "FAULT fragile" in capsys.readouterr().out


@pytest.mark.parametrize(
    "way",
    [
        lambda hunt: structured(hunt, 1, 0),
        lambda hunt: mutated(hunt, 1, 2_000),
        lambda hunt: guided(hunt, 1, 20, most=3_000),
    ],
)
def test_each_engine_finds_it(tmp_path: Path, way: object, capsys: pytest.CaptureFixture[str]) -> None:
    hunt = Hunt(FRAGILE, str(tmp_path))
    way(hunt)  # type: ignore[operator]
    assert len(hunt.found) == 1
    assert capsys.readouterr().out


def test_time_that_is_quadratic_is_told_and_time_that_is_linear_is_not() -> None:
    def quadratic(data: bytes) -> None:
        for at in range(0, len(data), 64):
            bytes(reversed(data[at:]))

    def linear(data: bytes) -> None:
        for at in range(0, len(data), 64):
            bytes(reversed(data[at : at + 64]))

    shape = st.just(b"")
    assert "16384" in growth.grows(Target("quadratic", quadratic, shape, (), ()), Pump(b"x"))
    assert growth.grows(Target("linear", linear, shape, (), ()), Pump(b"x")) == ""


def test_the_same_seed_makes_the_same_changes_and_none_is_too_long() -> None:
    made = [
        [mutate(chance, b"{}", [b"[]"], [b"x"], 1_000) for _ in range(300)]
        for chance in (random.Random(3), random.Random(3))
    ]
    assert made[0] == made[1]
    assert len(set(made[0])) > 150
    assert max(map(len, made[0])) <= 1_000
    assert smaller(b"aaaXbbb", lambda data: b"X" in data) == b"X"


def test_a_kept_input_has_one_name_and_is_read_back(tmp_path: Path) -> None:
    fault = Fault("signals", b"\x00\xff", "here", "")
    assert keep(fault, str(tmp_path)) == keep(fault, str(tmp_path))
    assert seeds("signals", str(tmp_path)) == {fault.file: b"\x00\xff"}


def test_the_command_hunts_one_target_and_says_with_what() -> None:
    words = [
        sys.executable,
        "-m",
        "tests.fuzz",
        "--minutes",
        "0.02",
        "--target",
        "sessions",
        "--engine",
        "settrace",
        "--seed",
        "5",
    ]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((os.path.join(root, "src"), root))}
    ran = subprocess.run(words, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "engine settrace, seed 5" in ran.stdout
    assert "0 kinds of faults" in ran.stdout
