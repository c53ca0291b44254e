"""What a Stop hook is told, and what its answer means to the client (2.1.285 and 2.1.332 alike).

Pure. Must not know how the hook is run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

JSON = dict[str, Any]


@dataclass(frozen=True)
class HookOutput:
    """The answer: it blocks with a reason, adds context (both let the model go on), or neither."""

    blocks: bool
    reason: str
    context: str
    stdout: str

    @property
    def shown(self) -> tuple[str, ...]:
        """What the model is given of it: a reason twice, a context once."""
        if self.blocks:
            return (f"Stop hook feedback:\n{self.reason}", f"Stop hook blocking error: {self.reason}")
        return (f"Stop hook additional context: {self.context}",) if self.context else ()


def read_output(code: int, stdout: str, stderr: str) -> HookOutput:
    """Exit 2 blocks with what stands on stderr; else JSON on stdout decides; plain words are nothing."""
    if code == 2:
        return HookOutput(blocks=True, reason=stderr.strip(), context="", stdout=stdout)
    try:
        answer = json.loads(stdout)
    except ValueError:
        answer = None
    if code != 0 or not isinstance(answer, dict):
        return HookOutput(blocks=False, reason="", context="", stdout=stdout)
    specific = answer.get("hookSpecificOutput")
    context = specific.get("additionalContext", "") if isinstance(specific, dict) else ""
    blocks = answer.get("decision") == "block"
    return HookOutput(blocks=blocks, reason=str(answer.get("reason", "")), context=str(context), stdout=stdout)
