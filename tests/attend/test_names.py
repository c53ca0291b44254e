from __future__ import annotations

from agent_ways.attend import names


def test_every_project_has_a_nickname_of_its_own_while_there_are_any() -> None:
    taken: set[str] = set()
    for number in range(len(names.NICKNAMES)):
        name = names.nickname(f"/p/{number}", taken)
        assert name not in taken
        taken.add(name)
    assert names.nickname("/p/one-more", taken) in taken
    assert len(names.NICKNAMES) == len({name.lower() for name in names.NICKNAMES}) >= 190


def test_ordinals_go_on_after_omega() -> None:
    assert [names.ordinal(number) for number in (0, 23, 24)] == ["alpha", "omega", "25"]
