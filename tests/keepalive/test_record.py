from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base.errors import DamagedRecordError, NewerRecordError
from agent_ways.keepalive.record import Down, Record
from agent_ways.keepalive.situation import Proof, Sight
from agent_ways.keepalive.store import Store, is_quiet, read, record_path
from tests.keepalive.values import ME, MIN, NOON, OTHER, SESSION, attempt

if TYPE_CHECKING:
    from pathlib import Path

FULL = Record(
    session=SESSION,
    operator_ms=NOON,
    operator_line=7,
    act_line=7,
    passed_ms=NOON + 5,
    tries=3,
    pings=2,
    tokens=12_000,
    ping=attempt("ping", "proven", proof=Proof(kind="channel", at_ms=NOON, line=9), verdict="warm", read_tokens=7),
    wrap=attempt("wrap", "lost", owner=OTHER, reason="why", rest={"later": [1]}),
    stopped="cold",
    down=(Down(conduit="channel", owner=ME, reason="no trace"),),
    request_sight=Sight(stamp_ms=NOON, age_ms=None, wall_ms=NOON, steady_ms=5, boot="b"),
    operator_sight=Sight(stamp_ms=NOON, age_ms=4, wall_ms=NOON),
    armed=True,
    window_ms=8,
    rest={"from": "a later version"},
)
pytestmark = pytest.mark.demand("KA-7")


@pytest.mark.parametrize("record", [FULL, Record(session=SESSION)])
def test_a_record_comes_back_from_disk_as_it_went_with_what_this_version_does_not_know(
    record: Record, tmp_path: Path
) -> None:
    store = Store(str(tmp_path), ME)
    store.change(SESSION, lambda _: record)
    assert store.read(SESSION) == record
    raw = json.loads((tmp_path / "keepalive" / f"{SESSION}.json").read_text())
    assert raw["v"] == 1
    assert set(Record.__slots__) - {"rest"} <= set(raw)


def test_a_record_from_before_the_line_of_the_act_was_kept_is_read() -> None:
    raw = {key: value for key, value in FULL.to_json().items() if key != "act_line"}
    assert Record.from_json(raw) == FULL.but(act_line=None)


@given(st.data())
def test_a_field_of_the_wrong_type_is_damage_never_a_guess(data: st.DataObject) -> None:
    raw: dict[str, Any] = json.loads(json.dumps(FULL.to_json()))
    holder = data.draw(st.sampled_from([raw, raw["ping"], raw["wrap"], raw["request_sight"], raw["down"][0]]))
    key = data.draw(st.sampled_from([key for key in holder if key not in ("v", "later", "from", "rest")]))
    holder[key] = data.draw(st.sampled_from([1.5, {"a": 1}, "words", [1], True]).filter(lambda new: new != holder[key]))
    try:
        found = Record.from_json(raw)
    except DamagedRecordError:
        return
    assert found.to_json() == raw


def test_a_damaged_and_a_newer_record_are_said_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "keepalive" / f"{SESSION}.json"
    path.parent.mkdir()
    for text, error in (("{", DamagedRecordError), ('{"v":1}', DamagedRecordError), ('{"v":2}', NewerRecordError)):
        path.write_text(text)
        with pytest.raises(error):
            read(str(tmp_path), SESSION)
        assert path.read_text() == text
        assert not is_quiet(str(tmp_path), SESSION, NOON)


def test_an_unchanged_record_is_not_written_again(tmp_path: Path) -> None:
    store = Store(str(tmp_path), ME)
    store.change(SESSION, lambda _: FULL)
    before = os.stat(record_path(str(tmp_path), SESSION)).st_ino
    store.change(SESSION, lambda found: found)
    store.change(SESSION, lambda _: None)
    assert os.stat(record_path(str(tmp_path), SESSION)).st_ino == before


def test_mail_asks_the_record_on_disk(tmp_path: Path) -> None:
    Store(str(tmp_path), ME).change(SESSION, lambda _: FULL)
    assert is_quiet(str(tmp_path), SESSION, NOON - 51 * MIN)
    assert not is_quiet(str(tmp_path), SESSION, NOON)
    assert not is_quiet(str(tmp_path), "another-session", NOON)


RACER = textwrap.dedent(
    """
    import os, sys
    sys.path[:0] = [sys.argv[1], sys.argv[2]]
    from agent_ways.base.process import process_table, this_process
    from agent_ways.keepalive.keeper import Keeper
    from agent_ways.keepalive.store import Store
    from tests.keepalive.values import ARMED, HOURS, NOON, SESSION, situation

    owner = this_process(process_table(), os.environ)

    class Eyes:
        def session(self):
            return SESSION
        def still_idle(self, session):
            return True
        def look(self, record):
            return situation(owner=owner, operator_ms=NOON - 9 * HOURS)

    def push(conduit, event):
        os.write(1, (event.kind + "\\n").encode())
        return ""

    sys.stdin.readline()
    Keeper(Eyes(), Store(sys.argv[3], owner), push).step(ARMED)
    """
)


def test_of_many_servers_at_the_same_moment_one_sends_the_wrap(tmp_path: Path) -> None:
    here = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    argv = [sys.executable, "-c", RACER, os.path.join(here, "src"), here, str(tmp_path)]
    racers = [
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=60) for racer in racers]
    assert [stderr for _, stderr in said] == [""] * 6
    assert "".join(stdout for stdout, _ in said) == "wrap\n"
