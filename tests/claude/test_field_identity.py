"""What was met in the field with telling which session and process is which."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from agent_ways.base.process import Owner, process_table, this_process
from agent_ways.base.records import write_record
from agent_ways.claude.records import read

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.demand("ID-1", "SRV-11")
@pytest.mark.field_report(42)
@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_clock_that_is_set_between_writing_and_reading_changes_no_proof_of_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    table = process_table()
    here = this_process(table, {})
    marker = tmp_path / "servers" / f"session.{here.pid}"
    marker.parent.mkdir()
    write_record(str(marker), {"v": 1, "owner": here.to_json()})
    (tmp_path / "sessions").mkdir()
    record = {"pid": here.pid, "sessionId": "session", "procStart": here.start, "startedAt": time.time() * 1000}
    (tmp_path / "sessions" / f"{here.pid}.json").write_text(json.dumps(record))
    real, real_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: real() + step)
    monkeypatch.setattr(time, "time_ns", lambda: real_ns() + step * 1_000_000_000)
    owner = Owner.from_json(json.loads(marker.read_text())["owner"])
    assert owner is not None
    assert owner.verdict(this_process(table, {}), table) == "alive"
    found = read(str(tmp_path), here.pid, table, lambda _seconds: None)
    assert found is not None
    assert found.session == "session"
    assert os.getpid() == here.pid
