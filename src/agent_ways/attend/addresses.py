"""Addresses: what a person or a model may write after `--to`, and whom it means (ATT-2).

Owns reading addresses and resolving them over a `Directory` of known sessions, aliases and channels. Pure: values in,
values out. Must not know files or processes.

A bare word is looked for as: a session's whole id, an alias, a display name (`Fern-alpha`), a nickname (`Fern`, if one
session has it), what the client calls a live session (`/rename`), the beginning of a session's id (four characters at
least). `@host` behind it picks one machine.
"""

from __future__ import annotations

import os

from agent_ways.attend import layout, trays
from agent_ways.base.errors import UsageError
from agent_ways.base.values import Value
from agent_ways.claude.records import session_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Final

    from agent_ways.attend.trays import Slip

ALIVE, DEAD, UNKNOWN = "alive", "dead", "unknown"

OPEN, CHANNEL, OPERATOR, SELF, PATH, WORD, ALIAS, SESSION = (
    "open",
    "channel",
    "operator",
    "self",
    "path",
    "word",
    "alias",
    "session",
)
_LONGEST_NAME = 64
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_RESERVED = ("open", "operator", "self", "all", "everyone", "human", "broadcast")
_SHORTEST_PREFIX = 4


class Address(Value):
    """One address as read. `kind` is one of this module's constants; `host` is empty where none was named."""

    __slots__ = ("host", "kind", "text")

    def __init__(self, kind: str, text: str = "", host: str = "") -> None:
        self.kind: Final = kind
        self.text: Final = text
        self.host: Final = host


class Known(Value):
    """A session that the bus can name.

    `key` is its instance's, None for a live session that never registered. `session` is its id now, `sessions` all
    that it had, oldest first. `live` is alive, dead or unknown (another machine's or pid namespace's). `listens` says
    that it enrolled, so that room talk waits for it. `config_dir` is where one that never registered was found;
    `called` is what the client calls one that lives.
    """

    __slots__ = (
        "called",
        "config_dir",
        "host",
        "key",
        "listens",
        "live",
        "name",
        "nickname",
        "project",
        "session",
        "sessions",
    )

    def __init__(
        self,
        *,
        key: str | None,
        session: str,
        sessions: tuple[str, ...] = (),
        name: str = "",
        nickname: str = "",
        project: str = "",
        host: str = "",
        live: str = UNKNOWN,
        listens: bool = False,
        config_dir: str = "",
        called: str = "",
    ) -> None:
        self.key: Final = key
        self.session: Final = session
        self.sessions: Final = sessions or (session,)
        self.name: Final = name or session[:8]
        self.nickname: Final = nickname
        self.project: Final = project
        self.host: Final = host
        self.live: Final = live
        self.listens: Final = listens
        self.config_dir: Final = config_dir
        self.called: Final = called


class Directory(Value):
    """All that an address can mean now.

    `aliases` has the holder's key by alias, `channels` the members' keys by channel name.
    """

    __slots__ = ("aliases", "channels", "known")

    def __init__(
        self,
        known: tuple[Known, ...] = (),
        aliases: Mapping[str, str | None] | None = None,
        channels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.known: Final = known
        self.aliases: Final = dict(aliases or {})
        self.channels: Final = dict(channels or {})

    def by_key(self, key: str | None) -> Known | None:
        """The session of that instance."""
        return next((one for one in self.known if key is not None and one.key == key), None)

    def by_session(self, session: str) -> Known | None:
        """Whose id that is: who has it now before who had it, the living before the others."""
        found = [one for one in self.known if session in one.sessions]
        found.sort(key=lambda one: (one.session != session, (ALIVE, UNKNOWN, DEAD).index(one.live)))
        return found[0] if found else None


class Recipient(Value):
    """One tray that a signal goes to. `session` is None where it is not a session's; `why` as a slip has it."""

    __slots__ = ("live", "name", "session", "tray", "why")

    def __init__(self, tray: str, why: str, *, session: str | None = None, name: str = "", live: str = DEAD) -> None:
        self.tray: Final = tray
        self.why: Final = why
        self.session: Final = session
        self.name: Final = name
        self.live: Final = live


class Route(Value):
    """Where a signal goes.

    `to` and `room` as they stand in it, its recipients, the histories that keep it, and `notes`: what the sender must
    be told, in sentences.
    """

    __slots__ = ("notes", "recipients", "room", "rooms", "to")

    def __init__(
        self,
        to: tuple[str, ...],
        room: str,
        recipients: tuple[Recipient, ...],
        rooms: tuple[str, ...],
        notes: tuple[str, ...],
    ) -> None:
        self.to: Final = to
        self.room: Final = room
        self.recipients: Final = recipients
        self.rooms: Final = rooms
        self.notes: Final = notes

    def slips(self, signal_id: str) -> tuple[Slip, ...]:
        """The slips that put a signal before its recipients."""
        return tuple(trays.Slip(one.tray, signal_id, one.why) for one in self.recipients)

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions among the recipients, and `operator`: what a signal keeps of them."""
        names = (OPERATOR if one.tray == layout.OPERATOR else one.session for one in self.recipients)
        return tuple(name for name in names if name)


def parse(text: str) -> Address:
    """The address in `text`; raises `UsageError` for what can be none, with what to write instead."""
    if any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 or character == "\x7f" for character in text):
        raise UsageError("an address holds no control characters", _GRAMMAR)
    if text in ("*", "open", "#open"):
        return Address(OPEN)
    if text.startswith("#"):
        return Address(CHANNEL, channel_name(text))
    if text.startswith("@"):
        return Address(ALIAS, alias_name(text))
    if text.startswith("self:/"):
        return Address(SELF, text[5:])
    if text.startswith("/"):
        return Address(PATH, os.path.normpath(text).replace("//", "/", 1))
    if text in (OPERATOR, SELF):
        return Address(text)
    word, _, host = text.partition("@")
    if not word or text.startswith((".", "~")) or "/" in word or " " in text:
        raise UsageError(f"{text!r} is no address", _GRAMMAR)
    return Address(WORD, word, host)


_GRAMMAR = (
    "Write a session's id or name, an alias, #channel, * for everybody, operator, self, or a project's absolute path."
)


def channel_name(text: str) -> str:
    """A channel's name without its `#`, in lower case; raises `UsageError` for one that can not be."""
    return _name(text.removeprefix("#"), "channel")


def alias_name(text: str) -> str:
    """An alias without its `@`, in lower case; raises `UsageError` for one that can not be."""
    return _name(text.removeprefix("@"), "alias")


def _name(text: str, what: str) -> str:
    name = text.lower() if text.isascii() else text
    if not name or len(name) > _LONGEST_NAME or not _NAME.issuperset(name) or not name[0].isalnum():
        raise UsageError(
            f"{text!r} can not be the name of a{'n' if what == 'alias' else ''} {what}",
            f"Use up to {_LONGEST_NAME} letters a to z, digits, - _ and ., with a letter or digit first.",
        )
    if name in _RESERVED:
        raise UsageError(f"{name} has a meaning of its own and can not name a{'n' if what == 'alias' else ''} {what}")
    return name


def resolve(addresses: Sequence[Address], directory: Directory, me: Known | None, project: str) -> Route:
    """Whom `addresses` mean, for the sender `me` (None: a person at a terminal) who works in `project`.

    No address at all means everybody (`*`). Raises `UsageError` where one means nobody known (with near matches), more
    than one session (listing them), or the sender itself.
    """
    chosen = [_one(address, directory, me, project) for address in addresses or (Address(OPEN),)]
    strongest: dict[str, Recipient] = {}
    for _, found, _, _ in chosen:
        for one in found:
            known = strongest.get(one.tray)
            if known is None or trays.stronger(one.why, known.why):
                strongest[one.tray] = one
    to = tuple(dict.fromkeys(exact for exact, _, _, _ in chosen))
    rooms = dict.fromkeys(room for _, _, more, _ in chosen for room in more)
    rooms.update(dict.fromkeys(layout.room_of_tray(one.tray) for one in strongest.values() if one.why in _MAIL))
    notes = tuple(dict.fromkeys(note for _, _, _, note in chosen if note))
    return Route(to, layout.OPEN if to[0] == "*" else to[0], tuple(strongest.values()), tuple(rooms), notes)


_MAIL = (trays.DIRECT, trays.SELF)
_Choice = tuple[str, "tuple[Recipient, ...]", "tuple[str, ...]", str]


def _one(address: Address, directory: Directory, me: Known | None, project: str) -> _Choice:
    """The exact form of an address, its recipients, its rooms beside their trays, and a note."""
    kind = address.kind
    if kind == OPEN:
        found = [one for one in directory.known if one.listens and one.live != DEAD and not _same(one, me)]
        note = "" if found else "no live session listens; kept in the open room"
        return "*", tuple(_to(one, trays.OPEN) for one in found), (layout.OPEN,), note
    if kind == CHANNEL:
        return _channel(address.text, directory, me)
    if kind == OPERATOR:
        return OPERATOR, (Recipient(layout.OPERATOR, trays.DIRECT, name=OPERATOR, live=UNKNOWN),), (), ""
    if kind == SELF:
        place = address.text or project
        recipient = Recipient(layout.tray_of_self(place), trays.SELF, name=f"the next session of {place}")
        return f"self:{place}", (recipient,), (), f"kept for the next session that starts in {place}"
    if kind == PATH:
        return _path(address.text, directory, me)
    if kind == ALIAS or (kind == WORD and not address.host and address.text.lower() in directory.aliases):
        return _alias(address.text.lower(), directory, me)
    known = _word(address, directory)
    if _same(known, me):
        raise UsageError(
            f"{address.text} is this session itself", "For a note to the next session of this project, write to self."
        )
    return known.session, (_to(known, trays.DIRECT),), (), _kept(known)


def _channel(name: str, directory: Directory, me: Known | None) -> _Choice:
    if name not in directory.channels:
        near = near_matches(name, directory.channels)
        hint = f"Did you mean #{', #'.join(near)}?" if near else f"Make it with: attend channels create {name}"
        raise UsageError(f"there is no channel #{name}", hint)
    found = [directory.by_key(key) for key in directory.channels[name]]
    others = [one for one in found if one is not None and not _same(one, me)]
    note = "" if others else f"nobody else is in #{name}; kept in its history"
    if others and all(one.live == DEAD for one in others):
        note = f"no live session in #{name}; kept for its members"
    return f"#{name}", tuple(_to(one, trays.CHANNEL) for one in others), (layout.room_of_channel(name),), note


def _path(path: str, directory: Directory, me: Known | None) -> _Choice:
    found = [one for one in directory.known if one.project == path and one.live != DEAD and not _same(one, me)]
    if found:
        return path, tuple(_to(one, trays.DIRECT) for one in found), (), ""
    recipient = Recipient(layout.tray_of_project(path), trays.DIRECT, name=f"the next session in {path}")
    other = " other" if me is not None and me.project == path else ""
    return path, (recipient,), (), f"no{other} live session in {path}; kept for the next one there"


def _alias(name: str, directory: Directory, me: Known | None) -> _Choice:
    if name not in directory.aliases:
        near = near_matches(name, directory.aliases)
        raise UsageError(
            f"nobody has ever held the alias @{name}",
            f"Did you mean @{', @'.join(near)}?" if near else "A session takes one with: attend alias NAME",
        )
    holder = directory.by_key(directory.aliases[name])
    if holder is not None and _same(holder, me):
        raise UsageError(f"@{name} is this session itself", "For the next session of this project, write to self.")
    if holder is not None and holder.live != DEAD:
        return f"@{name}", (_to(holder, trays.DIRECT),), (), _kept(holder)
    recipient = Recipient(layout.tray_of_alias(name), trays.DIRECT, name=f"@{name}")
    return f"@{name}", (recipient,), (), f"no live session holds @{name}; kept for who holds it next"


def _word(address: Address, directory: Directory) -> Known:
    text, host = address.text, address.host
    there = [one for one in directory.known if not host or one.host == host]
    exact = Directory(tuple(there)).by_session(text)
    if exact is not None:
        return exact
    folded = text.lower()
    for found in (
        [one for one in there if one.name.lower() == folded],
        [one for one in there if one.nickname.lower() == folded],
        [one for one in there if one.called.lower() == folded],
        [one for one in there if len(text) >= _SHORTEST_PREFIX and any(s.startswith(text) for s in one.sessions)],
    ):
        best = [one for one in found if one.live != DEAD] or found
        if len(best) == 1:
            return best[0]
        if best:
            raise UsageError(f"{text} fits {len(best)} sessions: {_listed(best)}", "Write one of them whole.")
    words = [one.name for one in there] + list(directory.aliases) + [one.called for one in there if one.called]
    near = near_matches(text, words)
    if near:
        raise UsageError(f"there is no session {text}", f"Did you mean {', '.join(near)}?")
    raise UsageError(f"there is no session {text}", "List those that there are: attend peers")


def _listed(found: Iterable[Known]) -> str:
    return ", ".join(f"{one.name} ({one.session} in {one.project or '?'} on {one.host or '?'})" for one in found)


def _same(one: Known, me: Known | None) -> bool:
    return me is not None and (one.session == me.session or (one.key is not None and one.key == me.key))


def _to(one: Known, why: str) -> Recipient:
    return Recipient(one.session, why, session=one.session, name=one.name, live=one.live)


def _kept(one: Known) -> str:
    if one.live == DEAD:
        return f"no live session: {one.name} has ended; kept until it is resumed"
    if one.live == UNKNOWN:
        return f"{one.name} belongs to {one.host or 'another machine'}; whether it lives can not be seen from here"
    return ""


def reply_to(session: str, directory: Directory) -> Recipient:
    """The tray of who wrote from `session`: that session by whatever id it has now, known or not (ATT-5)."""
    known = directory.by_session(session)
    if known is not None:
        return _to(known, trays.DIRECT)
    if session_name(session) is None:
        raise UsageError("the signal names no sender that can be answered", "Write to a session by name instead.")
    return Recipient(session, trays.DIRECT, session=session, name=session[:8])


def near_matches(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The words of `known` that are at most half their length away from `word`, or begin with it; best first."""
    folded = word.lower()
    found = []
    for other in dict.fromkeys(known):
        far = 0 if other.lower().startswith(folded) else _distance(folded, other.lower())
        if far <= len(other) // 2:
            found.append((far, other))
    return [other for _, other in sorted(found)[:most]]


def _distance(one: str, other: str) -> int:
    """Letters to change, drop or add."""
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]
