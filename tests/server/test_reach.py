"""One judgement of how a session is reached: its server, its tools and its sensor loop say the same."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.serving import PROBE, ROOT, SERVER
from tests.support.fake_client import FLAGGED, FakeClient, Plan

if TYPE_CHECKING:
    from pathlib import Path

ATTEND = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from agent_ways.attend.__main__ import main; sys.exit(main())"
)
FORBIDDEN = "[conduits]\nchannel = false\ninbox_socket = false\n"
GATED = {"DISABLE_TELEMETRY": "1"}


@pytest.mark.demand("KA-9", "SRV-12", "CON-2")
@pytest.mark.parametrize(
    ("plan", "config", "said"),
    [
        ({"argv": FLAGGED}, FORBIDDEN, "The user config forbids it."),
        ({"argv": FLAGGED, "inbox": "off", "env": GATED, "channel": "swallow"}, "", "DISABLE_TELEMETRY is set"),
        ({"inbox": "off"}, "", "started without --dangerously-load-development-channels"),
    ],
    ids=["forbidden", "gated", "neither"],
)
def test_where_the_server_can_not_push_the_loop_does_not_wait_for_it(
    tmp_path: Path, plan: dict[str, Any], config: str, said: str
) -> None:
    folder = tmp_path / "home" / ".config" / "agent-ways"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f"[keepalive]\narmed = true\n{config}")
    with FakeClient(tmp_path, Plan(server=SERVER, **plan)) as client:
        client.wait_handshake()
        client.type("hello")
        client.wait_status("idle")
        by_server = client.call_tool("keepalive_status")["structuredContent"]
        told = [client.call_tool(tool)["structuredContent"]["conduits"] for tool in ("ways_status", "attend_status")]
        ran = client.spawn([sys.executable, "-c", ATTEND, os.path.join(ROOT, "src"), "keepwarm", "--json"])
    assert by_server["next"]["rule"] == "no-conduit"
    assert said in by_server["next"]["reason"]
    for conduits in told:
        assert (conduits["channel"]["state"], conduits["inbox_socket"]["state"]) == ("no", "no")
    assert said in told[0]["channel"]["reason"]
    assert "keeps it warm" not in json.loads(ran["stdout"])["reason"]


@pytest.mark.demand("KA-9")
def test_where_the_server_may_push_the_loop_leaves_it_to_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".config" / "agent-ways"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[keepalive]\narmed = true\n")
    with FakeClient(tmp_path, Plan(server=SERVER)) as client:
        client.wait_handshake()
        client.type("hello")
        client.wait_status("idle")
        client.call_tool("attend_send", {"to": ["operator"], "body": "here"})
        ran = client.spawn([sys.executable, "-c", ATTEND, os.path.join(ROOT, "src"), "keepwarm", "--json"])
    assert "the session's server" in json.loads(ran["stdout"])["reason"]


@pytest.mark.demand("SRV-10", "CON-2")
@pytest.mark.parametrize(
    ("plan", "config", "kind"),
    [
        ({"argv": FLAGGED}, "", "channel"),
        ({}, "", "peer"),
        ({"argv": FLAGGED}, "[conduits]\nchannel = false\n", "peer"),
    ],
    ids=["flagged", "plain", "forbidden"],
)
def test_what_a_module_pushes_goes_by_the_best_conduit_that_there_is(
    tmp_path: Path, plan: dict[str, Any], config: str, kind: str
) -> None:
    folder, drop = tmp_path / "home" / ".config" / "agent-ways", tmp_path / "drop"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(config)
    drop.mkdir()
    with FakeClient(tmp_path, Plan(server=PROBE, server_env={"PROBE_DROP": str(drop)}, **plan)) as client:
        client.wait_handshake()
        client.wait_channel_open()
        client.type("hello")
        client.wait_status("idle")
        (tmp_path / "event").write_text(json.dumps({"content": "the tide turns"}))
        os.rename(tmp_path / "event", drop / "1.json")
        shown = client.wait_shown(lambda shown: any("the tide turns" in text for text in shown.texts))
    assert shown.kind == kind
