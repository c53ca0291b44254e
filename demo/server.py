"""The real `ways-mcp` with the module `doorbell` added to its registry: `python -I -S demo/server.py`.

`DEMO_PACKAGE` names where `agent_ways` comes from: a folder, or a zipapp.
"""

from __future__ import annotations

import os
import sys

sys.path[:0] = [os.environ["DEMO_PACKAGE"], os.path.dirname(os.path.realpath(__file__))]

from agent_ways.server.main import serve  # noqa: E402 - the path comes first
from agent_ways.server.registry import REGISTRY, Entry  # noqa: E402

if __name__ == "__main__":
    serve((*REGISTRY, Entry("doorbell", "doorbell", "Doorbell")))
