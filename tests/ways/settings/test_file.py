from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_ways.base.errors import RefusedError, StateError
from agent_ways.base.records import write_bytes
from agent_ways.ways.settings import file as settings_file
from agent_ways.ways.settings.file import ChangedError, look, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.demand("LIFE-4")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "settings.json"
    found.write_text('{"a": 1}')
    found.chmod(0o640)
    return found


def test_a_file_is_replaced_with_its_mode_and_what_was_there_is_kept(path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "state" / "kept.json"
    write(look(str(path)), "{}", str(backup))
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("{}", 0o640)
    assert (backup.read_text(), backup.stat().st_mode & 0o777) == ('{"a": 1}', 0o600)


def test_a_file_that_is_not_there_is_made_private_and_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write(look(str(path)), "{}", str(tmp_path / "backup"))
    assert path.stat().st_mode & 0o777 == 0o600
    write(look(str(path)), None, str(tmp_path / "backup"))
    assert not path.exists()


def test_a_link_stays_a_link_and_its_file_is_written(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "dotfiles.json"
    link.symlink_to(path.name)
    seen = look(str(link))
    assert seen.linked
    write(seen, "{}", str(tmp_path / "backup"))
    assert link.is_symlink()
    assert path.read_text() == "{}"


def test_what_is_read_only_is_somebody_elses(path: Path, tmp_path: Path) -> None:
    path.chmod(0o444)
    seen = look(str(path))
    assert seen.managed == "is read-only"
    with pytest.raises(RefusedError):
        write(seen, "{}", str(tmp_path / "backup"))
    assert path.read_text() == '{"a": 1}'


@pytest.mark.parametrize("kind", ["folder", "fifo", "not text", "dangling", "loop"])
def test_what_can_not_be_read_is_told_and_holds_nobody(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "not text":
        path.write_bytes(b"\xff\xfe{}")
    else:
        path.symlink_to("nowhere" if kind == "dangling" else path)
    seen = look(str(path))
    assert seen.trouble
    assert seen.text is None


def test_what_another_wrote_meanwhile_is_not_touched(path: Path, tmp_path: Path) -> None:
    seen = look(str(path))
    path.write_text('{"a": 2}')
    with pytest.raises(ChangedError):
        write(seen, "{}", str(tmp_path / "backup"))
    assert path.read_text() == '{"a": 2}'


def test_what_another_wrote_right_behind_us_is_not_put_back(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = look(str(path))
    real = settings_file.look

    def after_another(name: str) -> settings_file.Seen:
        path.write_text('{"a": 3}')
        return real(name)

    monkeypatch.setattr(settings_file, "look", after_another)
    with pytest.raises(ChangedError):
        write(seen, "{}", str(tmp_path / "backup"))
    assert path.read_text() == '{"a": 3}'


def test_what_does_not_read_back_as_written_is_put_back(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = look(str(path))
    real = settings_file.look

    def half(name: str) -> settings_file.Seen:
        path.write_text("{")
        return real(name)

    monkeypatch.setattr(settings_file, "look", half)
    with pytest.raises(StateError, match="did not read back"):
        write(seen, '{"b": 1}', str(tmp_path / "backup"))
    assert path.read_text() == '{"a": 1}'


def test_a_disk_that_is_full_leaves_it_as_it_was(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = look(str(path))
    backup = tmp_path / "backup.json"

    def full(name: str, data: bytes, mode: int = 0o600) -> None:
        if name == str(path):
            raise StateError(f"cannot write {name}: No space left on device")
        write_bytes(name, data, mode)

    monkeypatch.setattr(settings_file, "write_bytes", full)
    with pytest.raises(StateError, match="No space"):
        write(seen, "{}", str(backup))
    assert path.read_text() == '{"a": 1}'
