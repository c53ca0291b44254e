"""The server finds its session's record whenever it comes, and costs nothing while it waits for it (SRV-8, SRV-11)."""

from __future__ import annotations

import json
import os
import select
import time
from typing import TYPE_CHECKING

import pytest

from agent_ways.server.session import FIRST_LOOKS, LATE_LOOKS, OwnSession
from tests.server.serving import SERVER, markers, markers_dir
from tests.support.fake_client import FakeClient, Plan
from tests.support.fake_proc import FakeTable
from tests.support.until import until

if TYPE_CHECKING:
    from pathlib import Path

IMPATIENT = (
    *SERVER[:-1],
    SERVER[-1].replace(
        "main([])", "import agent_ways.server.session as session\nsession.FIRST_LOOKS = (0.01,)\nmain([])"
    ),
)
"""The server whose few first looks are over at once."""
CLIENT, SHELL, SELF = 700, 800, 900


class Home:
    """A config dir with the records of made-up processes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sessions = root / ".claude" / "sessions"
        self.table = FakeTable()
        self.table.chain(SELF, SHELL, CLIENT)
        self.env = {"HOME": str(root), "CLAUDE_CODE_ENTRYPOINT": "cli"}

    def session(self, **env: str) -> OwnSession:
        return OwnSession({**self.env, **env}, self.table, SELF, None)

    def write(self, name: str = "s-1", pid: int = CLIENT, entrypoint: str = "cli") -> None:
        self.sessions.mkdir(parents=True, exist_ok=True)
        record = {"pid": pid, "sessionId": name, "procStart": str(pid * 10), "entrypoint": entrypoint}
        (self.sessions / f"{pid}.json").write_text(json.dumps(record))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def look_out(own: OwnSession) -> list[float]:
    """Look as the server does until it is found or no further look is due; the pauses."""
    pauses: list[float] = []
    own.resolve()
    while own.claude is None and (pause := own.next_look()) is not None:
        pauses.append(pause)
        own.resolve()
    return pauses


def told(own: OwnSession) -> bool:
    """Whether the server would be woken now; if so, what it does then is done."""
    assert own.record_fd is not None
    readable = bool(select.select([own.record_fd], [], [], 0)[0])
    if readable:
        own.record_changed()
    return readable


@pytest.mark.demand("SRV-11")
def test_a_record_that_comes_after_every_look_is_told_of(home: Home) -> None:
    home.write("stranger", pid=1)
    own = home.session()
    assert look_out(own) == list(FIRST_LOOKS)
    assert not told(own)
    home.write()
    assert told(own)
    look_out(own)
    assert own.session == "s-1"
    assert own.claude == home.table.look(CLIENT)
    home.write("s-2")
    assert told(own)
    assert own.session == "s-2"


@pytest.mark.demand("SRV-11")
def test_a_record_that_is_made_first_and_written_later_is_looked_at_again(home: Home) -> None:
    home.sessions.mkdir(parents=True)
    own = home.session()
    look_out(own)
    (home.sessions / f"{CLIENT}.json").touch()
    assert told(own)
    assert own.session is None
    assert own.next_look() == FIRST_LOOKS[0]
    home.write()
    look_out(own)
    assert own.session == "s-1"


@pytest.mark.demand("SRV-11")
def test_a_folder_of_records_that_comes_late_is_told_of_too(home: Home) -> None:
    (home.root / ".claude").mkdir()
    own = home.session()
    assert look_out(own) == list(FIRST_LOOKS)
    home.sessions.mkdir()
    assert told(own)
    look_out(own)
    home.write()
    assert told(own)
    look_out(own)
    assert own.session == "s-1"


@pytest.mark.demand("SRV-8")
def test_changes_of_other_sessions_records_do_not_wake_a_server_that_waits(home: Home) -> None:
    home.write("stranger", pid=1)
    own = home.session()
    look_out(own)
    home.write("stranger-2", pid=1)
    os.unlink(home.sessions / "1.json")
    assert not told(own)


@pytest.mark.demand("SRV-8", "SRV-11")
@pytest.mark.parametrize(
    "env",
    [{"CLAUDE_CODE_ENTRYPOINT": ""}, {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {"AGENT_WAYS_HANDSHAKE": "1"}],
    ids=["started by hand", "-p", "our own handshake"],
)
def test_what_can_be_no_session_of_a_person_is_not_waited_for(home: Home, env: dict[str, str]) -> None:
    home.sessions.mkdir(parents=True)
    own = home.session(**env)
    assert look_out(own) == [*FIRST_LOOKS, *LATE_LOOKS]
    assert own.record_fd is None


@pytest.mark.demand("SRV-8")
def test_without_a_folder_to_watch_there_are_few_late_looks_and_then_none(home: Home) -> None:
    own = home.session()
    assert look_out(own) == [*FIRST_LOOKS, *LATE_LOOKS]


@pytest.mark.demand("SRV-11")
def test_a_record_that_was_taken_away_is_looked_for_until_it_is_back(home: Home) -> None:
    home.write()
    own = home.session()
    own.resolve()
    own.end_fd = 0  # a made-up process has no descriptor; here the system tells of its end
    home.write()
    assert told(own)
    assert own.next_look() is None
    os.unlink(home.sessions / f"{CLIENT}.json")
    assert told(own)
    assert own.next_look() is not None
    home.write("s-2")
    own.resolve()
    assert own.session == "s-2"


@pytest.mark.demand("SRV-11")
def test_the_server_itself_is_present_as_soon_as_its_late_record_is_there(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        with open(client.record_path, "rb") as file:
            whole = file.read()
        client.remove_record()
        late = client.start_server(IMPATIENT)
        client.wait_event("handshake", lambda event: event["key"] == late)
        end = time.monotonic() + 10
        while not watches(client.server_pid):
            client.ask("ping", key=late)
            assert time.monotonic() < end
        client.write_record(whole)
        wanted = f"{client.session_id}.{client.server_pid}"
        assert until(markers_dir(client), lambda: wanted in markers(client), timeout=4)


def watches(pid: int) -> bool:
    """Whether that process is told of changes of files."""
    folder = f"/proc/{pid}/fd"
    return any(os.readlink(f"{folder}/{name}") == "anon_inode:inotify" for name in os.listdir(folder))
