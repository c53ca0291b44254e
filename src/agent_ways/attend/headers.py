"""Our own lines in what a session is shown, and what makes other text inert beside them.

Owns the header of a signal, the line that only names signals (a doorbell), reading both back from a transcript's
evidence, and `inert`. Pure. Must not know conduits or states.

A header is proof of a delivery (design section 6), so no text of a peer may look like one: every body, name and
address is made inert before it is shown. The stored signal keeps every character.
"""

from __future__ import annotations

from agent_ways.attend import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.attend.signals import Signal

_SIGNAL = "[attend signal "
_WAITING = "[attend waiting "
_KEPT = "\n\t"
_BIDI_AND_BREAKS = frozenset("\u0085\u200e\u200f\u061c\u2028\u2029\ufeff") | frozenset(
    chr(code) for first, last in ((0x202A, 0x202E), (0x2066, 0x2069)) for code in range(first, last + 1)
)
_TAGS = (
    "channel",
    "cross-session-message",
    "system-reminder",
    "task-notification",
    "teammate-message",
    "agent-message",
    "local-command",
    "command-",
    "bash-",
    "user-prompt-submit-hook",
)
_LONGEST_NAME = 80


def header(signal: Signal) -> str:
    """The line that stands above a signal's text: `[attend signal <id> from Fern-alpha (<session>) to #deploy]`."""
    sender = signal.sender
    who = sender.session or f"{sender.user or '?'}, a person"
    words = [f"from {one_line(sender.name)} ({one_line(who)})"]
    if signal.on_behalf_of:
        words.append(f"on behalf of {one_line(signal.on_behalf_of)}")
    words.append(f"to {one_line(', '.join(signal.to))}")
    if signal.re:
        words.append(f"re {signal.re}")
    return f"{_SIGNAL}{signal.id} {' '.join(words)}]"


def shown(signal: Signal) -> str:
    """A signal whole, as a session is shown it."""
    return f"{header(signal)}\n{inert(signal.body)}"


def named(signal_ids: list[str]) -> str:
    """The line that says that signals wait, without their text."""
    return f"{_WAITING}{' '.join(signal_ids)}]"


def read_back(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The ids that `text` shows with their signals' text, and those that it only names."""
    whole, only_named = set(), set()
    for part in text.split(_SIGNAL)[1:]:
        signal_id = part[: ids.LENGTH]
        if ids.is_id(signal_id) and part[ids.LENGTH : ids.LENGTH + 1] == " ":
            whole.add(signal_id)
    for part in text.split(_WAITING)[1:]:
        listed = part.partition("]")[0].split(" ")
        if all(ids.is_id(word) for word in listed):
            only_named.update(listed)
    return frozenset(whole), frozenset(only_named - whole)


def inert(text: str) -> str:
    """`text` so that it can neither steer a terminal nor pass for a line of ours, the client's or the person's.

    Control, bidirectional and line-separator characters become visible escapes, newline and tab stay; a `<` that
    would open or close one of the client's wrappers becomes U+2039, and `[attend` becomes `(attend`.
    """
    if text.isascii() and text.isprintable() and "<" not in text and "[" not in text:
        return text
    shown = "".join(_visible(character) for character in text)
    return _without_header(_without_tags(shown))


def one_line(text: str) -> str:
    """`inert` on one line and not endless, for names and addresses in a header."""
    flat = inert(text).replace("\n", " ").replace("\t", " ").replace("[", "(").replace("]", ")")
    return flat if len(flat) <= _LONGEST_NAME else flat[: _LONGEST_NAME - 1] + "…"


def _visible(character: str) -> str:
    code = ord(character)
    if character in _KEPT or (32 <= code < 127):
        return character
    if code < 0xA0 or 0xD800 <= code < 0xE000 or character in _BIDI_AND_BREAKS or 0xE0000 <= code < 0xE0080:
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    return character


def _without_tags(text: str) -> str:
    parts = text.split("<")
    for at, part in enumerate(parts[1:], 1):
        word = part.lstrip(" \t\n/").lower()
        parts[at] = ("\u2039" if word.startswith(_TAGS) else "<") + part
    return "".join(parts)


def _without_header(text: str) -> str:
    # Piece by piece: a place in the whole text's lower case is another in the text itself, where a letter grows ("İ").
    first, *parts = text.split("[")
    return first + "".join(("(" if part[:6].lower() == "attend" else "[") + part for part in parts)
