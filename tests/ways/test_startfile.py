from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from agent_ways.ways.startfile import put_on_path

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.demand("LIFE-1")


@pytest.mark.parametrize(
    ("shell", "platform", "line"),
    [
        ("/bin/bash", "linux", "echo 'export PATH=\"$HOME/.local/bin:$PATH\"' >> ~/.bashrc"),
        ("/bin/bash", "darwin", "echo 'export PATH=\"$HOME/.local/bin:$PATH\"' >> ~/.bash_profile"),
        ("/usr/bin/zsh", "linux", "echo 'export PATH=\"$HOME/.local/bin:$PATH\"' >> ~/.zshrc"),
        ("/opt/fish", "darwin", 'fish_add_path "$HOME/.local/bin"'),
        ("/bin/dash", "linux", ""),
        ("", "linux", ""),
    ],
)
def test_the_line_is_for_the_persons_own_shell(shell: str, platform: str, line: str) -> None:
    assert put_on_path("/home/x/.local/bin", {"HOME": "/home/x", "SHELL": shell}, platform) == line


def test_a_folder_that_a_shell_would_read_otherwise_is_not_worded() -> None:
    for odd in ("/a'b", '/a"b', "/a$b", "/a`b", "/a\\b"):
        assert put_on_path(odd, {"HOME": "/home/x", "SHELL": "/bin/bash"}) == ""


def test_the_line_does_what_it_says(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "SHELL": "/bin/bash", "PATH": "/usr/bin:/bin"}
    line = put_on_path(str(tmp_path / "my programs"), env, "linux")
    subprocess.run(["sh", "-c", line], env=env, check=True)
    ran = subprocess.run(
        ["sh", "-c", '. ~/.bashrc && echo "$PATH"'], env=env, capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"{tmp_path}/my programs:/usr/bin:/bin\n"
