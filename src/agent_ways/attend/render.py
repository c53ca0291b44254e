"""A verb's answer as text for a person.

Owns how answers look, on a terminal and piped, and `visible`: no text of a message reaches a terminal with the power to
steer it. Pure: the style comes in. Must not know how answers are made. `--json` is exact and does not come by here.
"""

from __future__ import annotations

import time

from agent_ways.attend import ids
from agent_ways.base.values import Value
from agent_ways.claude.transcript import iso_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final

    Document = dict[str, Any]

_KEPT = frozenset("\n\t\u00a0\u200c\u200d\u202f\u3000")
"""Not printable by Unicode's rule, and harmless: line and tab, spaces, the joiners of scripts and emoji."""
_LINES, _CHARACTERS = 12, 1_000
"""What a list shows of a message's text."""
_NARROWEST = 20
"""Columns below which wrapping helps nobody."""


class Style(Value):
    """How to mark text: with colours, or not at all. `now_ms` decides how times are written.

    `person` is who reads, as login@host, and empty for a session: what to do next is not the same for both. `width` is
    how many columns there are, 0 for no terminal: nothing is wrapped then.
    """

    __slots__ = ("colours", "now_ms", "person", "width")

    def __init__(self, *, colours: bool, now_ms: int, person: str = "", width: int = 0) -> None:
        self.colours: Final = colours
        self.now_ms: Final = now_ms
        self.person: Final = person
        self.width: Final = width

    def mark(self, text: str, code: str) -> str:
        """`text` in that SGR code, or plain."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text

    def strong(self, text: str) -> str:
        """For what matters first."""
        return self.mark(text, "1")

    def faint(self, text: str) -> str:
        """For what may be passed over."""
        return self.mark(text, "2")


def visible(text: str) -> str:
    """`text` with each control, bidirectional, unassigned or lone-surrogate character as a visible escape."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in _KEPT else _escape(ord(one)) for one in text)


def line(text: str) -> str:
    """`visible`, on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def text_of(verb: str, document: Document, style: Style, way: str = "") -> str:
    """What the command prints for a verb's answer; `way` is the action or flag by which it was asked for, if any."""
    return WAYS.get((verb, way), RENDERERS[verb])(document, style)


def signal(one: Document, style: Style, *, whole: bool = False) -> str:
    """One message: a line about it, then its text."""
    unread = style.mark("*", "1;33") if one.get("state") not in (None, "seen") else " "
    sender = one["from"]
    who = style.strong(line(sender["name"])) + (f"@{line(sender['host'])}" if sender.get("host") else "")
    speaks = f" for {line(one['on_behalf_of'])}" if one["on_behalf_of"] else ""
    to = line(", ".join(one["to"]))
    about = [ids.short(one["id"]), when(one["at"], style)]
    about += [f"re {ids.short(one['re'])}"] if one["re"] else []
    about += [_state(one)] if one.get("state") else []
    head = f"{unread} {who}{speaks} to {to}  {style.faint(', '.join(about))}"
    return head + "\n" + _body(one, style, whole=whole)


def flat(one: Document) -> str:
    """One message on one plain line, for `watch` where it is piped."""
    body = line(one["body"] or "")
    return f"{one['at']} {one['id']} {line(one['from']['name'])} -> {line(','.join(one['to']))}: {body}"


def when(at: str, style: Style) -> str:
    """A time as a person says it, on this machine's clock."""
    moment = iso_ms(at)
    if moment is None:
        return line(at)
    ago = (style.now_ms - moment) // 1000
    if 0 <= ago < 60:
        return "just now"
    if 0 <= ago < 3600:
        return f"{ago // 60} min ago"
    then, now = time.localtime(moment / 1000), time.localtime(style.now_ms / 1000)
    return time.strftime("%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)


def error_text(message: str, hint: str) -> str:
    """An error: what happened, and what to do next."""
    return f"attend: {visible(message)}\n" + (f"{visible(hint)}\n" if hint else "")


def _state(one: Document) -> str:
    proof = one.get("proof") or {}
    return f"{one['state']} by {line(str(proof['kind']))}" if proof.get("kind") else str(one["state"])


def _body(one: Document, style: Style, *, whole: bool) -> str:
    if one["body"] is None:
        return "    " + style.faint(f"(long: attend show {ids.short(one['id'])})") + "\n"
    text = visible(one["body"])
    lines = text.split("\n")
    if whole or (len(lines) <= _LINES and len(text) <= _CHARACTERS):
        return _indented(lines, style)
    cut = text[:_CHARACTERS].split("\n")[:_LINES]
    more = style.faint(f"(cut: attend show {ids.short(one['id'])})")
    return _indented(cut, style) + f"    {more}\n"


def _indented(lines: Sequence[str], style: Style) -> str:
    return "".join(f"    {part}\n" for one in lines for part in _folded(one, style.width - 4))


def _folded(text: str, width: int) -> list[str]:
    """A line as lines of at most `width` columns, cut at spaces; what has no space where one is needed stays whole."""
    if width < _NARROWEST or _columns(text) <= width:
        return [text]
    found: list[str] = []
    line: list[str] = []
    size = -1
    for word in text.split(" "):
        more = 1 + _columns(word)
        if any(line) and size + more > width:
            found.append(" ".join(line))
            line, size = [], -1
        line.append(word)
        size += more
    return [*found, " ".join(line)]


def _columns(text: str) -> int:
    """How many columns a terminal takes for a text: two for a wide character, none for one that goes on another."""
    if text.isascii():
        return len(text) + 7 * text.count("\t")
    import unicodedata

    return sum(
        0 if unicodedata.combining(one) or one == "\u200d" else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in text
    )


def _page(document: Document, style: Style) -> str:
    listed = document["signals"]
    parts = [signal(one, style, whole="part" in one) for one in listed] or ["nothing here\n"]
    if document["next"]:
        parts.append(
            style.faint(f"{len(listed)} of {document['total']}; older ones: the same with --before {document['next']}")
            + "\n"
        )
    return "\n".join(parts) + _notes(document)


def _room(document: Document, style: Style) -> str:
    if document["signals"]:
        return _page(document, style)
    return "nothing here from others; your own messages: attend search TEXT\n" + _notes(document)


def _thread(document: Document, style: Style) -> str:
    return "\n".join(signal(one, style, whole=True) for one in document["signals"]) + _notes(document)


def _show(document: Document, style: Style) -> str:
    one = document["signals"][0]
    as_it_is = Style(colours=style.colours, now_ms=style.now_ms)  # its lines, to be copied
    text = (
        signal(one, as_it_is, whole=True)
        + f"\nid      {one['id']}\nthread  {one['thread']}\nroom    {line(one['room'])}\n"
    )
    for receipt in document["receipts"]:
        state = receipt["state"] or "nothing known any more"
        proof = receipt["proof"] or {}
        by = f", by {line(str(proof['kind']))} at {line(str(proof.get('at')))}" if proof else ""
        text += f"{line(receipt['name']):<24}{state}{by}\n"
    return text


def _sent(document: Document, style: Style) -> str:
    text = f"{ids.short(document['id'])} to {line(document['room'])}\n"
    for one in document["recipients"]:
        if not _is_said(one, document["note"] or ""):
            text += f"  {style.strong(line(one['name']))}: {one['state']}\n"
    return text + (f"{visible(document['note'])}\n" if document["note"] else "")


def _is_said(recipient: Document, note: str) -> bool:
    """Whether the note says of that very recipient that it is kept, and until when."""
    whom = recipient["name"].removeprefix("the next session of ").removeprefix("the next session in ")
    return bool(recipient["state"] == "no live session; kept" and whom in note)


def _membership(document: Document, style: Style) -> str:
    members = ", ".join(line(name) for name in document["members"]) or "nobody"
    unchanged = "" if document["changed"] else " (nothing changed)"
    return f"#{document['channel']}: {style.strong(members)}{unchanged}\n"


def _channels(document: Document, style: Style) -> str:
    rows = [
        (f"#{one['channel']}", ", ".join(one["members"]) or "nobody", line(one["description"]))
        for one in document["channels"]
    ]
    if not rows:
        return f"no channels; attend {'channels create' if style.person else 'join'} NAME makes one\n"
    return _table(("channel", "members", "for"), rows, style)


def _created(document: Document, style: Style) -> str:
    return "".join(f"{style.strong('#' + one['channel'])} is made\n" for one in document["channels"])


def _dissolved(document: Document, style: Style) -> str:
    return "".join(
        f"{style.strong('#' + one['channel'])} is dissolved; its messages stay: "
        f"attend search --room '#{one['channel']}' TEXT\n"
        for one in document["channels"]
    )


def _peers(document: Document, style: Style) -> str:
    rows = []
    for one in document["peers"]:
        woken = [name.replace("_", " ") for name, conduit in one["conduits"].items() if conduit["state"] != "no"]
        names = line(one["name"]) + (f" ({line(one['client_name'])})" if one["client_name"] else "")
        aliases = " ".join(f"@{name}" for name in one["alias"])
        rows.append(
            (names, aliases, line(one["project"]), line(one["status"]), ", ".join(woken) or "none", str(one["unseen"]))
        )
    if not rows:
        return f"{_nobody(style)} now; attend peers --all lists those that have ended\n"
    return _table(("name", "alias", "project", "status", "reached by", "unseen"), rows, style)


def _all_peers(document: Document, style: Style) -> str:
    return _peers(document, style) if document["peers"] else f"{_nobody(style)}, nor any that has ended\n"


def _nobody(style: Style) -> str:
    return "no session" if style.person else "no other session"


def _status(document: Document, style: Style) -> str:
    def listed(names: Sequence[str]) -> str:
        return ", ".join(names) or "none"

    lines = [
        ("name", document["name"] or "not registered yet"),
        ("session", document["session"] or "none: a plain terminal"),
        ("alias", listed(document["alias"])),
        ("project", document["project"] or "-"),
        ("channels", listed(document["channels"])),
        ("perceives", document["role"] or "nobody: attend run, or the server"),
        ("unseen", str(document["unseen"])),
        ("bus", document["bus"]),
    ]
    if document["session"] is None and document["name"] == "operator":
        lines = [row for row in lines if row[0] in ("channels", "unseen", "bus")]
        lines.insert(0, ("name", f"operator ({style.person})" if style.person else "operator"))
    text = "".join(f"{style.faint(f'{name:<11}')}{line(value)}\n" for name, value in lines)
    for name, conduit in (document["conduits"] or {}).items():
        text += f"{style.faint(f'{name:<13}')}{conduit['state']:<8} {line(conduit['reason'])}\n"
    for one in document["under_way"]:
        text += f"{ids.short(one['id'])}  {one['state']} by {one['conduit']}, {when(one['at'], style)}\n"
    return text + "".join(f"note: {visible(note)}\n" for note in document["notes"])


def _whoami(document: Document, style: Style) -> str:
    del style
    if document["source"] == "record":
        lines = [
            f"session     {document['session']}",
            f"name        {document['name'] or 'not registered yet'}",
            f"known by    the client's record of process {document['claude_pid']}",
            f"client      Claude Code {document['client_version'] or 'of unknown version'}",
            f"config dir  {line(document['config_dir'])}",
        ]
    elif document["user"]:
        lines = [f"person      {line(document['user'])}, at a plain terminal", f"why         {document['reason']}"]
    else:
        hint = f"{document['session']}, by CLAUDE_CODE_SESSION_ID alone" if document["session"] else "none"
        lines = [
            f"session     {hint}",
            f"why         {document['reason']}",
            "what to do  Run it inside a Claude Code session; `ways status` lists the ones that are there.",
        ]
    if document["disagreement"]:
        lines.append(f"note        {document['disagreement']}")
    return "".join(f"{visible(one)}\n" for one in lines)


def _alias(document: Document, style: Style) -> str:
    held = ", ".join(f"@{name}" for name in document["alias"]) or "none"
    mail = f"; {document['mail']} kept for it came along" if document["mail"] else ""
    return f"alias: {style.strong(held)}{mail}\n"


def _keepwarm(document: Document, style: Style) -> str:
    after = f" (again in {document['after']})" if document["after"] else ""
    note = f"{document['note']}\n" if document["note"] else ""
    return f"{style.strong(document['action'])}: {line(document['reason'])}{after}\n{note}"


def _cleanup(document: Document, style: Style) -> str:
    del style
    if not document["done"]:
        return "another process is cleaning up\n"
    names = ("archived", "deleted", "instances", "records", "leftovers")
    return ", ".join(f"{document[name]} {name}" for name in names) + "\n"


def _doctor(document: Document, style: Style) -> str:
    colours = {"ok": "32", "note": "33", "failed": "1;31"}
    text = ""
    for one in document["findings"]:
        status = style.mark(one["status"].ljust(7), colours[one["status"]])
        text += f"{status} {line(one['subject'])}: {line(one['text'])}\n"
        text += f"        what to do: {line(one['repair'])}\n" if one["repair"] else ""
    return text


def _notes(document: Document) -> str:
    return "".join(f"note: {visible(note)}\n" for note in document["notes"])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], style: Style) -> str:
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    text = style.faint("  ".join(f"{head:<{width}}" for head, width in zip(heads, widths, strict=True)).rstrip()) + "\n"
    for row in rows:
        text += "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
    return text


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


RENDERERS: dict[str, Callable[[Document, Style], str]] = {
    "send": _sent,
    "reply": _sent,
    "inbox": _page,
    "search": _page,
    "thread": _thread,
    "show": _show,
    "join": _membership,
    "leave": _membership,
    "channels": _channels,
    "peers": _peers,
    "status": _status,
    "whoami": _whoami,
    "alias": _alias,
    "keepwarm": _keepwarm,
    "cleanup": _cleanup,
    "doctor": _doctor,
}

WAYS: dict[tuple[str, str], Callable[[Document, Style], str]] = {
    ("channels", "create"): _created,
    ("channels", "dissolve"): _dissolved,
    ("peers", "all"): _all_peers,
    ("inbox", "room"): _room,
}
"""What is told in another way where it was asked for in another."""
