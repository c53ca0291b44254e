"""Being told of changes, and knowing where that is not to be relied on."""

from __future__ import annotations

import ctypes
import os
import select
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.base.watch import FileWatch, file_watch

if TYPE_CHECKING:
    from pathlib import Path


class Kernel:
    """The C library of a machine whose file systems are all of one kind."""

    def __init__(self, magic: int, fails: bool = False) -> None:
        self.magic, self.fails = magic, fails

    def statfs(self, path: bytes, found: Any) -> int:
        assert os.path.isabs(path)
        found[0] = self.magic
        return -1 if self.fails else 0


def watch_on(magic: int, fails: bool = False) -> FileWatch:
    return FileWatch(Kernel(magic, fails), -1)  # type: ignore[arg-type]  # as much of it as is asked


@pytest.mark.demand("ATT-11")
def test_a_change_is_told_and_a_local_file_system_tells_of_all(tmp_path: Path) -> None:
    watch = file_watch()
    assert watch is not None
    assert watch.add(str(tmp_path))
    (tmp_path / "new").touch()
    assert select.select([watch.fd], [], [], 10)[0]
    assert watch.tells_all(str(tmp_path))
    watch.close()


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize(
    ("magic", "tells"),
    [
        (0xEF53, True),
        (0x9123683E, True),
        (0x01021994, True),
        (0x794C7630, True),
        (0x6969, False),
        (0x65735546, False),
        (0xFE534D42, False),
        (ctypes.c_int32(0xFE534D42).value, False),
        (0x01021997, False),
    ],
    ids=["ext4", "btrfs", "tmpfs", "overlay", "nfs", "fuse", "smb2", "smb2-signed", "9p"],
)
def test_on_a_file_system_that_other_machines_write_to_not_all_is_told(magic: int, tells: bool, tmp_path: Path) -> None:
    assert watch_on(magic).tells_all(str(tmp_path)) is tells


@pytest.mark.demand("ATT-11")
def test_where_the_kind_is_not_to_be_had_the_watch_is_believed(tmp_path: Path) -> None:
    assert watch_on(0x6969, fails=True).tells_all(str(tmp_path))
