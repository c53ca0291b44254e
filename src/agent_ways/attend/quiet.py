"""Whether mail is held back: from keepalive's wrap until the operator types again (KA-6).

Owns asking keepalive's record, for the drain, the loop and `send`. Must not know why a window closed.
"""

from __future__ import annotations

import os

from agent_ways.attend.waking import last_rows
from agent_ways.base import paths
from agent_ways.claude import prompts, transcript
from agent_ways.keepalive import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance


def is_quiet(bus: Bus, instance: Instance) -> bool:
    """Whether the session was wrapped and its operator has typed nothing since. Most sessions have no such record."""
    root = paths.state_root(bus.env)
    session = instance.session
    if not os.path.exists(store.record_path(root, session)):
        return False
    path = transcript.find(instance.config_dir, session)
    typed = prompts.last_prompt_ms(
        prompts.history_ms(instance.config_dir, session), last_rows(path, transcript.TAIL) if path else ()
    )
    return store.is_quiet(root, session, typed)
