from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import psutil  # type: ignore[import-untyped]  # ships no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base import process as process_module
from agent_ways.base.process import (
    Owner,
    Process,
    ProcTable,
    PsTable,
    SplitWords,
    alive,
    boot_id,
    pid_namespace,
    process_table,
    this_process,
)
from tests.support.fake_proc import FakeTable, ProcTree, stat_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_ways.base.process import ProcessTable

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/1"), reason="needs Linux's /proc to compare with")
NAMES = [b"a b", b"(sd-pam)", b"x) S 1 1 (y", b"new\nline", b") Z 0", b"", b"\xff\xfe", b"tmux: server"]


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path / "proc")


@pytest.mark.demand("ID-4")
@pytest.mark.field_report(41)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_stat_may_hold_spaces_parentheses_and_newlines(tree: ProcTree, name: bytes) -> None:
    tree.add(700, 600, "4242", name=name)
    assert ProcTable(str(tree.root)).look(700) == Process(pid=700, parent=600, start="4242")


@pytest.mark.demand("ID-4")
@given(
    name=st.binary(max_size=15).filter(lambda name: b"\0" not in name),
    parent=st.integers(0, 2**22),
    start=st.integers(0, 2**63),
)
def test_no_name_moves_the_fields_behind_it(
    tmp_path_factory: pytest.TempPathFactory, name: bytes, parent: int, start: int
) -> None:
    root = tmp_path_factory.mktemp("proc")
    (root / "9").mkdir()
    (root / "9" / "stat").write_bytes(stat_line(9, parent, str(start), name=name))
    assert ProcTable(str(root)).look(9) == Process(pid=9, parent=parent, start=str(start))


@pytest.mark.parametrize("state", ["Z", "X", "x"])
def test_a_zombie_is_no_live_process(tree: ProcTree, state: str) -> None:
    tree.add(700, state=state)
    assert ProcTable(str(tree.root)).look(700) is None


@pytest.mark.parametrize("data", [b"", b"700", b"700 (x", b"700 (x) S 1", b"700 (x) " + b"S " * 30])
def test_a_stat_that_is_cut_short_or_nonsense_is_no_process(tree: ProcTree, data: bytes) -> None:
    tree.add(700)
    (tree.root / "700" / "stat").write_bytes(data)
    assert ProcTable(str(tree.root)).look(700) is None


@pytest.mark.demand("ID-4")
def test_without_proc_there_is_no_process_and_no_error(tmp_path: Path) -> None:
    table = ProcTable(str(tmp_path / "none"))
    assert table.look(1) is None
    assert table.look(os.getpid()) is None
    assert table.argv(1) is None


@pytest.mark.demand("ID-4")
def test_arguments_are_read_as_typed(tree: ProcTree) -> None:
    tree.add(700, argv=[b"claude", b"a b", b"", b"line\nline", b"\xff"])
    assert ProcTable(str(tree.root)).argv(700) == ("claude", "a b", "", "line\nline", "�")


@pytest.mark.demand("ID-3")
def test_arguments_that_were_wiped_are_unreadable_and_not_none(tree: ProcTree) -> None:
    tree.add(700)
    assert ProcTable(str(tree.root)).argv(700) is None


def run(code: str, *wrapper: str) -> str:
    """What a fresh interpreter prints, started through `wrapper`."""
    words = [*wrapper, sys.executable, "-c", textwrap.dedent(code)]
    path = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        words, check=True, capture_output=True, text=True, timeout=30, env={**os.environ, "PYTHONPATH": path}
    ).stdout.strip()


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a namespace or another user is made for it")


@needs_root
@pytest.mark.demand("ID-4")
def test_the_proc_of_another_pid_namespace_is_not_believed() -> None:
    code = "import os; from agent_ways.base.process import ProcTable; print(os.getpid(), ProcTable().look(os.getpid()))"
    assert run(code, "unshare", "--pid", "--fork") == "1 None"


@needs_root
@pytest.mark.demand("ID-4")
def test_in_a_container_with_its_own_proc_the_process_is_found() -> None:
    code = "import os; from agent_ways.base.process import ProcTable as T; print(T().look(os.getpid()).parent)"
    assert run(code, "unshare", "--pid", "--fork", "--mount-proc") == "0"


@needs_root
@pytest.mark.demand("ID-4")
@pytest.mark.field_report(41)
def test_processes_hidden_by_hidepid_are_not_seen_and_raise_nothing() -> None:
    code = """
        import os
        from agent_ways.base.process import ProcTable
        os.setgroups([])
        os.setgid(65534)  # group 0 is exempt
        os.setuid(65534)
        table = ProcTable("/proc")
        own = table.look(os.getpid())
        print(own is not None, table.look(own.parent), table.argv(own.parent))
    """
    script = 'mount -t proc -o hidepid=2 proc /proc && "$0" "$@"; exit $?'
    assert run(code, "unshare", "--mount", "--pid", "--fork", "sh", "-c", script) == "True None None"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()", "one", "two"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.demand("ID-4")
@pytest.mark.parametrize("table", [ProcTable(), PsTable()], ids=["proc", "ps"])
def test_both_tables_agree_with_psutil_on_a_real_child(table: ProcessTable, child: subprocess.Popen[bytes]) -> None:
    other = psutil.Process(child.pid)
    found = table.look(child.pid)
    assert found is not None
    assert (found.pid, found.parent) == (child.pid, other.ppid()) == (child.pid, os.getpid())
    assert alive(table, child.pid, found.start)
    assert table.argv(child.pid) is not None
    child.kill()
    psutil.wait_procs([other], timeout=10)  # reaped here, or left a zombie: neither is alive
    assert not alive(table, child.pid, found.start)


@pytest.mark.demand("ID-4")
def test_proc_tells_a_childs_arguments_as_psutil_does(child: subprocess.Popen[bytes]) -> None:
    assert ProcTable().argv(child.pid) == tuple(psutil.Process(child.pid).cmdline())


@pytest.mark.demand("ID-3", "ID-4")
def test_arguments_from_ps_are_marked_as_come_apart(child: subprocess.Popen[bytes]) -> None:
    found = PsTable().argv(child.pid)
    assert isinstance(found, SplitWords)
    assert found == tuple(" ".join(psutil.Process(child.pid).cmdline()).split())


@pytest.mark.demand("ID-4")
def test_every_process_of_this_machine_has_the_same_parent_in_both_tables() -> None:
    table, ps = ProcTable(), PsTable()
    for pid in psutil.pids()[:40]:
        found, shown = table.look(pid), ps.look(pid)
        if found is not None and shown is not None and table.look(pid) == found:
            assert shown.parent == found.parent


@pytest.mark.demand("ID-4")
def test_a_zombie_is_not_alive_in_either_table(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE
    assert ProcTable().look(child.pid) is None
    assert PsTable().look(child.pid) is None


@pytest.mark.demand("ID-4")
def test_a_stopped_process_is_alive(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert ProcTable().look(child.pid) is not None
    assert PsTable().look(child.pid) is not None


def fake_ps(tmp_path: Path, body: str) -> PsTable:
    script = tmp_path / "ps"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return PsTable(str(script))


@pytest.mark.demand("ID-4")
@pytest.mark.parametrize("day", ["Nov  3", "Nov 30"])
def test_a_start_from_ps_is_text_with_its_spaces_collapsed(tmp_path: Path, day: str) -> None:
    table = fake_ps(tmp_path, f'echo "  612 Ss+  Mon {day} 21:21:06 2026   "')
    shown = " ".join(day.split())
    assert table.look(700) == Process(pid=700, parent=612, start=f"Mon {shown} 21:21:06 2026")


@pytest.mark.demand("ID-4")
def test_ps_is_asked_in_the_c_locale_and_utc_for_one_process_at_full_width(tmp_path: Path) -> None:
    table = fake_ps(tmp_path, f'echo "$LC_ALL $TZ $LANG|$*" > {tmp_path}/asked; echo 1 S now')
    table.look(700)
    assert (tmp_path / "asked").read_text() == "C UTC |-ww -o ppid=,state=,lstart= -p 700\n"


@pytest.mark.demand("ID-4")
@pytest.mark.parametrize(
    "body",
    ["exit 1", "echo", "echo 1", "echo 1 S", "echo 1 Z now", "echo x S now", "printf '\\377'", "kill -9 $$"],
)
def test_an_answer_of_ps_that_names_no_live_process_is_none(tmp_path: Path, body: str) -> None:
    assert fake_ps(tmp_path, body).look(700) is None


@pytest.mark.demand("ID-4")
def test_a_missing_ps_is_no_process_and_no_error(tmp_path: Path) -> None:
    table = PsTable(str(tmp_path / "none"))
    assert table.look(os.getpid()) is None
    assert table.argv(os.getpid()) is None


def test_this_machines_table_finds_this_process() -> None:
    found = process_table().look(os.getpid())
    assert found is not None
    assert found.parent == os.getppid()


@pytest.mark.demand("SRV-11", "ATT-7")
@pytest.mark.field_report(42)
def test_a_reused_pid_is_not_the_process_that_had_it() -> None:
    table = FakeTable()
    first = table.add(700, start="1000")
    assert alive(table, 700, first.start)
    table.end(700)
    table.add(700, start="2000")
    assert not alive(table, 700, first.start)


def owner(**changes: str | int) -> Owner:
    raw: dict[str, str | int] = {"host": "here", "boot": "b1", "namespace": "n1", "pid": 700, "start": "1000"}
    found = Owner.from_json({**raw, **changes})
    assert found is not None
    return found


@pytest.mark.demand("ATT-6", "ATT-7")
@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "alive"),
        ({"start": "999"}, "dead"),
        ({"pid": 701}, "dead"),
        ({"boot": "b0"}, "dead"),
        ({"namespace": "n2"}, "unknown"),
        ({"host": "there"}, "unknown"),
        ({"host": "there", "boot": "b0", "pid": 701}, "unknown"),
        ({"boot": "b0", "namespace": "n2"}, "dead"),
    ],
)
def test_what_another_host_or_pid_namespace_owns_is_unknown(changes: dict[str, str | int], verdict: str) -> None:
    table = FakeTable()
    table.add(700, start="1000")
    assert owner(**changes).verdict(owner(), table) == verdict


@pytest.mark.demand("ATT-6", "ATT-7", "SRV-11")
@pytest.mark.parametrize(
    ("changes", "here", "verdict"),
    [
        ({"boot": ""}, {}, "alive"),
        ({}, {"boot": ""}, "alive"),
        ({"boot": ""}, {"boot": ""}, "alive"),
        ({"boot": "", "start": "999"}, {}, "unknown"),
        ({"start": "999"}, {"boot": ""}, "unknown"),
        ({"boot": "", "pid": 701}, {"boot": ""}, "unknown"),
        ({"boot": "", "namespace": ""}, {}, "unknown"),
        ({"start": ""}, {}, "unknown"),
        ({"start": "", "boot": "b0"}, {}, "dead"),
        ({"pid": 701}, {"start": ""}, "unknown"),
        ({"host": "there", "boot": ""}, {}, "unknown"),
    ],
)
def test_where_a_boot_or_a_start_could_not_be_read_nobody_is_called_dead(
    changes: dict[str, str | int], here: dict[str, str | int], verdict: str
) -> None:
    table = FakeTable()
    table.add(700, start="1000")
    assert owner(**changes).verdict(owner(**here), table) == verdict


@given(st.text(), st.text(), st.text(), st.integers(), st.text())
def test_an_owner_survives_its_record(host: str, boot: str, namespace: str, pid: int, start: str) -> None:
    one = Owner(host=host, boot=boot, namespace=namespace, pid=pid, start=start)
    assert Owner.from_json(one.to_json()) == one
    assert hash(Owner.from_json(one.to_json())) == hash(one)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*Owner.__slots__, "x"]), inner),
    )
)
def test_any_other_value_is_an_owner_with_the_right_types_or_none(raw: object) -> None:
    found = Owner.from_json(raw)
    if found is not None:
        assert type(found.pid) is int
        assert all(isinstance(getattr(found, name), str) for name in ("host", "boot", "namespace", "start"))


@pytest.mark.demand("ATT-7")
def test_this_process_is_alive_to_itself() -> None:
    here = this_process(process_table(), {})
    assert here.pid == os.getpid()
    assert here.boot == boot_id() != ""
    assert here.namespace == pid_namespace()
    assert here.verdict(here, process_table()) == "alive"
    assert this_process(process_table(), {"AGENT_WAYS_HOST": "other"}).verdict(here, process_table()) == "unknown"


@pytest.mark.demand("ATT-7")
def test_without_proc_a_mac_tells_its_boot_by_sysctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "sysctl"
    script.write_text('#!/bin/sh\n[ "$*" = "-n kern.bootsessionuuid" ] && echo 7B1C\n')
    script.chmod(0o755)
    monkeypatch.setattr(process_module, "_read", lambda _path: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "freebsd")
    assert boot_id() == ""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert boot_id() == "7B1C"
    assert isinstance(process_table(), PsTable)
