"""`python -m demo`: the story holds, and says so where it does not."""

from __future__ import annotations

import html
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = [sys.executable, "-s", "-m", "demo"]


BOAST = """
class Boaster(Ways):
    def call(self, tool, arguments):
        result = super().call(tool, arguments)
        result["conduits"]["channel"]["state"] = "yes"
        return result

Ways = Boaster
"""


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    base = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    return subprocess.run(
        [*COMMAND, *arguments], cwd=ROOT, env={**base, **env}, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_story_holds_in_under_twenty_seconds_without_a_home() -> None:
    began = time.monotonic()
    done = run()
    assert time.monotonic() - began < 20
    assert (done.returncode, done.stderr) == (0, "")
    assert "NOT SO" not in done.stdout
    for words in ("initialize", "ways_status", "a parcel for you", "Done in"):
        assert words in done.stdout


@pytest.mark.demand("ATT-2", "ATT-5", "CON-2")
def test_two_sessions_talk_one_dies_and_its_mail_waits_until_it_is_resumed() -> None:
    told = run().stdout
    for claim in (
        "it came through the channel",
        "it came through the inbox socket",
        "no live session; kept",
        "the mail that waited was given to the model",
        "the session has the name that it had",
        "it was given that mail once",
    ):
        assert claim in told


def test_piped_output_is_plain_ascii_whatever_the_locale() -> None:
    done = run(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", FORCE_COLOR="1")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_are_for_terminals_that_want_them(env: dict[str, str], coloured: bool) -> None:
    master, slave = pty.openpty()
    base = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TERM": "xterm"}
    process = subprocess.Popen(COMMAND, cwd=ROOT, env={**base, **env}, stdout=slave, stderr=slave, stdin=slave)
    os.close(slave)
    text = b""
    try:
        while part := os.read(master, 65536):
            text += part
    except OSError:
        pass  # the other side is closed, which a terminal tells as EIO
    os.close(master)
    assert process.wait(timeout=60) == 0
    assert (b"\x1b[" in text) == coloured


def test_a_claim_that_is_not_so_ends_it_with_an_error(tmp_path: Path) -> None:
    package = tmp_path / "src"
    shutil.copytree(os.path.join(ROOT, "src"), package, ignore=shutil.ignore_patterns("__pycache__"))
    module = package / "agent_ways" / "server" / "modules" / "ways.py"
    module.write_text(f"{module.read_text()}\n{BOAST}")
    done = run("--package", str(package))
    assert done.returncode == 1
    assert "NOT SO what is not proven is not claimed" in done.stdout


def test_a_server_that_does_not_start_ends_it_with_its_words(tmp_path: Path) -> None:
    done = run("--package", str(tmp_path))
    assert done.returncode == 1
    assert "NOT SO" in done.stdout
    assert "No module named 'agent_ways'" in done.stdout


def test_a_package_that_is_not_there_is_a_usage_error() -> None:
    done = run("--package", "/no/such/place")
    assert done.returncode == 2
    assert "/no/such/place is not there" in done.stderr


def test_a_reader_that_leaves_early_gets_no_traceback() -> None:
    process = subprocess.Popen(COMMAND, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1
    process.stderr.close()


def test_the_picture_in_the_docs_tells_the_steps_that_the_demo_has() -> None:
    with open(os.path.join(ROOT, "docs", "demo.svg"), encoding="utf-8") as file:
        pictured = html.unescape(re.sub(r"<[^>]*>", "", file.read())).replace("\xa0", " ")
    steps: list[str] = []
    for name in ("story.py", "talk.py"):
        with open(os.path.join(ROOT, "demo", name), encoding="utf-8") as file:
            steps += re.findall(r'narrator\.step\("([^"]+)"\)', file.read())
    assert len(steps) > 10
    assert [step for step in steps if step not in pictured] == []
