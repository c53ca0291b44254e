"""How a session ends, and that nothing of the server is there afterwards."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e import processes
from tests.e2e.home import STATUS_TOOL
from tests.e2e.lab import Lab, Session
from tests.e2e.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

_ENDS: dict[str, Callable[[Session], None]] = {
    "exit": Session.exit,
    "SIGTERM": lambda session: session.kill(signal.SIGTERM),
    "SIGKILL": lambda session: session.kill(signal.SIGKILL),
}


@pytest.mark.demand("SRV-8", "SRV-11")
@pytest.mark.parametrize("end", _ENDS)
def test_when_the_client_ends_no_server_and_no_marker_is_left(lab: Lab, ways_mcp: str, end: str) -> None:
    lab.home.settings(STATUS_TOOL)
    lab.register(ways_mcp)
    session = lab.start()
    (server,) = session.servers(ways_mcp)
    until("the marker", lambda: lab.home.markers() == [f"{session.id}.{server.pid}"], patience=5)
    _ENDS[end](session)
    assert processes.wait_gone(server.pid, 5)
    assert [process for process in processes.marked(lab.home.name) if process.runs(ways_mcp)] == []
    assert lab.home.markers() == []
    assert lab.home.debug_lines("sending SIGKILL to MCP server process") == []
