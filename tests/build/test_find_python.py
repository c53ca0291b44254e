from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from build import launch
from tests.build.support import CHECKOUT

SCRIPT = CHECKOUT / "build" / "find-python"
TOOLS = ("sh", "cat", "tail")


def find(path: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    for tool in TOOLS:
        if not (path / tool).exists():
            (path / tool).symlink_to(f"/bin/{tool}" if Path(f"/bin/{tool}").exists() else f"/usr/bin/{tool}")
    return subprocess.run(
        ["/bin/sh", SCRIPT, *words], env={"PATH": str(path), **env}, capture_output=True, text=True, check=False
    )


def fake(path: Path, says: str, code: int) -> None:
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)


def test_it_prints_the_absolute_path_of_the_first_fit_python_on_path(tmp_path: Path) -> None:
    fake(tmp_path / "python3", "is Python 3.9; 3.11 or newer is needed", 1)
    (tmp_path / "python3.12").symlink_to(launch.interpreter())
    found = find(tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == f"{tmp_path / 'python3.12'}\n"


def test_a_virtual_environments_python_leads_to_the_one_it_was_made_from(tmp_path: Path) -> None:
    environment = tmp_path / "a venv"
    subprocess.run([launch.interpreter(), "-m", "venv", "--without-pip", environment], check=True)
    (tmp_path / "python3").symlink_to(environment / "bin" / "python3")
    found = find(tmp_path, PYTHON=str(environment / "bin" / "python3"))
    assert Path(found.stdout.strip()).samefile(launch.interpreter())
    assert str(environment) not in found.stdout


@pytest.mark.demand("LIFE-1")
def test_where_none_fits_it_names_each_it_looked_at_with_why_and_the_ways_out(tmp_path: Path) -> None:
    fake(tmp_path / "python3", "is Python 3.9; 3.11 or newer is needed", 1)
    fake(tmp_path / "python3.11", "has no venv with pip (on Debian and Ubuntu: apt install python3.11-venv)", 1)
    found = find(tmp_path, "venv")
    assert (found.returncode, found.stdout) == (1, "")
    assert f"{tmp_path / 'python3'} is Python 3.9; 3.11 or newer is needed" in found.stderr
    assert f"{tmp_path / 'python3.11'} has no venv with pip" in found.stderr
    assert "apt install python3 python3-venv" in found.stderr
    assert "uv python install" in found.stderr
    assert "PYTHON=/path/to/python3" in found.stderr


def test_an_empty_path_is_answered_as_clearly(tmp_path: Path) -> None:
    found = find(tmp_path)
    assert found.returncode == 1
    assert "there is no python3 on PATH" in found.stderr


def test_a_named_python_that_does_not_fit_is_not_passed_over_silently(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(launch.interpreter())
    fake(tmp_path / "mine", "is Python 2.7; 3.11 or newer is needed", 1)
    for name, why in (("mine", "is Python 2.7"), ("/no/such", "is no program that can be run")):
        found = find(tmp_path, PYTHON=name)
        assert (found.returncode, found.stdout) == (1, "")
        assert why in found.stderr


def test_uv_is_asked_where_path_has_no_fit_python(tmp_path: Path) -> None:
    fake(tmp_path / "uv", launch.interpreter(), 0)
    assert Path(find(tmp_path).stdout.strip()).samefile(launch.interpreter())


def test_a_python_whose_venv_can_not_bring_pip_is_told_apart(tmp_path: Path) -> None:
    """As Debian's without python3-venv: `venv` imports, `ensurepip` is not there."""
    code = (SCRIPT.read_text()).split("look='\n")[1].split("\n'\n")[0]
    hide = "import importlib.util as u; real = u.find_spec; u.find_spec = lambda n: None if n in HIDDEN else real(n)\n"
    for hidden, fits in (({"ensurepip"}, True), ({"ensurepip", "pip"}, False), ({"venv"}, False)):
        ran = subprocess.run(
            [sys.executable, "-I", "-c", f"HIDDEN = {hidden!r}\n{hide}{code}", "venv"],
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode == 0) is fits, ran.stderr
        assert fits or "has no venv with pip" in ran.stderr
