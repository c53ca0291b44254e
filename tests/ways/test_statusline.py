from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from build.launch import interpreter, launcher
from build.zipapp import archive
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.attend import inbox, sending, trays
from agent_ways.attend.bus import open_bus
from agent_ways.attend.statusline import line
from agent_ways.base.process import this_process
from agent_ways.keepalive import store
from agent_ways.keepalive.record import Record
from tests.keepalive.values import attempt
from tests.ways.support import SOURCES, Machine, ways

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

pytestmark = pytest.mark.demand("KA-2")

NOW = 1_796_040_000_000
SESSION = "00000000-0000-4000-8000-00000000abcd"
MIN, H = 60_000, 3_600_000


def client(session: str = SESSION, **more: Any) -> bytes:
    """What Claude Code writes to a status line command, as far as we look (2.1.285, 2.1.332)."""
    return json.dumps({"session_id": session, "cwd": "/x", "version": "2.1.332", **more}).encode()


def warm(seconds: int = 1200) -> dict[str, Any]:
    return {"prompt_cache": {"warm": True, "ttl": "1h", "expires_at": NOW // 1000 + seconds}}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def keep(machine: Machine, record: Record, session: str = SESSION) -> None:
    """Write the record as a server does."""
    world = machine.world
    root = str(machine.home / ".local" / "state" / "agent-ways")
    store.Store(root, this_process(world.table, world.env)).change(session, lambda _: record)


def armed(**more: Any) -> Record:
    return Record(**{"session": SESSION, "armed": True, "window_ms": 8 * H, "operator_ms": NOW - 48 * MIN, **more})


def test_cache_window_and_unread_mail_stand_on_one_line(machine: Machine) -> None:
    keep(machine, armed())
    bus = open_bus(machine.env)
    person = sending.human_sender(bus, "me", "/x")
    trays.put(bus, [trays.Slip(SESSION, sending.send(bus, person, None, "hi", to=["operator"]).signal.id, "direct")])
    told = line(client(**warm()), machine.env, NOW)
    until = time.strftime("%H:%M", time.localtime(NOW // 1000 + 1200))
    assert told == f"cache warm until {until} · keepalive 7 h 12 min · 1 unread"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"wrap": attempt("wrap", "proven")}, "keepalive: wrapped"),
        ({"stopped": "the last ping found the cache cold"}, "keepalive: stopped, cache was cold"),
        ({"operator_ms": NOW - 9 * H}, "keepalive: window closed"),
        ({"operator_ms": None}, "keepalive armed"),
        ({"armed": False}, ""),
    ],
)
def test_keepalive_is_told_from_its_record_alone(changed: dict[str, Any], told: str, machine: Machine) -> None:
    keep(machine, armed(**changed))
    assert line(client(), machine.env, NOW) == told


def test_a_cache_that_is_gone_is_cold_by_the_clients_own_word(machine: Machine) -> None:
    assert line(client(**warm(-1)), machine.env, NOW) == "cache cold"
    assert line(client(prompt_cache={"warm": False}), machine.env, NOW) == "cache cold"
    assert line(client(), machine.env, NOW) == ""


def test_unread_is_what_the_inbox_counts_held_back_and_earlier_ids_included(machine: Machine) -> None:
    bus = open_bus(machine.env)
    person = sending.human_sender(bus, "me", "/x")
    ids = [sending.send(bus, person, None, text, to=["operator"]).signal.id for text in "abc"]
    trays.put(bus, [trays.Slip(SESSION, ids[0], "direct"), trays.Slip(SESSION, ids[1], "open", held=True)])
    trays.put(bus, [trays.Slip("earlier", ids[2], "direct")])
    trays.follow(bus, SESSION, "earlier")
    assert inbox.unseen(bus, SESSION) == 3
    assert line(client(), machine.env, NOW) == "3 unread"


def test_a_damaged_record_is_named_and_the_rest_still_told(machine: Machine) -> None:
    keep(machine, armed())
    path = Path(store.record_path(str(machine.home / ".local" / "state" / "agent-ways"), SESSION))
    for text in ("{", '{"v":1}', '{"v":99}', ""):
        path.write_text(text)
        assert line(client(prompt_cache={"warm": False}), machine.env, NOW) == (
            "cache cold · keepalive: its record can not be read"
        )


def test_no_session_id_leads_out_of_our_own_folders(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "evil.json").write_text("{")
    for name in (f"../../../../../{tmp_path}/evil", "/etc/passwd", ".", "", "a/b", "\0"):
        assert line(client(name), machine.env, NOW) == ""


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.binary(max_size=200)
    | values.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries(
        {"session_id": values, "prompt_cache": st.dictionaries(st.sampled_from(["warm", "expires_at"]), values)}
    ).map(lambda value: json.dumps(value).encode())
)
def test_whatever_the_client_writes_the_answer_is_one_short_line(given_bytes: bytes) -> None:
    told = line(given_bytes, {"HOME": "/nonexistent/home"}, NOW)
    assert "\n" not in told
    assert len(told) < 200


RUN = """import sys
sys.path.insert(0, {sources!r})
from agent_ways.attend.statusline import main
sys.exit(main())
"""


def run(machine: Machine, given_bytes: bytes) -> subprocess.CompletedProcess[bytes]:
    code = RUN.format(sources=str(SOURCES))
    return subprocess.run(
        [interpreter(), "-I", "-S", "-c", code], input=given_bytes, env=machine.env, capture_output=True, check=False
    )


def test_both_ways_to_run_it_answer_the_same(machine: Machine) -> None:
    given_bytes = client(prompt_cache={"warm": False})
    hot = run(machine, given_bytes)
    whole = subprocess.run(
        [machine.layout.command("ways"), "statusline"],
        input=given_bytes,
        env=machine.env,
        capture_output=True,
        check=False,
    )
    assert (hot.returncode, hot.stdout, hot.stderr) == (0, b"cache cold\n", b"")
    assert (whole.returncode, whole.stdout, whole.stderr) == (0, b"cache cold\n", b"")
    assert run(machine, b"nonsense").stdout == b""


def test_at_a_terminal_where_nobody_writes_it_says_what_it_is_for(machine: Machine) -> None:
    leader, follower = pty.openpty()
    try:
        ran = subprocess.run(
            [machine.layout.command("ways"), "statusline"],
            stdin=follower,
            env=machine.env,
            capture_output=True,
            check=False,
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert ran.returncode == 2
    assert b"ways statusline --help" in ran.stderr
    assert "refreshInterval" in ways(machine, "statusline", "--help").stdout


def test_a_client_that_went_away_is_no_error(machine: Machine) -> None:
    code = RUN.format(sources=str(SOURCES))
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run(
        [interpreter(), "-I", "-S", "-c", code],
        input=client(prompt_cache={"warm": False}),
        env=machine.env,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (ran.returncode, ran.stderr) == (0, b"")


# -- what it costs ------------------------------------------------------------------------------------------------

ALLOWED = """
    __main__ _json agent_ways agent_ways.attend agent_ways.attend.disk agent_ways.attend.ids agent_ways.attend.layout
    agent_ways.attend.statusline agent_ways.attend.trays agent_ways.base agent_ways.base.errors
    agent_ways.base.jsontext agent_ways.base.locks agent_ways.base.paths agent_ways.base.process
    agent_ways.base.records agent_ways.base.values agent_ways.claude agent_ways.claude.cache
    agent_ways.claude.records agent_ways.claude.transcript agent_ways.keepalive agent_ways.keepalive.moves
    agent_ways.keepalive.record
    agent_ways.keepalive.situation agent_ways.keepalive.statusline agent_ways.keepalive.store
    agent_ways.keepalive.words
"""
WATCHED = """
import sys
opened = []
sys.addaudithook(lambda name, given: opened.append(str(given[0])) if name in ("open", "os.listdir") else None)
before = set(sys.modules)
sys.path.insert(0, {sources!r})
from agent_ways.attend.statusline import main
opened.clear()
main()
loaded = sorted(set(sys.modules) - before)
print(opened, file=sys.stderr)
print(" ".join(loaded), file=sys.stderr)
"""


def test_it_opens_its_record_and_the_tray_and_nothing_else(machine: Machine) -> None:
    keep(machine, armed())
    bus = open_bus(machine.env)
    trays.put(bus, [trays.Slip(SESSION, "00000000000000000000aa", "direct")])
    ran = subprocess.run(
        [interpreter(), "-I", "-S", "-c", WATCHED.format(sources=str(SOURCES))],
        input=client(**warm()),
        env=machine.env,
        capture_output=True,
        check=True,
    )
    opened, loaded = ran.stderr.decode().splitlines()
    state = machine.home / ".local" / "state" / "agent-ways"
    allowed = (str(state / "keepalive" / f"{SESSION}.json"), str(state / "attend" / "trays" / SESSION))
    touched = [path for path in json.loads(opened.replace("'", '"')) if not path.endswith((".pyc", ".py", "localtime"))]
    assert {path.removesuffix("/held") for path in touched} == set(allowed), touched
    unexpected = [name for name in loaded.split() if name.startswith("agent_ways") and name not in ALLOWED.split()]
    assert unexpected == []
    heavy = {"click", "json", "re", "typing", "tomllib", "enum", "socket", "subprocess", "ctypes", "rich", "pydantic"}
    assert heavy.isdisjoint(loaded.split())


def test_it_takes_at_most_three_times_as_long_as_bare_python(machine: Machine, tmp_path: Path) -> None:
    keep(machine, armed())
    packed = tmp_path / "attend.pyz"
    packed.write_bytes(archive(SOURCES, "attend"))
    script = tmp_path / "statusline"
    script.write_bytes(launcher(interpreter(), str(packed), "agent_ways.attend.statusline"))
    bare = whole = float("inf")
    for number in range(60):  # the least of each, since other work on the machine only adds; more of it, more rounds
        bare = min(bare, timed(["-c", "pass"], machine.env))
        whole = min(whole, timed([str(script)], machine.env))
        if number >= 10 and whole <= 3 * bare:
            break
    assert whole <= 3 * bare


def timed(words: Iterable[str], env: Mapping[str, str]) -> float:
    """Seconds that the interpreter takes from before its start to after its end."""
    began = time.perf_counter()
    subprocess.run(
        [interpreter(), "-I", "-S", *words], input=client(**warm()), env=env, capture_output=True, check=True
    )
    return time.perf_counter() - began


# -- beside another status line -----------------------------------------------------------------------------------


def test_the_documented_script_puts_it_beside_another_status_line(machine: Machine) -> None:
    page = (SOURCES.parent / "docs" / "how-to" / "status-line.md").read_text(encoding="utf-8")
    script = page.split("```sh\n", 1)[1].split("```", 1)[0]
    folder = machine.home / ".claude"
    folder.mkdir(exist_ok=True)
    mine = folder / "my-status-line"
    mine.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.load(sys.stdin)['cwd'])\n")
    mine.chmod(0o755)
    both = folder / "both.sh"
    both.write_text(script)
    both.chmod(0o755)

    def shown(given_bytes: bytes) -> tuple[int, bytes, bytes]:
        ran = subprocess.run([str(both)], input=given_bytes, env=machine.env, capture_output=True, check=False)
        return ran.returncode, ran.stdout, ran.stderr

    assert shown(client(prompt_cache={"warm": False})) == (0, b"/x  cache cold\n", b"")
    assert shown(client()) == (0, b"/x\n", b"")
