from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from build import launch, zipapp
from tests.build.support import stand_in

if TYPE_CHECKING:
    from pathlib import Path


def installed(folder: Path, python: str, version: str = "1.2.3") -> Path:
    archive = folder / version / "ways-mcp.pyz"
    zipapp.write(archive, zipapp.archive(stand_in(folder / f"source-{version}", version), "ways-mcp"))
    path = archive.with_suffix("")
    zipapp.write(path, launch.launcher(python, str(archive), zipapp.ENTRIES["ways-mcp"]))
    return path


def linked(folder: Path, *, exist_ok: bool = False) -> str:
    """A path of this interpreter in `folder`; its standard library is found through the link."""
    folder.mkdir(parents=True, exist_ok=exist_ok)
    (folder / "python3").symlink_to(launch.interpreter())
    return str(folder / "python3")


@pytest.mark.demand("LIFE-1")
def test_the_launch_line_names_an_absolute_interpreter_and_isolates_it(tmp_path: Path) -> None:
    path = installed(tmp_path, launch.interpreter())
    line = path.read_bytes().split(b"\n")[0].decode()
    assert line == f"#!{launch.interpreter()} -IS"
    assert os.path.isabs(launch.interpreter())
    ran = subprocess.run([path, "x"], env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (7, "")
    assert ran.stdout.split()[3:] == ["1", "1", "x"]


@pytest.mark.parametrize("name", ["with a space", "l" * 130, "ü", "quo 'te", " ''' ", ' "', "$HOME `x`"])
def test_an_interpreter_that_no_launch_line_can_name_is_started_by_a_shell(name: str, tmp_path: Path) -> None:
    python = linked(tmp_path / name)
    path = installed(tmp_path, python)
    assert path.read_bytes().startswith(b"#!/bin/sh\n")
    ran = subprocess.run([path, "a  b", "'", "*"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (7, "")
    assert ran.stdout.rstrip("\n").endswith(" 1 1 a  b ' *")


@pytest.mark.parametrize("name", ["tab\tbed", "new\nline", "back \\slash"])
def test_an_interpreter_that_no_launcher_can_name_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(launch.LaunchError, match="PYTHON="):
        launch.launcher(f"/{name}/python3", "/x.pyz", "y")


def test_the_shell_does_not_stay_as_a_process_between(tmp_path: Path) -> None:
    path = installed(tmp_path, linked(tmp_path / "with a space"))
    with subprocess.Popen([path, "later"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stdout.readline() == "ready\n"
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(running.pid)], capture_output=True, text=True, check=False
        )
        running.communicate("\n", timeout=20)
    assert children.stdout.strip() == ""


def test_an_archive_may_lie_at_any_path(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b'it\'s \xff \\ "quoted"')
    path = installed(folder, launch.interpreter())
    ran = subprocess.run([path], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (7, b"")


@pytest.mark.demand("LIFE-6")
@pytest.mark.parametrize("spaced", [False, True])
def test_a_server_started_through_a_link_keeps_its_version_when_the_link_moves_on(spaced: bool, tmp_path: Path) -> None:
    python = linked(tmp_path / "with a space") if spaced else launch.interpreter()
    old, new = installed(tmp_path, python, "1.0.0"), installed(tmp_path, python, "2.0.0")
    link, flip = tmp_path / "ways-mcp", tmp_path / "flip"
    link.symlink_to(old)
    with subprocess.Popen([link, "later"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stdout.readline() == "ready\n"
        flip.symlink_to(new)
        flip.replace(link)
        said, _ = running.communicate("\n", timeout=20)
    assert said.split()[:2] == ["1.0.0", "late-1.0.0"]
    after = subprocess.run([link], capture_output=True, text=True, check=False)
    assert after.stdout.split()[:2] == ["2.0.0", "late-2.0.0"]


def test_the_interpreter_is_never_a_virtual_environments() -> None:
    found = launch.interpreter()
    code = "import sys; print(sys.prefix == sys.base_prefix, sys.version)"
    ran = subprocess.run([found, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"True {sys.version}\n"


PROGRAM = """#!/bin/sh
echo "program $$"
printf '<%s>' "$@"
exit 5
"""


def split(folder: Path, python: str) -> Path:
    """A launcher of both kinds: `one word` is answered from the archive, the rest by a shell script."""
    archive = folder / "my archives" / "ways-mcp.pyz"
    zipapp.write(archive, zipapp.archive(stand_in(folder / "source"), "ways-mcp"))
    program = folder / "an environment" / "bin" / "ways"
    zipapp.write(program, PROGRAM.encode())
    path = folder / "my archives" / "ways"
    words = ["one word"]
    text = launch.split_launcher(python, str(program), words, str(archive), zipapp.ENTRIES["ways-mcp"])
    zipapp.write(path, text)
    return path


@pytest.mark.parametrize("spaced", [False, True])
def test_its_own_words_are_answered_by_the_archive_isolated_and_without_site(spaced: bool, tmp_path: Path) -> None:
    python = linked(tmp_path / "with a space") if spaced else launch.interpreter()
    path = split(tmp_path, python)
    ran = subprocess.run([path, "one word"], env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (7, "")
    assert ran.stdout.endswith(" 1 1 one word\n")


@pytest.mark.parametrize("words", [[], ["one", "word"], ["one word", "--help"], ["", "a  b", "'", "*", "\udcff"]])
def test_every_other_line_becomes_the_program_with_the_same_words_and_process(words: list[str], tmp_path: Path) -> None:
    path = split(tmp_path, launch.interpreter())
    with subprocess.Popen([path, *words], stdout=subprocess.PIPE) as running:
        assert running.stdout
        said = running.stdout.read()
    assert running.returncode == 5
    first, _, rest = said.partition(b"\n")
    assert first == b"program %d" % running.pid
    assert rest == b"".join(b"<%s>" % os.fsencode(word) for word in words) or (words == [] and rest == b"<>")
