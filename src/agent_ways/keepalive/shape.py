"""The form of what keepalive says of itself, as JSON Schema.

Owns that form alone, so that a server can list its tool without loading what fills it. Must not know how it is filled
(`status.py`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXT = {"type": ["string", "null"]}
_NUMBER = {"type": ["number", "null"]}
_COUNT = {"type": ["integer", "null"]}
_WORDS = {"type": "string"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


SCHEMA = _object(
    session=_TEXT,
    armed={"type": "boolean"},
    window=_object(length_s=_NUMBER, typed_at=_TEXT, closes_at=_TEXT, closes_in_s=_NUMBER, open={"type": "boolean"}),
    cache=_object(
        tier=_TEXT,
        kept_s=_NUMBER,
        known_by=_TEXT,
        age_s=_NUMBER,
        expires_in_s=_NUMBER,
        context_tokens=_COUNT,
        reason=_WORDS,
    ),
    next=_object(action=_WORDS, rule=_WORDS, reason=_WORDS, then=_TEXT, in_s=_NUMBER),
    pings=_object(
        sent=_COUNT, proven=_COUNT, cost_tokens=_COUNT, spent=_NUMBER, limit=_NUMBER, left=_COUNT, last=_TEXT
    ),
    readback=_object(verdict=_TEXT, read_tokens=_COUNT, context_tokens=_COUNT, at=_TEXT),
    wrap=_object(state=_WORDS, at=_TEXT, reason=_WORDS),
    quiet={"type": "boolean"},
    conduit=_object(name=_TEXT, reason=_WORDS),
    notes={"type": "array", "items": _WORDS},
)
"""The JSON schema of the value."""
