from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from build import zipapp
from tests.build.support import CHECKOUT, pythons, stand_in

if TYPE_CHECKING:
    from pathlib import Path


def build(source: Path, output: Path, folder: Path = CHECKOUT) -> Path:
    subprocess.run(
        [sys.executable, "-m", "build.zipapp", "--source", str(source), "--output", str(output)],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return output


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return build(stand_in(tmp_path / "source"), tmp_path / "out" / "ways-mcp.pyz")


@pytest.mark.demand("LIFE-8")
def test_two_builds_in_two_folders_at_two_times_are_byte_identical(tmp_path: Path) -> None:
    builds = []
    for name, when in (("one", 1_000_000_000), ("another folder", 1_700_000_000)):
        folder = tmp_path / name
        shutil.copytree(CHECKOUT / "build", folder / "build")
        source = stand_in(folder / "src")
        for path in [*source.rglob("*")][:: 1 if name == "one" else -1]:
            os.utime(path, (when, when))
            path.chmod(0o755 if name == "one" or path.is_dir() else 0o600)
        builds.append(build(source, folder / "dist" / "ways-mcp.pyz", folder).read_bytes())
    assert builds[0] == builds[1]


@pytest.mark.demand("LIFE-8")
def test_what_else_the_building_process_did_does_not_show_in_the_bytes(archive: Path) -> None:
    here = zipapp.archive(archive.parents[1] / "source", "ways-mcp")
    assert here == archive.read_bytes()


def test_no_path_of_the_building_machine_is_in_it(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as members:
        for name in members.namelist():
            assert str(tmp_path).encode() not in members.read(name), name
            assert str(CHECKOUT).encode() not in members.read(name), name


def test_it_holds_each_stdlib_only_room_as_source_and_compiled_and_not_the_operators(archive: Path) -> None:
    names = zipfile.ZipFile(archive).namelist()
    assert names == sorted(names)
    assert {name.split("/")[1] for name in names if name.count("/") > 1} == set(zipapp.ROOMS)
    sources = {name for name in names if name.endswith(".py")}
    assert {f"{name}c" for name in sources} == set(names) - sources


@pytest.mark.parametrize("python", pythons())
def test_it_runs_under_every_python_at_hand_with_the_standard_library_alone(archive: Path, python: str) -> None:
    ran = subprocess.run([python, "-IS", archive, "a", "b c"], capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.returncode == 7
    words = ran.stdout.split()
    assert words[:2] == ["1.2.3", "late-1.2.3"]
    assert words[3:] == ["1", "1", "a", "b", "c"]


def test_its_launch_line_is_portable_and_isolated(archive: Path, tmp_path: Path) -> None:
    assert archive.read_bytes().startswith(b"#!/usr/bin/env -S python3 -IS\n")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": "/nowhere", "PYTHONSTARTUP": "/nowhere"}
    ran = subprocess.run([archive], env=env, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (7, "")


@pytest.mark.demand("LIFE-6")
@pytest.mark.field_report(88)
def test_a_running_one_keeps_its_own_version_when_the_link_it_was_started_by_is_flipped(tmp_path: Path) -> None:
    old = build(stand_in(tmp_path / "old", "1.0.0"), tmp_path / "v1" / "ways-mcp.pyz")
    new = build(stand_in(tmp_path / "new", "2.0.0"), tmp_path / "v2" / "ways-mcp.pyz")
    link, flip = tmp_path / "ways-mcp", tmp_path / "flip"
    link.symlink_to(old)
    with subprocess.Popen(
        [sys.executable, "-IS", link.name, "later"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout
        assert running.stdout.readline() == "ready\n"
        flip.symlink_to(new)
        flip.replace(link)
        said, _ = running.communicate("go on\n", timeout=20)
    assert said.split()[:2] == ["1.0.0", "late-1.0.0"]
    assert said.split()[2].startswith(str(old))


def test_an_old_python_is_told_what_is_needed(archive: Path) -> None:
    main = zipfile.ZipFile(archive).read("__main__.py").decode()
    told = "import sys; sys.version_info = (3, 9); exec(sys.stdin.read())"
    ran = subprocess.run([sys.executable, "-c", told], input=main, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith("ways-mcp needs Python 3.11 or newer; this is ")


def test_a_file_that_is_no_module_is_named_and_stops_the_build(tmp_path: Path) -> None:
    source = stand_in(tmp_path / "source")
    (source / "agent_ways" / "base" / "notes.txt").write_text("?")
    with pytest.raises(zipapp.ZipappError, match=r"notes\.txt is no Python module"):
        zipapp.archive(source, "ways-mcp")


def test_a_module_that_does_not_compile_stops_the_build_by_name(tmp_path: Path) -> None:
    source = stand_in(tmp_path / "source")
    (source / "agent_ways" / "base" / "late.py").write_text("def broken(:\n")
    with pytest.raises(zipapp.ZipappError, match=r"agent_ways/base/late\.py"):
        zipapp.archive(source, "ways-mcp")


def test_a_wrong_source_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert zipapp.main(["--source", str(tmp_path)]) == 1
    assert "is not the folder that holds agent_ways/" in capsys.readouterr().err


@pytest.mark.parametrize("command", sorted(zipapp.ENTRIES))
def test_the_real_package_makes_an_archive_that_tells_its_version(command: str, tmp_path: Path) -> None:
    path = tmp_path / command
    zipapp.write(path, zipapp.archive(CHECKOUT / "src", command))
    ran = subprocess.run([sys.executable, "-IS", path, "--version"], capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.stdout.startswith(f"{command} ")
