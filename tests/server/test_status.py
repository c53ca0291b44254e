"""ways_status never says more than is known (SRV-12)."""

from __future__ import annotations

import json
import os
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways import __version__
from agent_ways.claude.launch import GATES
from agent_ways.server.installed import version
from agent_ways.server.registry import REGISTRY
from tests.server.serving import PROBE, SERVER
from tests.support.fake_client import FLAGGED, FakeClient, Plan
from tests.support.plan import FLAG
from tests.support.wire import Wire

if TYPE_CHECKING:
    from pathlib import Path

LIVE = [entry.name for entry in REGISTRY]
SHAPE: dict[str, Any] = {
    "server": str,
    "version": str,
    "installed_version": (str, type(None)),
    "session": {
        "id": (str, type(None)),
        "source": (str, type(None)),
        "claude_pid": (int, type(None)),
        "config_dir": (str, type(None)),
        "client_version": (str, type(None)),
        "disagreement": (str, type(None)),
    },
    "conduits": {
        name: {"state": str, "reason": str, "evidence": (str, type(None))}
        for name in ("channel", "inbox_socket", "loop", "drain")
    },
    "modules": {"live": list, "failed": list},
}


def assert_shape(value: Any, shape: Any) -> None:
    if isinstance(shape, dict):
        assert set(value) == set(shape)
        for key, inner in shape.items():
            assert_shape(value[key], inner)
    else:
        assert isinstance(value, shape)


def status_of(client: FakeClient) -> dict[str, Any]:
    result = client.call_tool("ways_status")
    status: dict[str, Any] = result["structuredContent"]
    assert result["isError"] is False
    assert json.loads(result["content"][0]["text"]) == status
    assert_shape(status, SHAPE)
    return status


@pytest.mark.demand("SRV-12", "ID-1")
@pytest.mark.parametrize("client_version", ["2.1.332", "2.1.285"])
def test_it_names_the_session_its_source_and_its_client(tmp_path: Path, client_version: str) -> None:
    plan = Plan(server=SERVER, version=client_version)  # type: ignore[arg-type]
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        status = status_of(client)
        assert status["session"] == {
            "id": client.session_id,
            "source": "record",
            "claude_pid": client.pid,
            "config_dir": os.path.join(client.plan.home, ".claude"),
            "client_version": client_version,
            "disagreement": None,
        }
        assert status["version"] == __version__
        assert status["modules"] == {"live": LIVE, "failed": []}


@pytest.mark.demand("SRV-12", "ID-3")
@pytest.mark.parametrize(
    ("argv", "state"),
    [
        (("claude",), "no"),
        (FLAGGED, "unknown"),
        (("claude", f"{FLAG}=server:agent-ways", "--model", "x"), "unknown"),
        ((*FLAGGED, "--channels", "server:agent-ways"), "no"),
        (("claude", FLAG, "server:other"), "no"),
        (("claude", "--", FLAG, "server:agent-ways"), "no"),
    ],
)
def test_a_launch_flag_is_an_intent_and_no_proof(tmp_path: Path, argv: tuple[str, ...], state: str) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER, argv=argv)) as client:
        client.wait_handshake()
        channel = status_of(client)["conduits"]["channel"]
        assert channel["state"] == state
        assert channel["reason"]


@pytest.mark.demand("SRV-12", "SRV-10")
def test_an_event_found_in_the_transcript_is_proof(tmp_path: Path) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    with FakeClient(tmp_path, Plan(server=PROBE, argv=FLAGGED, server_env={"PROBE_DROP": str(drop)})) as client:
        client.wait_handshake()
        client.wait_channel_open()
        assert status_of(client)["conduits"]["channel"]["state"] == "unknown"
        (drop / "x").write_text(json.dumps({"content": "hello", "meta": {"kind": "test"}}))
        os.rename(drop / "x", drop / "1.json")
        client.wait_shown(lambda shown: shown.kind == "channel")
        client.wait_status("idle")
        channel = status_of(client)["conduits"]["channel"]
        assert channel["state"] == "yes"
        assert channel["evidence"].startswith("transcript, byte ")
        client.clear()
        assert status_of(client)["conduits"]["channel"]["state"] == "yes"


@pytest.mark.demand("SRV-12")
def test_a_swallowed_push_is_never_called_delivered(tmp_path: Path) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    plan = Plan(server=PROBE, argv=FLAGGED, channel="swallow", server_env={"PROBE_DROP": str(drop)})
    with FakeClient(tmp_path, plan) as client:
        client.wait_handshake()
        (drop / "x").write_text(json.dumps({"content": "hello"}))
        os.rename(drop / "x", drop / "1.json")
        client.wait_channel_event()
        assert status_of(client)["conduits"]["channel"]["state"] == "unknown"


@pytest.mark.demand("SRV-12")
def test_a_proof_of_an_earlier_run_is_none_of_this_one(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER, argv=FLAGGED)) as client:
        client.wait_handshake()
        client.append_transcript(
            {
                "type": "user",
                "isMeta": True,
                "isSidechain": False,
                "timestamp": "2020-01-01T00:00:00.000Z",
                "origin": {"kind": "channel", "server": "agent-ways"},
                "message": {"role": "user", "content": '<channel source="agent-ways">\nold\n</channel>'},
            }
        )
        assert status_of(client)["conduits"]["channel"]["state"] == "unknown"


@pytest.mark.demand("SRV-12")
@pytest.mark.parametrize("gate", GATES)
def test_a_switched_off_channel_is_named(tmp_path: Path, gate: str) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER, argv=FLAGGED, server_env={gate: "1"})) as client:
        client.wait_handshake()
        channel = status_of(client)["conduits"]["channel"]
        assert channel["state"] == "no"
        assert gate in channel["reason"]


@pytest.mark.demand("SRV-9", "SRV-12", "ID-2")
@pytest.mark.field_report(38)
def test_a_cleared_session_is_seen_at_once_with_its_disagreement(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        first = client.session_id
        assert status_of(client)["session"]["id"] == first
        second = client.clear()
        session = status_of(client)["session"]
        assert session["id"] == second
        assert first in session["disagreement"]
        assert second in session["disagreement"]


@pytest.mark.demand("SRV-9", "ID-1")
def test_a_record_that_is_damaged_or_gone_is_said_and_found_again(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        with open(client.record_path, "rb") as file:
            whole = file.read()
        for damage in (b"", b"{", b"[]", whole[: len(whole) // 2]):
            client.write_record(damage)
            session = status_of(client)["session"]
            assert session["source"] == "environment"
            assert session["claude_pid"] is None
        client.remove_record()
        assert status_of(client)["conduits"]["channel"]["state"] == "unknown"
        client.write_record(whole)
        assert status_of(client)["session"]["source"] == "record"


@pytest.mark.demand("SRV-8", "SRV-9", "ID-1")
def test_a_session_is_known_behind_a_launcher_that_exits(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER, launch="launcher-exits")) as client:
        client.wait_handshake()
        assert status_of(client)["session"]["source"] in ("record", "environment")


@pytest.mark.demand("ID-5", "SRV-12")
def test_a_session_of_p_has_tools_and_no_conduit(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER, argv=(*FLAGGED, "-p"), entrypoint="sdk-cli")) as client:
        client.wait_handshake()
        status = status_of(client)
        assert status["session"]["id"] == client.session_id
        assert {conduit["state"] for conduit in status["conduits"].values()} == {"no"}


@pytest.mark.demand("SRV-12")
def test_the_inbox_socket_is_told_as_far_as_it_is_known(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan(server=SERVER, inbox="off")) as client:
        client.wait_handshake()
        assert status_of(client)["conduits"]["inbox_socket"]["state"] == "no"
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        told = status_of(client)["conduits"]["inbox_socket"]
        assert (told["state"], told["evidence"]) == ("unknown", client.socket_path)
        os.unlink(client.socket_path)
        assert status_of(client)["conduits"]["inbox_socket"]["state"] == "no"


@pytest.mark.demand("SRV-12", "SRV-4")
@pytest.mark.parametrize("how", ["import", "start", "tick"])
def test_a_failed_module_is_named_with_its_reason(tmp_path: Path, how: str) -> None:
    with FakeClient(tmp_path, Plan(server=PROBE, server_env={"PROBE_FAIL": how})) as client:
        client.wait_handshake()
        client.ask("ping")
        modules = status_of(client)["modules"]
        assert modules["live"] == LIVE
        assert [failed["name"] for failed in modules["failed"]] == ["probe"]
        assert modules["failed"][0]["reason"]


@pytest.mark.demand("SRV-12")
@pytest.mark.parametrize(
    "env", [{}, {"HOME": "/nonexistent"}, {"HOME": "relative"}, {"HOME": "/proc", "CLAUDE_CONFIG_DIR": "/dev/null"}]
)
def test_outside_a_session_it_says_so_and_still_has_its_whole_shape(env: dict[str, str]) -> None:
    with Wire(SERVER, env=env) as wire:
        wire.handshake()
        status = wire.call("ways_status")["structuredContent"]
        assert_shape(status, SHAPE)
        assert status["session"]["id"] is None
        assert status["conduits"]["channel"]["state"] == "unknown"


@pytest.mark.demand("SRV-12")
def test_the_installed_version_is_that_of_the_file_behind_the_link(tmp_path: Path) -> None:
    for number in ("1.0.0", "2.0.0"):
        package = tmp_path / number / "agent_ways"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f'"""Doc."""\n\n__version__ = "{number}"\n')
        (package / "start").write_text("")
    link = tmp_path / "ways-mcp"
    link.symlink_to(tmp_path / "1.0.0" / "agent_ways" / "start")
    assert version(str(link)) == "1.0.0"
    link.unlink()
    link.symlink_to(tmp_path / "2.0.0" / "agent_ways" / "start")
    assert version(str(link)) == "2.0.0"
    link.unlink()
    launcher = tmp_path / "3.0.0" / "ways-mcp"
    launcher.parent.mkdir()
    launcher.write_text("#!/bin/sh\n")
    with zipfile.ZipFile(f"{launcher}.pyz", "w") as archive:
        archive.writestr("agent_ways/__init__.py", '__version__ = "3.0.0"\n')
    link.symlink_to(launcher)
    assert version(str(link)) == "3.0.0"
    assert version(f"{launcher}.pyz") == "3.0.0"
    link.unlink()
    assert version(str(link)) is None
    assert version("") is None
