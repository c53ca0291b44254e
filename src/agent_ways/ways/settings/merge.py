"""The three-way merge of our entries into a person's settings.json (LIFE-4): a function over text and values.

Owns which entries are ours, what has become of each, and the text with them in it or without them. Everything else in
the text stays as it is, to the character. Must not know files, nor which entries there are to offer.

The base of the merge is what was *offered*, entry by entry, with what became of it: `added` (we put it in), `found`
(it stood there already, so it is the person's), `declined` (it was there and a person took it out: never put in again
until asked). `adding` and `removing` are written down before the file is touched; a run that was cut short between
the two finds them and goes on.
"""

from __future__ import annotations

import copy
import shlex
from dataclasses import dataclass, field
from typing import Any

from agent_ways.ways.settings import jsonedit
from agent_ways.ways.settings.jsonedit import NotEditableError

ADDING, ADDED, FOUND, DECLINED, REMOVING = "adding", "added", "found", "declined", "removing"
_OURS = (ADDING, ADDED, REMOVING)

Where = tuple[str, ...]


@dataclass(frozen=True)
class Offer:
    """One entry for the list at `where`: a permission's text, or a hook's group with one command in it."""

    where: Where
    value: Any

    @property
    def name(self) -> str:
        """What it is known by: a permission by its text, a hook by its event and the path of its command."""
        return f"{'.'.join(self.where)}: {_token(self.value)}"


@dataclass(frozen=True)
class Entry:
    """What became of one offer, with the value as it was offered."""

    state: str
    offer: Offer


@dataclass(frozen=True)
class Base:
    """What was offered in one settings.json, and the containers that we made there.

    `made` maps a container's path to the text of the empty one that stood there; None where there was none.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    made: dict[Where, str | None] = field(default_factory=dict)

    def named(self, state: str) -> tuple[str, ...]:
        """The names of the entries in a state."""
        return tuple(name for name, entry in self.entries.items() if entry.state == state)

    def to_json(self) -> dict[str, Any]:
        """The form in a record of ours."""
        entries = [
            {"state": entry.state, "where": list(entry.offer.where), "value": entry.offer.value}
            for entry in self.entries.values()
        ]
        return {"entries": entries, "made": [[list(path), text] for path, text in self.made.items()]}

    @classmethod
    def from_json(cls, raw: object) -> Base:
        """The base in a record; what in it makes no sense is left out."""
        raw = raw if isinstance(raw, dict) else {}
        entries = {}
        for each in _listed(raw.get("entries")):
            if isinstance(each, dict) and _is_texts(each.get("where")) and isinstance(each.get("state"), str):
                entry = Entry(each["state"], Offer(tuple(each["where"]), each.get("value")))
                entries[entry.offer.name] = entry
        made = {
            tuple(pair[0]): pair[1]
            for pair in _listed(raw.get("made"))
            if isinstance(pair, list) and len(pair) == 2 and _is_texts(pair[0]) and isinstance(pair[1], str | None)
        }
        return cls(entries, made)


@dataclass(frozen=True)
class Merged:
    """What a merge comes to: the text, the base before it is written and after, and what that means.

    `text` is None where the file is to be taken away, since nothing but what we made is in it.
    """

    text: str | None
    intent: Base
    base: Base
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    declined: tuple[str, ...] = ()
    """Offered earlier and taken out by a person since the last merge."""


def merge(text: str | None, offers: tuple[Offer, ...], base: Base) -> Merged:
    """Bring `offers`, and of ours nothing else, into `text` (None: there is no file).

    Raises `NotEditableError` where the text is not JSON, or something else stands where a list of ours belongs.
    """
    return _Work(text, base).converge(offers)


def withdraw(text: str | None, base: Base) -> Merged:
    """Take what we added out of `text`; what was declined stays noted, so that it is not offered again."""
    return _Work(text, base).converge(None)


def view(value: Any, *bases: Base) -> Any:
    """What is the person's in a settings value: all but the entries that we added and the containers that we made."""
    value = copy.deepcopy(value)
    made: set[Where] = set()
    for base in bases:
        made |= set(base.made)
        for entry in base.entries.values():
            if entry.state in _OURS:
                _strip(value, entry.offer)
    for path in sorted(made, key=len, reverse=True):
        _drop_empty(value, path)
    return value


class _Work:
    """One merge under way."""

    def __init__(self, text: str | None, base: Base) -> None:
        self._text = text
        self._base = base
        self._made = dict(base.made)
        if text is not None and not isinstance(jsonedit.parse(text).value, dict):
            raise NotEditableError("is not a JSON object")

    def converge(self, offers: tuple[Offer, ...] | None) -> Merged:
        offered = {offer.name: offer for offer in offers or ()}
        judged, declined = self._judge()
        intent, after = dict(judged), dict(judged)
        added, removed = [], []
        for name, entry in judged.items():
            if name in offered or entry.state == DECLINED:
                continue
            if entry.state == ADDED:
                intent[name] = Entry(REMOVING, entry.offer)
                self._take(entry.offer)
                removed.append(name)
            del after[name]
        for name, offer in offered.items():
            known = judged.get(name)
            if known is not None:
                after[name] = self._renew(known, offer)
            elif self._has(offer):
                intent[name] = after[name] = Entry(FOUND, offer)
            else:
                intent[name], after[name] = Entry(ADDING, offer), Entry(ADDED, offer)
                self._put(offer)
                added.append(name)
        made = dict(self._made)
        if offers is None:
            self._clear()
            self._made = {}
        return Merged(
            self._text, Base(intent, made), Base(after, self._made), tuple(added), tuple(removed), tuple(declined)
        )

    def _judge(self) -> tuple[dict[str, Entry], list[str]]:
        """What has become of each entry that was offered, and the names of those newly declined."""
        judged, declined = {}, []
        for name, entry in self._base.entries.items():
            if self._has(entry.offer):
                judged[name] = Entry(ADDED if entry.state in _OURS else FOUND, entry.offer)
            elif entry.state in (ADDED, FOUND, DECLINED):
                judged[name] = Entry(DECLINED, entry.offer)
                if entry.state != DECLINED:
                    declined.append(name)
        return judged, declined

    def _renew(self, known: Entry, offer: Offer) -> Entry:
        """An entry that stands there, in the form that is offered now, unless a person changed it."""
        if known.state != ADDED or known.offer == offer:
            return known if known.state == ADDED else Entry(known.state, offer)
        for index, value in enumerate(self._list(offer.where) or []):
            if value in (known.offer.value, offer.value):
                if value != offer.value:
                    self._text = jsonedit.replace(self._now, (*offer.where, index), offer.value)
                return Entry(ADDED, offer)
        return known

    @property
    def _now(self) -> str:
        """The text, where there is one for certain."""
        if self._text is None:
            self._text = "{}\n"
            self._made[()] = None
        return self._text

    def _list(self, where: Where) -> list[Any] | None:
        """The list at `where`, or None; raises where something else stands on the way."""
        if self._text is None:
            return None
        node: jsonedit.Node = jsonedit.parse(self._text)
        for depth, key in enumerate(where, 1):
            if [name for name, _ in node.children].count(key) > 1:
                raise NotEditableError(f"has {'.'.join(where[:depth])} twice")
            child = node.child(key)
            if child is None:
                return None
            wanted = list if depth == len(where) else dict
            if not isinstance(child.value, wanted):
                kind = "a list" if wanted is list else "an object"
                raise NotEditableError(f"has {'.'.join(where[:depth])}, which is not {kind}")
            node = child
        found: list[Any] = node.value
        return found

    def _has(self, offer: Offer) -> bool:
        return _places(self._list(offer.where) or [], offer) != []

    def _take(self, offer: Offer) -> None:
        while places := _places(self._list(offer.where) or [], offer):
            self._text = jsonedit.remove(self._now, (*offer.where, *places[0]))

    def _put(self, offer: Offer) -> None:
        text = self._now
        root = jsonedit.parse(text)
        depth = len(offer.where)
        while (parent := jsonedit.find(root, offer.where[:depth])) is None:
            depth -= 1
        path = offer.where[:depth]
        if not parent.children:
            self._made.setdefault(path, text[parent.start : parent.end])
        if depth == len(offer.where):
            self._text = jsonedit.insert(text, path, offer.value)
            return
        for end in range(depth + 1, len(offer.where) + 1):
            self._made[offer.where[:end]] = None
        value: Any = [offer.value]
        for key in reversed(offer.where[depth + 1 :]):
            value = {key: value}
        self._text = jsonedit.insert(text, path, value, key=offer.where[depth])

    def _clear(self) -> None:
        """Take the containers that we made away again, where they are empty."""
        for path in sorted(self._made, key=len, reverse=True):
            node = None if self._text is None else jsonedit.find(jsonedit.parse(self._text), path)
            if self._text is None or node is None or node.children or node.value not in ({}, []):
                continue
            literal = self._made[path]
            if literal is not None:
                self._text = jsonedit.replace_text(self._text, path, literal)
            else:
                self._text = jsonedit.remove(self._text, path) if path else None


def _places(entries: list[Any], offer: Offer) -> list[jsonedit.Path]:
    """Where an offer stands in its list: an item, or one hook of a group that holds others too."""
    places: list[jsonedit.Path] = []
    token = _token(offer.value)
    for index, entry in enumerate(entries):
        if not isinstance(offer.value, dict):
            if entry == offer.value:
                places.append((index,))
            continue
        hooks = entry.get("hooks") if isinstance(entry, dict) else None
        for number, hook in enumerate(hooks if isinstance(hooks, list) else []):
            if _hook_token(hook) == token:
                places.append((index,) if hooks is not None and len(hooks) == 1 else (index, "hooks", number))
    return places


def _token(value: Any) -> str:
    """A permission's text; of a hook's group the path of its command."""
    if not isinstance(value, dict):
        return str(value)
    hooks = value.get("hooks")
    return _hook_token(hooks[0]) or "" if isinstance(hooks, list) and hooks else ""


def _hook_token(hook: object) -> str | None:
    command = hook.get("command") if isinstance(hook, dict) else None
    if not isinstance(command, str):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return words[0] if words else None


def _strip(value: Any, offer: Offer) -> None:
    entries = value
    for key in offer.where:
        entries = entries.get(key) if isinstance(entries, dict) else None
    if not isinstance(entries, list):
        return
    while places := _places(entries, offer):
        *way, last = places[0]
        holder: Any = entries
        for step in way:
            holder = holder[step]
        del holder[last]


def _drop_empty(value: Any, path: Where) -> None:
    parent = None
    for key in path:
        parent, value = value, value.get(key) if isinstance(value, dict) else None
    if isinstance(parent, dict) and value in ({}, []):
        del parent[path[-1]]


def _listed(raw: object) -> list[Any]:
    return raw if isinstance(raw, list) else []


def _is_texts(raw: object) -> bool:
    return isinstance(raw, list) and all(isinstance(each, str) for each in raw)
