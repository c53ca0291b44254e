"""The real server with one module more, for tests: `python -I -S probe_server.py`.

`PROBE_PACKAGE` names where `agent_ways` comes from (a zipapp, or a folder; the checkout's `src` by default).
`PROBE_FAIL=import` makes the extra module fail at its import.
"""

from __future__ import annotations

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
PACKAGE = os.environ.get("PROBE_PACKAGE") or os.path.join(HERE, "..", "..", "src")
sys.path[:0] = [PACKAGE, HERE]

from agent_ways.server.main import serve  # noqa: E402 - the path comes first
from agent_ways.server.registry import REGISTRY, Entry  # noqa: E402
from agent_ways.server.surface import SURFACE  # noqa: E402

TOOLS = tuple(
    (f"probe_{verb}", f'{{"name":"probe_{verb}","inputSchema":{{"type":"object"}}}}')
    for verb in ("echo", "fail", "noise")
)
MODULE = "no_such_module" if os.environ.get("PROBE_FAIL") == "import" else "probe_module"

if __name__ == "__main__":
    serve((*REGISTRY, Entry("probe", MODULE, "Probe")), (*SURFACE, *TOOLS))
