"""Events as the client takes them: from a notification to the text that the model is shown, or to nothing.

Owns the client's rules for channel notifications (2.1.285 and 2.1.332 alike). Pure. Must not know sessions.
"""

from __future__ import annotations

import re
from typing import Any

_KEY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


class LostError(ValueError):
    """The client drops the whole event, silently; the text says why."""


def channel_text(params: Any, source: str) -> str:
    """The text block for the params of `notifications/claude/channel`; raises `LostError`."""
    if not isinstance(params, dict) or not isinstance(params.get("content"), str):
        raise LostError("content is no string")
    meta = params.get("meta", {})
    if not isinstance(meta, dict) or not all(isinstance(value, str) for value in meta.values()):
        raise LostError("a meta value is no string")
    pairs = [("source", source), *((key, value) for key, value in meta.items() if _KEY.fullmatch(key))]
    attributes = " ".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in pairs)
    inside = params["content"].replace("</channel>", "<\\/channel>")
    return f"<channel {attributes}>\n{inside}\n</channel>"
