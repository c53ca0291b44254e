from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base import records
from agent_ways.base.errors import DamagedRecordError, NewerRecordError, StateError
from agent_ways.base.records import make_dirs, parse_record, read_record, write_bytes, write_record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PRELUDE = """
import os, signal, sys
from agent_ways.base.errors import WaysError
from agent_ways.base.records import make_dirs, read_record, write_bytes, write_record
path = sys.argv[1]
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a small file system is mounted")
VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def start(code: str, path: Path, *wrapper: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*wrapper, sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


def run(code: str, path: Path, *wrapper: str) -> tuple[int, str]:
    with start(code, path, *wrapper) as process:
        said, _ = process.communicate(timeout=60)
        return process.returncode, said.strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "record.json"


@pytest.mark.demand("ATT-1")
@given(st.dictionaries(st.text(), VALUE, max_size=5))
def test_a_record_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, record: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("records") / "x"
    record["v"] = 1
    write_record(str(path), record)
    assert read_record(str(path), 1) == record
    assert json.loads(path.read_text()) == record
    assert os.listdir(path.parent) == ["x"]


def test_a_missing_record_is_none(path: Path) -> None:
    assert read_record(str(path), 1) is None


@given(st.dictionaries(st.text(), VALUE, max_size=5))
def test_keys_that_a_caller_does_not_know_survive_its_change(
    tmp_path_factory: pytest.TempPathFactory, unknown: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("records") / "x"
    path.write_text(json.dumps({**unknown, "v": 1, "mine": 0}))
    record = read_record(str(path), 2)
    assert record is not None
    record["mine"] = 1
    write_record(str(path), record)
    assert list(json.loads(path.read_text()).items()) == list({**unknown, "v": 1, "mine": 1}.items())


def test_a_record_of_a_newer_version_is_told_and_left(path: Path) -> None:
    path.write_text('{"v": 3}')
    with pytest.raises(NewerRecordError, match=r"format 3.*knows 2") as caught:
        read_record(str(path), 2)
    assert "ways update" in caught.value.hint
    assert path.read_text() == '{"v": 3}'
    assert read_record(str(path), 3) == {"v": 3}


DAMAGED = [b"", b" ", b"{", b'{"v":1', b"[]", b"1", b"null", b"{}", b'{"v":0}', b'{"v":-1}', b'{"v":true}']
DAMAGED += [b'{"v":"1"}', b'{"v":1.0}', b'\xff{"v":1}', b'\xef\xbb\xbf{"v":1}', b'{"v":1}{"v":1}', b"[" * 100_000]


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: repr(data[:16]))
def test_what_is_no_record_is_told_as_damaged_and_left(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(DamagedRecordError) as caught:
        read_record(str(path), 1)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert path.read_bytes() == data


@pytest.mark.demand("ATT-11")
@given(st.binary(max_size=100))
def test_any_bytes_are_a_record_or_one_of_our_errors(data: bytes) -> None:
    try:
        record = parse_record(data, "x", 1)
    except StateError:
        return
    assert record["v"] == 1


def test_a_file_too_long_for_a_record_is_damaged_and_not_read_to_its_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text(json.dumps({"v": 1, "x": "y" * 100}))
    assert read_record(str(path), 1) is not None
    monkeypatch.setattr(records, "LONGEST", 50)
    with pytest.raises(DamagedRecordError):
        read_record(str(path), 1)


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "fifo"])
def test_a_folder_or_fifo_with_a_records_name_is_an_error_and_never_blocks(
    path: Path, make: Callable[[Path], None]
) -> None:
    make(path)
    with pytest.raises(StateError):
        read_record(str(path), 1)


@pytest.mark.demand("ATT-11")
def test_a_fifo_that_someone_holds_open_never_blocks(path: Path) -> None:
    os.mkfifo(path)
    fd = os.open(path, os.O_RDWR)
    try:
        with pytest.raises(StateError):
            read_record(str(path), 1)
    finally:
        os.close(fd)


@pytest.mark.demand("ATT-11")
def test_a_dangling_link_is_no_record_and_is_replaced_by_one(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "missing")
    assert read_record(str(path), 1) is None
    write_record(str(path), {"v": 1})
    assert not path.is_symlink()
    assert read_record(str(path), 1) == {"v": 1}


def test_a_link_that_leads_to_itself_is_an_error(path: Path) -> None:
    path.symlink_to(path)
    with pytest.raises(StateError):
        read_record(str(path), 1)


TELL = """
try:
    {}
except WaysError as error:
    print(error.code, "|", error.message, "|", error.hint)
else:
    print("done")
"""


@pytest.mark.demand("ATT-11")
def test_a_record_that_may_not_be_read_is_a_clear_error(path: Path) -> None:
    path.write_text('{"v": 1}')
    path.chmod(0)
    for above in (path.parent, *path.parent.parents[:2]):
        above.chmod(above.stat().st_mode | 0o055)
    drop = "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n" if os.geteuid() == 0 else ""
    _, said = run(drop + TELL.format("read_record(path, 1)"), path)
    assert said.startswith(f"state | cannot read {path}: Permission denied | ")
    assert "access" in said


@pytest.mark.demand("ATT-1")
@pytest.mark.parametrize("umask", ["0o000", "0o022", "0o077", "0o777"])
def test_records_and_their_folders_are_private_whatever_the_umask(tmp_path: Path, umask: str) -> None:
    path = tmp_path / "a" / "b" / "x"
    code = f"os.umask({umask}); make_dirs(os.path.dirname(path)); write_record(path, {{'v': 1}})"
    assert run(code, path) == (0, "")
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_a_record_replaced_by_us_is_private_again(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0o666)
    write_record(str(path), {"v": 1})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    write_bytes(str(path), b"#!/bin/sh\n", 0o755)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_folders_that_are_there_keep_their_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    make_dirs(str(tmp_path / "a"))
    make_dirs(str(tmp_path / "a"))
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o750


def test_a_file_where_a_folder_belongs_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    for below in ("a", "a/b"):
        with pytest.raises(StateError, match="Not a directory"):
            make_dirs(str(tmp_path / below))


def test_many_processes_make_the_same_folders_at_once(tmp_path: Path) -> None:
    code = """
        children = []
        for _ in range(20):
            child = os.fork()
            if not child:
                for depth in range(30):
                    make_dirs(os.path.join(path, *"abcdefghij"[:depth % 10], str(depth)))
                os._exit(0)
            children.append(child)
        print([os.waitpid(child, 0)[1] for child in children].count(0))
    """
    assert run(code, tmp_path / "x") == (0, "20")


@pytest.mark.parametrize("step", ["open", "write", "fsync", "rename"])
def test_a_writer_killed_before_any_step_leaves_the_old_record_whole(path: Path, step: str) -> None:
    write_record(str(path), {"v": 1, "is": "old"})
    code = f"""
        os.{step} = lambda *rest: os.kill(os.getpid(), signal.SIGKILL)
        write_record(path, {{"v": 1, "is": "new"}})
    """
    assert run(code, path) == (-signal.SIGKILL, "")
    assert read_record(str(path), 1) == {"v": 1, "is": "old"}
    left = [name for name in os.listdir(path.parent) if name != path.name]
    assert all(name.startswith(".") and name.endswith(".tmp") for name in left)
    write_record(str(path), {"v": 1, "is": "next"})
    assert read_record(str(path), 1) == {"v": 1, "is": "next"}


@pytest.mark.field_report(22)
def test_a_writer_killed_at_any_moment_leaves_one_whole_record(path: Path) -> None:
    code = """
        for count in range(10**6):
            write_record(path, {"v": 1, "count": count, "again": [count] * 2000})
            print(flush=True)
    """
    for rounds in range(1, 6):
        with start(code, path) as process:
            assert process.stdout is not None
            for _ in range(rounds * 3):
                process.stdout.readline()
            process.kill()
        record = read_record(str(path), 1)
        assert record is not None
        assert record["again"] == [record["count"]] * 2000


def test_a_reader_beside_a_writer_always_sees_a_whole_record(path: Path) -> None:
    write_record(str(path), {"v": 1, "count": 0, "again": [0] * 500})
    code = """
        for count in range(300):
            write_record(path, {"v": 1, "count": count, "again": [count] * 500})
    """
    with start(code, path) as process:
        while process.poll() is None:
            record = read_record(str(path), 1)
            assert record is not None
            assert record["again"] == [record["count"]] * 500


def test_writers_at_once_leave_one_record_and_no_temporary_files(path: Path) -> None:
    code = """
        children = []
        for number in range(20):
            child = os.fork()
            if not child:
                for _ in range(5):
                    write_record(path, {"v": 1, "by": number})
                os._exit(0)
            children.append(child)
        print([os.waitpid(child, 0)[1] for child in children].count(0))
    """
    assert run(code, path) == (0, "20")
    assert os.listdir(path.parent) == [path.name]
    assert (read_record(str(path), 1) or {})["by"] in range(20)


@needs_root
@pytest.mark.demand("ATT-11")
def test_a_full_disk_is_a_clear_error_and_leaves_the_tree_unchanged(tmp_path: Path) -> None:
    code = """
        write_record(path, {"v": 1, "is": "old"})
        with open(path + ".fill", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        before = sorted(os.listdir(os.path.dirname(path)))
        try:
            write_record(path, {"v": 1, "is": "new"})
        except WaysError as error:
            print(error.code, "|", error.message, "|", error.hint)
        assert sorted(os.listdir(os.path.dirname(path))) == before
        assert read_record(path, 1) == {"v": 1, "is": "old"}
    """
    script = f'mount -t tmpfs -o size=32k none {tmp_path} && "$0" "$@"'
    returned, said = run(code, tmp_path / "x", "unshare", "--mount", "sh", "-c", script)
    assert returned == 0
    assert said.startswith(f"state | cannot write {tmp_path}/x: No space left on device | ")


@pytest.mark.demand("ATT-11")
def test_too_many_open_files_is_a_clear_error_and_changes_nothing(path: Path) -> None:
    write_record(str(path), {"v": 1})
    exhaust = """
import errno, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
kept = []
try:
    while True:
        kept.append(os.open("/", os.O_RDONLY))
except OSError:
    pass
"""
    _, said = run(exhaust + TELL.format("read_record(path, 1)") + TELL.format("write_record(path, {'v': 2})"), path)
    read, written = said.splitlines()
    assert read.startswith(f"state | cannot read {path}: Too many open files | ")
    assert written.startswith(f"state | cannot write {path}: Too many open files | ")
    assert os.listdir(path.parent) == [path.name]
    assert read_record(str(path), 1) == {"v": 1}


def test_a_write_into_a_missing_folder_is_a_clear_error(path: Path) -> None:
    with pytest.raises(StateError, match="cannot write"):
        write_record(str(path.parent / "none" / "x"), {"v": 1})


def test_a_folder_with_the_records_name_is_not_replaced(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StateError, match="cannot write"):
        write_record(str(path), {"v": 1})
    assert os.listdir(path.parent) == [path.name]


def test_taking_away_what_is_gone_or_can_not_go_is_nothing(tmp_path: Path) -> None:
    records.remove(str(tmp_path / "none"))
    records.remove(str(tmp_path))
    assert tmp_path.is_dir()
    records.sync_dir(str(tmp_path / "none"))


@pytest.mark.parametrize("moment", ["write", "rename"])
def test_an_interrupt_in_the_midst_of_a_write_leaves_the_old_record_and_nothing_else(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "record.json")
    write_record(path, {"v": 1, "x": "old"})

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, moment, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_record(path, {"v": 1, "x": "new"})
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["record.json"]
    assert read_record(path, 1) == {"v": 1, "x": "old"}
