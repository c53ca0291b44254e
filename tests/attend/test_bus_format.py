"""The format page against the code: each example is read by what reads the real thing, and each place is on it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import ids, instances, intake, layout, ledger, rooms, seen, signals
from agent_ways.base.process import Owner
from tests.attend.children import ROOT
from tests.attend.world import A, B

if TYPE_CHECKING:
    from tests.attend.world import World

with open(os.path.join(ROOT, "docs", "reference", "bus-format.md"), encoding="utf-8") as file:
    PAGE = file.read()


def examples(kind: str) -> list[dict[str, Any]]:
    found = [json.loads(part.partition("```")[0]) for part in PAGE.split(f"```json {kind}\n")[1:]]
    assert found
    assert all(one["v"] == layout.FORMAT for one in found)
    return found


@pytest.mark.demand("ATT-1")
def test_the_signals_on_the_page_are_what_is_written() -> None:
    for one in examples("signal"):
        parsed = signals.parse(one, one["id"])
        assert {"v": 1, **parsed.to_json(), "recipients": list(parsed.recipients)} == one


def test_the_instance_on_the_page_is_what_is_written() -> None:
    for one in examples("instance"):
        assert instances.parse(one, one["key"], "x").to_record() == one


def test_the_ledger_on_the_page_is_what_is_written() -> None:
    for one in examples("ledger"):
        assert ledger.Ledger(one["key"], one).to_record() == one


def test_the_mark_and_the_lock_on_the_page_are_read(world: World) -> None:
    (mark,) = examples("mark")
    path = layout.marks(world.bus.root, "key", ids.day(mark["id"]))
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(mark) + "\n")
    assert seen.proofs(world.bus, "key", [mark["id"]]) == {mark["id"]: mark["proof"]}
    (lock,) = examples("lock")
    assert Owner.from_json(lock["owner"]) is not None


def test_every_file_that_the_bus_makes_is_on_the_page(world: World) -> None:
    one, other = world.session(100, A), world.session(200, B)
    rooms.create(world.bus, "deploy", "rollouts")
    intake.join(world.bus, one, "deploy")
    intake.take_alias(world.bus, one, "captain")
    asked = world.send(other, "x", A, "#deploy", "operator").signal
    world.reply(one, "y", asked.id)
    world.claim(one)
    seen.mark(world.bus, one.key, {asked.id: {"kind": "hook", "session": A, "at": None}})
    described = {line.split("  ")[2].strip() for line in PAGE.splitlines() if line.startswith("    ")}
    shapes = {path.split("/")[0] for path in described}
    assert set(os.listdir(world.bus.root)) | {"archive"} == shapes
    assert examples("channel")[0].keys() == read(layout.channel(world.bus.root, "deploy") + "/channel.json").keys()
    assert examples("alias")[0].keys() == read(layout.alias(world.bus.root, "captain")).keys()
    assert examples("personas")[0].keys() == read(layout.personas(world.bus.root)).keys()


def read(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found
