"""What `ways_status` says, called by the model of a real session, against what is so."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.home import STATUS_TOOL
from tests.e2e.lab import CHANNEL_FLAG, Lab, Session, ToolAnswer
from tests.e2e.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.clients import Client


@dataclass(frozen=True)
class Asked:
    """One call of `ways_status`, and what was so at that time."""

    answer: ToolAnswer
    session: Session
    record: dict[str, Any]
    servers: int

    @property
    def value(self) -> Any:
        return self.answer.value


def ask(session: Session, ways_mcp: str) -> Asked:
    answer = session.call(STATUS_TOOL)
    return Asked(answer, session, session.record, len(session.servers(ways_mcp)))


@pytest.fixture(scope="module")
def plain(client: Client, ways_mcp: str) -> Iterator[Asked]:
    """A session started as people start it, without the channel flag."""
    with Lab(client) as lab:
        lab.home.settings(STATUS_TOOL)
        lab.register(ways_mcp)
        yield ask(lab.start(), ways_mcp)


@pytest.fixture(scope="module")
def defeated(client: Client, ways_mcp: str) -> Iterator[Asked]:
    """A session whose channel flag is defeated by `--channels` with the same server."""
    with Lab(client) as lab:
        lab.home.settings(STATUS_TOOL)
        lab.register(ways_mcp)
        yield ask(lab.start("--channels", "server:agent-ways", *CHANNEL_FLAG), ways_mcp)


@dataclass(frozen=True)
class Printed:
    """One run of `claude -p`: what `ways_status` said in it, its id, and the home it left."""

    value: Any
    session: str
    lab: Lab


@pytest.fixture(scope="module")
def printed(client: Client, ways_mcp: str) -> Iterator[Printed]:
    """`claude -p` with the channel flag, which is not read there."""
    with Lab(client) as lab:
        lab.home.settings(STATUS_TOOL)
        lab.register(ways_mcp)
        # The prompt comes before the flag, which would swallow it.
        done = lab.claude("-p", f"CALL:{STATUS_TOOL}:{{}}", "--permission-mode", "default", *CHANNEL_FLAG)
        assert done.returncode == 0, done.stderr
        use = next(answer.tool_use_id for answer in lab.api.answers if answer.tool_use_id)
        told = lab.api.wait("the tool's result", lambda request: request.tool_result(use))
        answer = ToolAnswer(told.tool_result(use) or "", told)
        yield Printed(answer.value, os.path.basename(_only_transcript(lab)).removesuffix(".jsonl"), lab)


def _only_transcript(lab: Lab) -> str:
    (path,) = lab.home.transcripts()
    return path


@pytest.mark.demand("SRV-8", "ID-1")
def test_the_server_is_one_direct_child_of_the_client(plain: Asked) -> None:
    assert plain.servers == 1


@pytest.mark.demand("SRV-12", "ID-1")
def test_the_session_is_the_one_of_the_clients_own_record(plain: Asked) -> None:
    assert plain.value["session"] == {
        "id": plain.record["sessionId"],
        "source": "record",
        "claude_pid": plain.session.pid,
        "config_dir": plain.session.home.config_dir,
        "client_version": plain.record["version"],
        "disagreement": None,
    }


@pytest.mark.demand("SRV-12")
def test_the_client_is_the_version_under_test(plain: Asked, client: Client) -> None:
    assert plain.value["session"]["client_version"] == client.version


@pytest.mark.demand("SRV-12")
def test_the_running_version_is_the_installed_one(plain: Asked, ways_mcp: str) -> None:
    says = subprocess.run([ways_mcp, "--version"], capture_output=True, text=True, timeout=30, check=True)
    version = says.stdout.split()[-1]
    assert (plain.value["server"], plain.value["version"], plain.value["installed_version"]) == (
        "agent-ways",
        version,
        version,
    )


@pytest.mark.demand("SRV-12")
def test_every_module_is_live(plain: Asked) -> None:
    assert "ways" in plain.value["modules"]["live"]
    assert plain.value["modules"]["failed"] == []


@pytest.mark.demand("SRV-12", "ID-3")
def test_without_the_flag_there_is_no_channel(plain: Asked) -> None:
    channel = plain.value["conduits"]["channel"]
    assert channel["state"] == "no"
    assert channel["reason"]
    assert plain.session.home.debug_lines("Channel notifications skipped")


@pytest.mark.demand("SRV-12")
def test_the_inbox_socket_is_the_one_that_the_client_bound(plain: Asked) -> None:
    socket = plain.value["conduits"]["inbox_socket"]
    assert socket["state"] != "no"
    assert socket["evidence"] == plain.record["messagingSocketPath"]


@pytest.mark.demand("SRV-3")
def test_the_instructions_reach_the_model_uncut(plain: Asked) -> None:
    assert plain.answer.request.mentions("## agent-ways")
    assert not plain.answer.request.mentions("[truncated]")


@pytest.mark.demand("SRV-11")
def test_the_marker_names_the_session_and_the_server(plain: Asked, ways_mcp: str) -> None:
    (server,) = plain.session.servers(ways_mcp)
    due = [f"{plain.session.id}.{server.pid}"]
    until("the marker", lambda: plain.session.home.markers() == due, patience=5)


@pytest.mark.demand("SRV-12", "ID-3")
def test_beside_an_approved_entry_of_the_same_name_the_flag_is_defeated_and_status_says_so(defeated: Asked) -> None:
    channel = defeated.value["conduits"]["channel"]
    assert channel["state"] == "no"
    assert "--channels" in f"{channel['reason']} {channel['evidence']}"
    assert defeated.session.home.debug_lines("Channel notifications skipped")


@pytest.mark.demand("SRV-12", "ID-5")
def test_in_print_mode_the_session_is_known_and_has_no_conduit(printed: Printed) -> None:
    assert (printed.value["session"]["id"], printed.value["session"]["source"]) == (printed.session, "record")
    assert printed.value["conduits"]["channel"]["state"] == "no"
    assert printed.value["conduits"]["inbox_socket"]["state"] == "no"


@pytest.mark.demand("SRV-11", "ID-5")
def test_print_mode_leaves_nothing_behind(printed: Printed) -> None:
    assert not os.path.exists(printed.lab.home.state_dir)
