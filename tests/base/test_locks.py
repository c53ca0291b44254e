from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base.errors import LockHeldError, StateError
from agent_ways.base.jsontext import dumps, loads
from agent_ways.base.locks import Lock
from agent_ways.base.process import Owner, process_table, this_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = this_process(process_table(), {})
PRELUDE = """
import os, sys
from agent_ways.base.errors import WaysError
from agent_ways.base.locks import Lock
from agent_ways.base.process import process_table, this_process
path = sys.argv[1]
owner = this_process(process_table(), {})
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a small or read-only file system is mounted")


def words(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", PRELUDE + textwrap.dedent(code), *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def run(code: str, *arguments: str, wrapper: tuple[str, ...] = ()) -> str:
    command = [*wrapper, *words(code, *arguments)]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=60, env=environment()
    ).stdout.strip()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "locks" / "one.lock")


@pytest.fixture
def holder(path: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends."""
    code = "Lock(path, owner).acquire(); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        words(code, path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def stranger(**changes: str) -> Owner:
    raw = {"host": "far", "boot": "another boot", "namespace": "pid:[1]", "pid": os.getpid(), "start": HERE.start}
    owner = Owner.from_json({**raw, **changes})
    assert owner is not None
    return owner


def put_proof(path: str, owner: Owner) -> bytes:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = dumps({"v": 1, "owner": owner.to_json()}).encode("ascii") + b"\n"
    Path(path).write_bytes(data)
    return data


@pytest.mark.demand("ATT-7")
def test_a_lock_names_its_owner_while_held_and_nobody_after(path: str) -> None:
    lock = Lock(path, HERE)
    with lock:
        during = lock.held
        assert loads(Path(path).read_text())["owner"] == HERE.to_json()
        assert Lock(path, HERE).holder() == HERE
    assert (during, lock.held) == (True, False)
    assert Path(path).read_bytes() == b""
    assert lock.holder() is None


@pytest.mark.demand("ATT-7")
def test_a_lock_is_let_go_when_its_block_raises(path: str) -> None:
    with pytest.raises(KeyError), Lock(path, HERE):
        raise KeyError
    assert Lock(path, HERE).try_acquire()


@pytest.mark.demand("ATT-7")
def test_taking_a_held_lock_twice_in_one_process_is_refused_and_never_hangs(path: str) -> None:
    lock = Lock(path, HERE)
    with lock:
        with pytest.raises(LockHeldError, match="this very process"):
            lock.acquire()
        assert not Lock(path, HERE).try_acquire()
        assert lock.held


def test_letting_go_of_what_is_not_held_is_nothing(path: str) -> None:
    Lock(path, HERE).release()
    assert not os.path.exists(path)


@pytest.mark.demand("ATT-1", "ATT-7")
def test_a_lock_file_and_its_folder_are_private_whatever_the_umask(tmp_path: Path) -> None:
    for umask in ("0", "0o22", "0o777"):
        path = tmp_path / umask / "x.lock"
        run(f"os.umask({umask}); Lock(path, owner).acquire()", str(path))
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.demand("ATT-7")
@pytest.mark.field_report(59)
def test_a_stopped_holder_makes_the_wait_bounded_and_is_named(path: str, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
    before = time.monotonic()
    with pytest.raises(LockHeldError, match=rf"process {holder.pid} on ") as caught:
        Lock(path, HERE, patience=0.1).acquire()
    assert 0.1 <= time.monotonic() - before < 2
    assert f"ps -p {holder.pid}" in caught.value.hint


@pytest.mark.demand("ATT-7")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_dead_holders_lock_is_taken_over_though_its_proof_still_stands(
    path: str, holder: subprocess.Popen[str], number: signal.Signals
) -> None:
    holder.send_signal(number)
    holder.wait(timeout=10)
    found = Lock(path, HERE).holder()
    assert found is not None
    assert found.pid == holder.pid
    with Lock(path, HERE, patience=0):
        assert Lock(path, HERE).holder() == HERE


@pytest.mark.demand("ATT-7")
def test_a_waiter_gets_the_lock_once_the_holder_lets_go(path: str, holder: subprocess.Popen[str]) -> None:
    assert holder.stdin is not None
    assert not Lock(path, HERE).try_acquire()
    holder.stdin.close()
    Lock(path, HERE, patience=20).acquire()


@pytest.mark.demand("ATT-7")
@pytest.mark.parametrize("changes", [{}, {"boot": ""}])
def test_another_machines_uncleared_lock_is_never_stolen(path: str, changes: dict[str, str]) -> None:
    before = put_proof(path, stranger(**changes))
    here = stranger(host="near", boot=changes.get("boot", HERE.boot))
    with pytest.raises(LockHeldError, match="on far") as caught:
        Lock(path, here, patience=0).acquire()
    assert path in caught.value.hint
    assert Path(path).read_bytes() == before


@pytest.mark.demand("ATT-7")
@pytest.mark.parametrize(
    "proof",
    [
        stranger(host=HERE.host),  # this machine before a reboot
        stranger(boot=HERE.boot),  # a container of this machine, whose flock would be seen
        stranger(host=HERE.host, boot=HERE.boot, namespace="pid:[7]"),
    ],
)
def test_a_proof_of_this_machine_without_its_flock_is_a_dead_owners(path: str, proof: Owner) -> None:
    put_proof(path, proof)
    with Lock(path, HERE, patience=0):
        assert Lock(path, HERE).holder() == HERE


@pytest.mark.demand("ATT-11")
@given(st.binary(max_size=200) | st.just(b"[" * 5000) | st.just(b'{"owner":{"pid":"1"}}'))
def test_whatever_a_lock_file_holds_it_can_be_taken(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("locks") / "x.lock"
    path.write_bytes(data)
    with Lock(str(path), HERE, patience=0):
        assert Lock(str(path), HERE).holder() == HERE


class FakeClock:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.mark.demand("ATT-7")
@given(patience=st.floats(0, 30))
def test_the_wait_lasts_as_long_as_the_patience_and_no_longer(
    tmp_path_factory: pytest.TempPathFactory, patience: float
) -> None:
    path = str(tmp_path_factory.mktemp("locks") / "x.lock")
    clock = FakeClock()
    with Lock(path, HERE), pytest.raises(LockHeldError):
        Lock(path, HERE, patience, clock, clock.sleep).acquire()
    assert clock.now == pytest.approx(patience)
    assert all(0 < seconds <= 0.05 for seconds in clock.slept)


@pytest.mark.demand("ATT-7")
def test_fifty_processes_each_get_the_lock_and_never_two_at_once(path: str) -> None:
    code = """
        def work():
            mine = this_process(process_table(), {})
            for _ in range(4):
                with Lock(path, mine, patience=50):
                    with open(path + ".count", "r+") as file:
                        count = int(file.read())
                        file.seek(0)
                        file.write(str(count + 1))
        os.makedirs(os.path.dirname(path))
        open(path + ".count", "w").write("0")
        children = []
        for _ in range(50):
            child = os.fork()
            if not child:
                work()
                os._exit(0)
            children.append(child)
        print([os.waitpid(child, 0)[1] for child in children].count(0))
    """
    assert run(code, path) == "50"
    assert Path(path + ".count").read_text() == "200"


TELL = """
try:
    Lock(path, owner, patience=0).acquire()
except WaysError as error:
    print(error.code, "|", error.message, "|", error.hint)
else:
    print("acquired")
"""


def as_nobody(code: str) -> str:
    return "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n" + code if os.geteuid() == 0 else code


@pytest.mark.demand("ATT-11")
def test_a_folder_that_can_not_be_written_is_a_clear_error(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | 0o055)
    assert run(as_nobody(TELL), str(folder / "x.lock")).startswith(f"state | cannot open {folder}/x.lock: Permission")
    assert list(folder.iterdir()) == []


@needs_root
@pytest.mark.demand("ATT-11")
def test_a_read_only_file_system_is_a_clear_error(tmp_path: Path) -> None:
    script = f'mount -t tmpfs -o ro none {tmp_path} && "$0" "$@"'
    said = run(TELL, str(tmp_path / "x.lock"), wrapper=("unshare", "--mount", "sh", "-c", script))
    assert said.startswith("state | cannot open ")
    assert "name another place" in said


@needs_root
@pytest.mark.demand("ATT-11")
def test_a_full_disk_is_a_clear_error_and_leaves_the_lock_free(tmp_path: Path) -> None:
    fill = """
with open(path + ".fill", "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
"""
    after = 'os.unlink(path + ".fill")' + TELL
    script = f'mount -t tmpfs -o size=32k none {tmp_path} && "$0" "$@"'
    said = run(fill + TELL + after, str(tmp_path / "x.lock"), wrapper=("unshare", "--mount", "sh", "-c", script))
    full, free = said.splitlines()
    assert full.startswith("state | cannot write ")
    assert "space" in full
    assert free == "acquired"


@pytest.mark.demand("ATT-11")
def test_too_many_open_files_is_a_clear_error(path: str) -> None:
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
    os.makedirs(os.path.dirname(path))
    said = run(exhaust + TELL, path)
    assert said.startswith("state | cannot open ")
    assert "ulimit" in said


def make_link(path: str) -> None:
    os.symlink(os.path.join(os.path.dirname(path), "missing", "file"), path)


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, make_link], ids=["folder", "fifo", "dangling link"])
def test_something_else_with_the_locks_name_is_a_clear_error_and_never_hangs(
    path: str, make: Callable[[str], None]
) -> None:
    os.makedirs(os.path.dirname(path))
    make(path)
    with pytest.raises(StateError, match="cannot"):
        Lock(path, HERE, patience=0).acquire()
    assert Lock(path, HERE).holder() is None
