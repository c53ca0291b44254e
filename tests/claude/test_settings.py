"""The client's settings, as far as they decide what may reach a session."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from agent_ways.claude.settings import Inbound, files, inbound, managed_file, read

if TYPE_CHECKING:
    from pathlib import Path


def laid_out(tmp_path: Path, **policies: str) -> list[str]:
    """The settings files of a session, with the policies that are given for some of them."""
    paths = files(str(tmp_path / "config"), str(tmp_path / "project"), managed=str(tmp_path / "managed.json"))
    names = dict(zip(("managed", "local", "project", "user"), paths, strict=True))
    for name, policy in policies.items():
        os.makedirs(os.path.dirname(names[name]), exist_ok=True)
        with open(names[name], "w", encoding="utf-8") as file:
            json.dump({"crossSessionInbound": policy, "model": "x"}, file)
    return paths


@pytest.mark.demand("CON-2")
@pytest.mark.parametrize(
    ("policies", "policy", "where"),
    [
        ({}, "default", None),
        ({"user": "hold"}, "hold", 3),
        ({"user": "accept", "project": "refuse"}, "refuse", 2),
        ({"user": "refuse", "project": "accept"}, "refuse", 3),
        ({"local": "hold", "project": "refuse"}, "refuse", 2),
        ({"managed": "accept", "project": "refuse"}, "accept", 0),
        ({"managed": "hold", "user": "accept"}, "hold", 0),
    ],
)
def test_the_managed_file_decides_and_below_it_the_strictest(
    tmp_path: Path, policies: dict[str, str], policy: str, where: int | None
) -> None:
    paths = laid_out(tmp_path, **policies)
    assert inbound(paths) == Inbound(policy, None if where is None else paths[where])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"crossSessionInbound": 5}', b"null"])
def test_a_broken_file_says_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    assert inbound([str(path)]).policy == "default"


def test_what_is_no_file_never_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert read(str(tmp_path / "fifo")) == {}
    assert read(str(tmp_path)) == {}
    assert read("a\0b") == {}


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'\xef\xbb\xbf{"crossSessionInbound": "hold"}')
    assert inbound([str(path)]).policy == "hold"


def test_a_session_without_a_project_has_two_files() -> None:
    assert files("/c", None) == [managed_file(), "/c/settings.json"]
