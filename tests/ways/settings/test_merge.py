from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.ways.settings import merge as merging
from agent_ways.ways.settings.jsonedit import NotEditableError
from agent_ways.ways.settings.merge import Base, Offer, merge, view, withdraw

pytestmark = pytest.mark.demand("LIFE-4")

ALLOW = ("permissions", "allow")
NONE = Base()
EVENTS = ("Stop", "SessionStart", "PreToolUse")
KEYS = ("entries", "made", "state", "where", "value")


def permission(tool: str) -> Offer:
    return Offer(ALLOW, f"mcp__agent-ways__{tool}")


def hook(event: str, command: str, **more: Any) -> Offer:
    return Offer(("hooks", event), {"hooks": [{"type": "command", "command": command, **more}]})


SEND, STATUS = permission("attend_send"), permission("ways_status")
STOP = hook("Stop", "'/home/me/my dir/bin/attend' inbox --drain")
START = hook("SessionStart", "/home/me/.claude/hooks/agent-ways/session-start")
OFFERS = (SEND, STATUS, STOP, START)

# -- a person's settings and edits --------------------------------------------------------------------------------

rules = st.sampled_from(["Bash(ls:*)", "Read", "mcp__other__x", "mcp__agent-ways", SEND.value, 'an "odd" one'])
commands = st.sampled_from(["/usr/bin/notify", "echo 'hi", "", "/home/me/bin/attend inbox --drain"])
groups = st.fixed_dictionaries(
    {"hooks": st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": commands}), max_size=3)},
    optional={"matcher": st.sampled_from(["", "Bash", "*"])},
)
odd = st.none() | st.integers() | st.text(max_size=3)
people = st.fixed_dictionaries(
    {},
    optional={
        "model": odd,
        "permissions": st.fixed_dictionaries(
            {}, optional={"allow": st.lists(rules, max_size=4), "deny": st.lists(rules, max_size=2), "x": odd}
        ),
        "hooks": st.fixed_dictionaries(
            {},
            optional={
                "Stop": st.lists(groups, max_size=3),
                "SessionStart": st.lists(groups, max_size=2),
                "PreToolUse": st.lists(groups, max_size=2),
            },
        ),
        "env": st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    },
)
layouts: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    return json.dumps(draw(people), **draw(layouts)) + draw(st.sampled_from(["", "\n"]))


def edited(data: st.DataObject, text: str | None) -> str | None:
    """The text after a person was at it: entries in, entries out (ours too), perhaps laid out anew."""
    if text is None:
        return data.draw(st.none() | texts())
    value = json.loads(text)
    for _ in range(data.draw(st.integers(0, 4))):
        where = data.draw(st.sampled_from([ALLOW, *(("hooks", event) for event in EVENTS)]))
        entries = value.setdefault(where[0], {}).setdefault(where[1], [])
        at = data.draw(st.integers(0, len(entries)))
        if entries and data.draw(st.booleans()):
            del entries[min(at, len(entries) - 1)]
        else:
            entries.insert(at, data.draw(rules if where == ALLOW else groups))
    layout = data.draw(st.none() | layouts)
    return text if value == json.loads(text) and layout is None else json.dumps(value, **(layout or {"indent": 2}))


def value_of(text: str | None) -> Any:
    return {} if text is None else json.loads(text)


def saved(base: Base) -> Base:
    """The base as the next run reads it."""
    return Base.from_json(json.loads(json.dumps(base.to_json())))


def entries_of(text: str | None, where: tuple[str, ...]) -> list[Any]:
    value = value_of(text)
    for key in where:
        value = value.get(key, {} if key != where[-1] else [])
    found: list[Any] = value
    return found


# -- the properties -----------------------------------------------------------------------------------------------


@given(st.data(), st.none() | texts())
def test_whatever_a_person_edits_in_between_their_view_never_changes(data: st.DataObject, text: str | None) -> None:
    base = NONE
    for _ in range(data.draw(st.integers(1, 4))):
        text = edited(data, text)
        offers = data.draw(st.none() | st.lists(st.sampled_from(OFFERS), unique_by=lambda offer: offer.name).map(tuple))
        merged = merge(text, offers, base) if offers is not None else withdraw(text, base)
        bases = (base, merged.intent, merged.base)
        assert view(value_of(merged.text), *bases) == view(value_of(text), *bases)
        again = merge(merged.text, offers, merged.base) if offers is not None else withdraw(merged.text, merged.base)
        assert (again.text, again.added, again.removed, again.declined) == (merged.text, (), (), ())
        text, base = merged.text, saved(merged.base)
        assert base == merged.base
    final = withdraw(text, base)
    assert not set(final.base.named(merging.ADDED))
    assert final.base.made == {}


@given(texts())
def test_put_in_and_taken_out_the_text_is_the_same_to_the_byte(text: str) -> None:
    merged = merge(text, OFFERS, NONE)
    assert withdraw(merged.text, saved(merged.base)).text == text


@given(st.data(), texts())
def test_what_was_offered_and_is_gone_is_declined_over_withdrawal_and_return(data: st.DataObject, text: str) -> None:
    first = merge(text, OFFERS, NONE)
    gone = data.draw(st.sampled_from([SEND, STATUS]))
    value = value_of(first.text)
    value["permissions"]["allow"] = [entry for entry in value["permissions"]["allow"] if entry != gone.value]
    second = merge(json.dumps(value), OFFERS, first.base)
    assert second.declined == (gone.name,)
    assert gone.value not in entries_of(second.text, ALLOW)
    left = withdraw(second.text, saved(second.base))
    back = merge(left.text, OFFERS, saved(left.base))
    assert gone.value not in entries_of(back.text, ALLOW)
    assert gone.name in back.base.named(merging.DECLINED)


@given(st.data(), texts())
def test_a_run_cut_short_on_either_side_of_the_write_converges(data: st.DataObject, text: str) -> None:
    before = merge(text, OFFERS[:2], NONE)
    wanted = data.draw(st.sampled_from([OFFERS, OFFERS[1:], None]))

    def run(text: str | None, base: Base) -> merging.Merged:
        return withdraw(text, base) if wanted is None else merge(text, wanted, base)

    whole = run(before.text, before.base)
    for written in (before.text, whole.text):  # killed before the file was written, and after it
        again = run(written, saved(whole.intent))
        assert value_of(again.text) == value_of(whole.text)
        assert again.base.entries == whole.base.entries


@given(texts())
def test_what_stood_there_before_it_was_offered_is_the_persons_and_stays(text: str) -> None:
    value = value_of(text)
    value.setdefault("permissions", {}).setdefault("allow", []).append(SEND.value)
    text = json.dumps(value)
    merged = merge(text, (SEND,), NONE)
    assert merged.text == text
    assert merged.base.named(merging.FOUND) == (SEND.name,)
    assert withdraw(merged.text, merged.base).text == text


# -- the cases ----------------------------------------------------------------------------------------------------


def test_a_missing_file_is_made_and_taken_away_again() -> None:
    merged = merge(None, OFFERS, NONE)
    assert merged.text is not None
    assert merged.text.endswith("}\n")
    assert withdraw(merged.text, saved(merged.base)).text is None


def test_a_file_that_we_made_and_a_person_wrote_into_stays() -> None:
    merged = merge(None, (SEND,), NONE)
    value = value_of(merged.text) | {"model": "x"}
    assert value_of(withdraw(json.dumps(value), merged.base).text) == {"model": "x"}


def test_with_everything_declined_no_file_is_made() -> None:
    merged = merge(None, (SEND,), NONE)
    declined = merge(None, (SEND,), merged.base)
    assert (declined.text, declined.declined) == (None, (SEND.name,))


@pytest.mark.parametrize("literal", ["{}", "{ }", "{\n}"])
def test_an_empty_container_of_a_persons_is_given_back_as_it_was(literal: str) -> None:
    text = f'{{"hooks": {literal}}}\n'
    merged = merge(text, (STOP,), NONE)
    assert withdraw(merged.text, saved(merged.base)).text == text


def test_a_hook_that_a_person_changed_or_moved_stays_ours_and_as_they_have_it() -> None:
    first = merge("{}", (STOP,), NONE)
    mine = {"type": "command", "command": "mine"}
    moved = {"matcher": "x", "hooks": [mine, {**STOP.value["hooks"][0], "timeout": 7}]}
    text = json.dumps({"hooks": {"Stop": [moved]}})
    newer = hook("Stop", "'/home/me/my dir/bin/attend' inbox --drain", timeout=60)
    second = merge(text, (newer,), first.base)
    assert second.text == text
    assert value_of(withdraw(text, second.base).text) == {"hooks": {"Stop": [{"matcher": "x", "hooks": [mine]}]}}


def test_a_hook_as_it_was_offered_is_renewed_in_its_place() -> None:
    mine = {"hooks": [{"type": "command", "command": "mine"}]}
    first = merge("{}", (STOP,), NONE)
    value = value_of(first.text)
    value["hooks"]["Stop"].append(mine)
    newer = hook("Stop", "'/home/me/my dir/bin/attend' inbox --drain", timeout=60)
    second = merge(json.dumps(value, indent=2), (newer,), first.base)
    assert entries_of(second.text, ("hooks", "Stop")) == [newer.value, mine]
    assert merge(second.text, (newer,), first.base).text == second.text  # killed before the base was written


def test_an_entry_that_is_offered_no_more_goes() -> None:
    first = merge("{}", (SEND, STATUS), NONE)
    second = merge(first.text, (STATUS,), first.base)
    assert second.removed == (SEND.name,)
    assert entries_of(second.text, ALLOW) == [STATUS.value]


def test_a_declined_entry_that_a_person_puts_back_is_theirs() -> None:
    first = merge("{}", (SEND,), NONE)
    declined = merge("{}", (SEND,), first.base)
    text = json.dumps({"permissions": {"allow": [SEND.value]}})
    back = merge(text, (SEND,), declined.base)
    assert back.base.named(merging.FOUND) == (SEND.name,)
    assert withdraw(text, back.base).text == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("// mine\n{}", "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"permissions": []}', "has permissions, which is not an object"),
        ('{"permissions": {"allow": {}}}', "has permissions.allow, which is not a list"),
        ('{"hooks": null}', "has hooks, which is not an object"),
        ('{"hooks": {"Stop": 1}}', "has hooks.Stop, which is not a list"),
        ('{"hooks": {}, "hooks": {}}', "has hooks twice"),
    ],
)
def test_what_can_not_be_merged_into_is_told_and_not_changed(text: str, why: str) -> None:
    with pytest.raises(NotEditableError, match=why):
        merge(text, OFFERS, NONE)


@given(
    st.recursive(
        odd,
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS), inner),
    )
)
def test_a_damaged_base_is_read_as_far_as_it_goes(raw: Any) -> None:
    assert isinstance(Base.from_json(raw), Base)


def test_the_view_does_not_change_what_it_looks_at() -> None:
    merged = merge("{}", OFFERS, NONE)
    value = value_of(merged.text)
    before = copy.deepcopy(value)
    assert view(value, merged.base) == {}
    assert value == before


def test_a_hook_that_stood_there_before_is_not_renewed_by_a_later_form_of_ours() -> None:
    text = json.dumps({"hooks": {"Stop": [STOP.value]}})
    first = merge(text, (STOP,), NONE)
    newer = hook("Stop", "'/home/me/my dir/bin/attend' inbox --drain", timeout=60)
    second = merge(first.text, (newer,), first.base)
    assert second.text == text
    assert second.base.named(merging.FOUND) == (newer.name,)
    assert merge(second.text, (newer,), second.base).base == second.base


@pytest.mark.parametrize("value", [{"hooks": []}, {"hooks": 1}, {}, {"hooks": [{"command": ""}]}])
def test_a_base_that_holds_a_hook_without_a_command_is_read(value: Any) -> None:
    entry = {"state": "added", "where": ["hooks", "Stop"], "value": value}
    base = Base.from_json({"entries": [entry]})
    assert merge("{}", (), base).text == "{}"
