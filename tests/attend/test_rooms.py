from __future__ import annotations

import os

import pytest

from agent_ways.attend import intake, layout, rooms
from agent_ways.base.errors import RefusedError, UsageError
from tests.attend.world import A, B, World


def test_channels_are_made_listed_left_and_dissolved(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    rooms.create(world.bus, "#deploy", "rollouts")
    assert intake.join(world.bus, one, "Deploy")
    assert not intake.join(world.bus, one, "deploy")
    assert intake.join(world.bus, other, "#new-one")
    assert [(one.name, one.description, len(one.members)) for one in rooms.channels(world.bus)] == [
        ("deploy", "rollouts", 1),
        ("new-one", "", 1),
    ]
    world.send(other, "hello deploy", "#deploy")
    assert world.bodies(A) == ["hello deploy"]
    assert rooms.leave(world.bus, one.key, "deploy")
    assert not rooms.leave(world.bus, one.key, "deploy")
    assert rooms.dissolve(world.bus, "deploy").description == "rollouts"
    assert [one.name for one in rooms.channels(world.bus)] == ["new-one"]
    assert os.listdir(layout.channels(world.bus.root)) == ["new-one"]
    with pytest.raises(RefusedError):
        rooms.create(world.bus, "new-one")


@pytest.mark.demand("ATT-2")
@pytest.mark.parametrize("name", ["", "#", "a b", "open", "é", "../x", "x" * 65, ".x", "a/b", "a\0"])
def test_a_channel_s_name_that_can_not_be_is_refused_and_nothing_is_written(world: World, name: str) -> None:
    one = world.session(100, A)
    before = world.tree()
    for act in (
        lambda: rooms.create(world.bus, name),
        lambda: rooms.join(world.bus, one.key, name),
        lambda: rooms.leave(world.bus, one.key, name),
        lambda: rooms.dissolve(world.bus, name),
    ):
        with pytest.raises(UsageError):
            act()
    assert world.tree() == before


@pytest.mark.parametrize("text", ["two\nlines", "\x1b[31m", "x" * 201])
def test_a_description_is_one_printable_line(world: World, text: str) -> None:
    with pytest.raises(UsageError):
        rooms.create(world.bus, "deploy", text)
    assert not os.path.exists(world.bus.root)


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("content", [b"", b"{", b'{"v":99}', b'{"v":1,"description":3}'])
def test_a_channel_with_a_damaged_record_still_works(world: World, content: bytes) -> None:
    one = world.session(100, A)
    intake.join(world.bus, one, "deploy")
    with open(os.path.join(layout.channel(world.bus.root, "deploy"), "channel.json"), "wb") as file:
        file.write(content)
    world.send(None, "hello", "#deploy")
    assert world.bodies(A) == ["hello"]
    assert [(found.name, found.description) for found in rooms.channels(world.bus)] == [("deploy", "")]


def test_a_dissolved_channel_can_be_made_again_and_has_its_history(world: World) -> None:
    one = world.session(100, A)
    intake.join(world.bus, one, "deploy")
    sent = world.send(None, "before", "#deploy").signal
    rooms.dissolve(world.bus, "deploy")
    with pytest.raises(UsageError, match="no channel"):
        world.send(None, "nobody", "#deploy")
    intake.join(world.bus, one, "deploy")
    assert list(rooms.newest_first(world.bus, "channel.deploy")) == [sent.id]
    assert world.bodies(A) == ["before"]
