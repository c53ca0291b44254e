from __future__ import annotations

import pytest

from agent_ways.ways import render
from agent_ways.ways.report import Line, Status

LINE = Line(Status.NOTE, "/home/x/.claude", "one two three four five six seven eight", "rm -r /home/x/y")


def test_on_a_terminal_a_finding_hangs_and_its_repair_can_still_be_copied() -> None:
    assert render.for_terminal(LINE, 40, "/home/x").split("\n") == [
        "note     ~/.claude: one two three four",
        "           five six seven eight",
        "         what to do: rm -r /home/x/y",
    ]


def test_in_a_pipe_it_is_one_line_with_full_paths() -> None:
    assert render.text_of(LINE).split("\n") == [
        "note     /home/x/.claude: one two three four five six seven eight",
        "         what to do: rm -r /home/x/y",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/x/.claude -> /home/x/a", "~/.claude -> ~/a"),
        ("in /home/x, and (/home/x)", "in ~, and (~)"),
        ("/home/xy/a /mnt/home/x/a", "/home/xy/a /mnt/home/x/a"),
    ],
)
def test_the_home_is_a_tilde_only_where_it_is_the_home(text: str, shown: str) -> None:
    assert render.shorten_home(text, "/home/x/") == shown
    assert render.shorten_home(text, "") == text
    assert render.shorten_home(text, "/") == text
