from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
TARGETS = [target for line in re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE) for target in line.split()]


def make(*words: str, folder: Path = CHECKOUT, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *words], cwd=folder, env={**clean, **env}, capture_output=True, text=True, check=False
    )


def clone(folder: Path) -> Path:
    """What a person has right after cloning: nothing built, nothing installed."""
    folder.mkdir(parents=True)
    shutil.copy(CHECKOUT / "Makefile", folder)
    for name in ("build", "requirements", "src"):
        shutil.copytree(CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_make_alone_lists_every_target_with_what_it_is_for() -> None:
    listed = make()
    assert (listed.returncode, listed.stderr) == (0, "")
    lines = listed.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == TARGETS
    assert all(len(line.split()) > 3 for line in lines[1:])


@pytest.mark.parametrize("target", TARGETS)
def test_a_dry_run_of_each_target_is_clean_in_a_fresh_clone_with_spaces_in_its_path(
    target: str, tmp_path: Path
) -> None:
    ran = make("--warn-undefined-variables", "-n", target, folder=clone(tmp_path / "a clone of mine"))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout


def test_the_targets_that_the_design_names_are_there() -> None:
    named = {"install", "uninstall", "ways-mcp", "zipapp", "check", "test", "e2e", "bench", "demo", "help"}
    assert named | {"generate", "dev", "lock", "clean"} <= set(TARGETS)


def test_no_recipe_holds_a_path_that_spaces_in_the_checkouts_could_break() -> None:
    assert not re.search(r"\$\((CURDIR|PWD|abspath|realpath)", MAKEFILE)


@pytest.mark.demand("LIFE-8")
def test_make_zipapp_works_in_a_fresh_clone_and_gives_the_same_bytes_as_here(tmp_path: Path) -> None:
    built = []
    for name in ("one", "two words"):
        folder = clone(tmp_path / name)
        ran = make("zipapp", folder=folder)
        assert (ran.returncode, ran.stderr) == (0, "")
        built.append((folder / "dist" / "ways-mcp.pyz").read_bytes())
    assert built[0] == built[1]


def test_a_python_that_does_not_fit_stops_it_with_what_to_do(tmp_path: Path) -> None:
    ran = make("zipapp", "PYTHON=/no/such/python", folder=clone(tmp_path / "clone"))
    assert ran.returncode != 0
    assert "PYTHON=/no/such/python is no program that can be run" in ran.stderr
    assert not (tmp_path / "clone" / "dist").exists()


def test_make_clean_leaves_what_a_clone_has(tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone")
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    assert make("zipapp", folder=folder).returncode == 0
    (folder / ".venv").mkdir()
    assert make("clean", folder=folder).returncode == 0
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before
