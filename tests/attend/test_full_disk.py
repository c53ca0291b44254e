"""A full or read-only disk, missing permission, too many open files: a clear error, and an unchanged tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.attend.children import ROOT, Nursery
from tests.attend.world import A, B, World

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65534
NAMESPACE = ["unshare", "-rm"]


def may_mount() -> bool:
    """Whether a disk can be mounted in a namespace here: Linux, with unprivileged namespaces or as root."""
    if shutil.which("unshare") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)
    return tried.returncode == 0


needs_disks = pytest.mark.skipif(not may_mount(), reason="needs a mount namespace for a small disk of its own")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("disk")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((os.path.join(ROOT, "src"), ROOT))}
    words = [*NAMESPACE, sys.executable, "-m", "tests.attend.small_disk", str(folder)]
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        yield made


@needs_disks
@pytest.mark.demand("ATT-11", "ATT-1")
@pytest.mark.field_report(93)
@pytest.mark.field_report(94)
@pytest.mark.parametrize("act", ["send", "send to all", "claim", "mark", "join", "start", "alias"])
def test_a_full_disk_is_a_clear_error_the_tree_is_unchanged_and_it_works_once_there_is_space(
    answers: dict[str, Any], act: str
) -> None:
    tries = answers["full"][act]
    failed = [one for one in tries if one["error"]]
    assert failed
    for one in failed:
        assert "No space left on device" in one["error"]
        assert "Free some space" in one["hint"]
        assert one["waiting"] == 1
        assert one["left"] == []
        assert one["again"]["error"] is None
    assert [one["error"] for one in tries][-1] is None


@needs_disks
@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("act", ["arrive", "enter"])
def test_what_takes_several_steps_can_be_done_again_once_there_is_space(answers: dict[str, Any], act: str) -> None:
    for one in answers["full"][act]:
        assert one["error"] is None or "No space left on device" in one["error"]
        assert one.get("again", one)["error"] is None


@needs_disks
@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("act", ["send", "send to all", "claim", "mark", "join", "start", "alias"])
def test_read_only_state_is_a_clear_error(answers: dict[str, Any], act: str) -> None:
    one = answers["read only"][act]
    assert "Read-only file system" in one["error"]
    assert one["hint"]
    assert one["left"] == []
    assert one["waiting"] == 1


@needs_disks
@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("act", ["send", "send to all", "claim", "join", "start", "alias"])
def test_a_disk_without_inodes_is_a_clear_error(answers: dict[str, Any], act: str) -> None:
    one = answers["no inodes"][act]
    assert "No space left on device" in one["error"]
    assert one["left"] == []
    assert one["waiting"] == 1


@needs_disks
def test_what_only_looks_works_on_any_disk(answers: dict[str, Any]) -> None:
    for kind in ("read only", "no inodes"):
        assert answers[kind]["look"]["error"] is None
    assert all(one["error"] is None for one in answers["full"]["tidy"])


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("spare", range(3))
@pytest.mark.parametrize("act", [("send", 100, "hello", B), ("drain", 200), ("join", 200, "new-one"), ("start", 300)])
def test_too_many_open_files_are_a_clear_error(
    world: World, nursery: Nursery, act: tuple[Any, ...], spare: int
) -> None:
    world.session(100, A)
    world.session(200, B)
    world.send(None, "waits", B)
    world.client(300, "cccccccc-0000-4000-8000-00000000000c")
    before = world.tree()
    outcome = nursery.one(world, *act, files=spare)
    assert outcome.error is None or outcome.error.startswith(("StateError", "RefusedError")), outcome.error
    if outcome.error is not None and outcome.error.startswith("StateError"):
        assert "Too many open files" in outcome.error
        assert "ulimit -n" in outcome.error
        assert {path for path, data in world.tree().items() if before.get(path, b"") != data} <= {"locks"}
    assert nursery.one(world, *act).error is None


@pytest.mark.demand("ATT-11")
@pytest.mark.parametrize("act", [("send", 0, "hello", B), ("drain", 200), ("join", 200, "new-one"), ("start", 300)])
def test_missing_permission_is_a_clear_error(nursery: Nursery, act: tuple[Any, ...]) -> None:
    with tempfile.TemporaryDirectory() as home:
        world = World(home)
        world.session(200, B)
        world.send(None, "waits", B)
        world.client(300, A)
        paths = [
            path for folder, _, files in os.walk(home) for path in (folder, *(os.path.join(folder, f) for f in files))
        ]
        setup: dict[str, Any] = {}
        if os.getuid() == 0:
            setup["user"] = NOBODY
            for path in paths:
                os.chown(path, NOBODY, NOBODY)
        inside = [path for path in paths if path.startswith(world.bus.root)]
        for path in inside:
            os.chmod(path, 0o500 if os.path.isdir(path) else 0o400)
        before = world.tree(but=())
        outcome = nursery.one(world, *act, **setup)
        assert world.tree(but=()) == before
        for path in inside:
            os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
        assert outcome.error is not None
        assert outcome.error.startswith("StateError")
        assert "Permission denied" in outcome.error
        assert "access to" in outcome.error
        assert nursery.one(world, *act, **setup).error is None
