"""The flake, evaluated against a stand-in for nixpkgs; the `nix` job of ci.yml checks it against the real one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from agent_ways import __version__

CHECKOUT = Path(__file__).resolve().parents[2]
SYSTEMS = ("x86_64-linux", "aarch64-linux", "x86_64-darwin", "aarch64-darwin")


@pytest.fixture(scope="module")
def flake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flake beside the sources that it reads, as git would hand it over."""
    if shutil.which("nix") is None:
        pytest.skip("there is no nix here")
    folder = tmp_path_factory.mktemp("flake")
    shutil.copy(CHECKOUT / "flake.nix", folder)
    (folder / "src" / "agent_ways").mkdir(parents=True)
    shutil.copy(CHECKOUT / "src/agent_ways/__init__.py", folder / "src/agent_ways")
    return folder


def nix(flake: Path, *words: str) -> str:
    state = flake.parent / "nix-state"
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(state / "home"),
        "NIX_STORE_DIR": str(state / "store"),
        "NIX_STATE_DIR": str(state / "var"),
        "NIX_LOG_DIR": str(state / "log"),
        "NIX_CONF_DIR": str(state / "conf"),
        "NIX_CONFIG": "experimental-features = nix-command flakes\nbuild-users-group =\nsandbox = false\n",
    }
    (state / "home").mkdir(parents=True, exist_ok=True)
    stub = [
        "--offline",
        "--no-write-lock-file",
        "--override-input",
        "nixpkgs",
        f"path:{Path(__file__).parent / 'nixpkgs'}",
    ]
    ran = subprocess.run(["nix", *words, *stub], cwd=flake, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.demand("LIFE-1")
@pytest.mark.parametrize("system", SYSTEMS)
def test_each_system_has_the_package_of_this_version_and_the_three_commands(system: str, flake: Path) -> None:
    assert nix(flake, "eval", "--raw", f"path:{flake}#packages.{system}.default.name") == f"agent-ways-{__version__}"
    for name in ("ways", "attend", "ways-mcp"):
        program = nix(flake, "eval", "--raw", f"path:{flake}#apps.{system}.{name}.program")
        assert program.endswith(f"-agent-ways-{__version__}/bin/{name}")


@pytest.mark.demand("LIFE-1")
def test_it_brings_what_the_package_depends_on_and_nothing_else() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    wanted = {re.split(r"[<>=!~ ]", dependency)[0] for dependency in project["dependencies"]}
    listed = re.search(r" dependencies = \[(.*?)\];", (CHECKOUT / "flake.nix").read_text(), re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"python3Packages\.(\S+)", listed.group(1))) == wanted


def test_it_shows_packages_apps_shells_and_checks_for_the_four_systems(flake: Path) -> None:
    shown = json.loads(nix(flake, "flake", "show", "--json", f"path:{flake}"))
    assert set(shown) == {"packages", "apps", "devShells", "checks"}
    assert all(set(part) == set(SYSTEMS) for part in shown.values())


def test_the_check_of_flakes_passes(flake: Path) -> None:
    nix(flake, "flake", "check", "--no-build", f"path:{flake}")


def test_the_stand_in_is_strict(flake: Path, tmp_path: Path) -> None:
    text = (flake / "flake.nix").read_text()
    shutil.copytree(flake, tmp_path / "broken")
    (tmp_path / "broken" / "flake.nix").write_text(text.replace("          inherit version;\n", ""))
    with pytest.raises(AssertionError, match="version"):
        nix(tmp_path / "broken", "eval", "--raw", f"path:{tmp_path / 'broken'}#packages.x86_64-linux.default.name")
