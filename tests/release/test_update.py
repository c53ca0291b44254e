from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.base.errors import RefusedError, StateError, UsageError
from agent_ways.base.process import this_process
from agent_ways.base.records import make_dirs, write_record
from agent_ways.ways.report import Status
from agent_ways.ways.update import update, versions
from agent_ways.ways.update.errors import NoReleaseError, NothingToRollBackError, SmokeError
from agent_ways.ways.update.fetch import Edges
from agent_ways.ways.update.names import SUMS
from agent_ways.ways.update.platforms import Machine
from agent_ways.ways.update.progress import meter
from tests.release.computer import LINUX, Computer, asset_name, assets, packed

if TYPE_CHECKING:
    from agent_ways.ways.world import World
    from tests.release.server import ReleaseServer

CHECKOUT = Path(__file__).resolve().parents[2]
STEPS = ("list", "sums", "download", "verify", "unpack", "smoke", "record", "flip", "link", "prune")


def publish(server: ReleaseServer, folder: Path, version: str, known: Path | None = None, says: str = "") -> bytes:
    """A release, and what a checkout that reviewed it has of it."""
    data = packed(folder / version, version, says=says)
    files = assets(data, version)
    server.publish(version, files)
    if known:
        known.mkdir(parents=True, exist_ok=True)
        (known / f"ways-mcp-v{version}.txt").write_bytes(files[SUMS])
    return data


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return tmp_path / "checkout" / "checksums"


@pytest.fixture
def installed(unsigned: Computer, server: ReleaseServer, tmp_path: Path, known: Path) -> Computer:
    """1.0.0 in force, from a checkout that has reviewed 1.1.0, which is released."""
    publish(server, tmp_path / "release", "1.1.0", known)
    unsigned.install("1.0.0", checkout=str(known.parent))
    return unsigned


def run(computer: Computer, **told: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.release.updating"],
        input=json.dumps({"env": computer.env, **told}),
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT / 'src'}:{CHECKOUT}"},
        capture_output=True,
        text=True,
        check=False,
    )


def fine(computer: Computer) -> str:
    """The version in force; all three commands tell it, and it is whole."""
    said = {name: computer.says(name) for name in ("ways", "attend", "ways-mcp")}
    version = said["ways"].split()[1]
    assert said == {name: f"{name} {version}" for name in said}
    return version


@pytest.mark.demand("LIFE-6")
@pytest.mark.field_report(85)
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_the_old_version_or_the_new_one_is_whole_and_the_next_run_finishes(
    step: str, installed: Computer
) -> None:
    ran = run(installed, kill=step)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert ran.stdout.split()[-1] == step
    assert fine(installed) == ("1.0.0" if STEPS.index(step) <= STEPS.index("flip") else "1.1.0")
    assert run(installed).returncode == 0
    assert fine(installed) == "1.1.0"
    assert len(installed.layout.on_disk()) == 2
    assert all(map(installed.layout.is_complete, installed.layout.on_disk()))


@pytest.mark.demand("LIFE-6")
@pytest.mark.field_report(85)
@pytest.mark.parametrize("at", [0, 1, 70_000, 160_000, 300_000])
def test_killed_after_any_byte_the_old_version_is_whole(at: int, installed: Computer) -> None:
    ran = run(installed, kill=at)
    assert ran.returncode == -signal.SIGKILL, (ran.stdout, ran.stderr)
    assert fine(installed) == "1.0.0"
    assert run(installed).returncode == 0
    assert fine(installed) == "1.1.0"


@pytest.mark.demand("LIFE-6")
@pytest.mark.field_report(85)
@pytest.mark.parametrize("room", [0, 1, 70_000, 160_000, 300_000])
def test_a_disk_that_is_full_at_any_byte_leaves_all_as_it_was(room: int, installed: Computer) -> None:
    left = room

    def write(fd: int, data: memoryview) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = os.write(fd, data[:left])
        left -= done
        return done

    before = installed.tree()
    with pytest.raises(StateError, match="No space left") as full:
        installed.update(edges=Edges(write=write))
    assert "Free some space" in full.value.hint
    assert installed.tree() == before
    assert fine(installed) == "1.0.0"


@pytest.mark.demand("LIFE-6")
def test_it_goes_back_and_forth_between_the_two_versions(installed: Computer) -> None:
    installed.update()
    assert fine(installed) == "1.1.0"
    installed.update(rollback=True)
    assert fine(installed) == "1.0.0"
    installed.update(rollback=True)
    assert fine(installed) == "1.1.0"


@pytest.mark.demand("LIFE-6")
@pytest.mark.parametrize("step", ["smoke", "flip", "link", "prune"])
def test_killed_at_any_step_on_the_way_back_one_of_the_two_is_whole_and_the_way_stays_open(
    step: str, installed: Computer
) -> None:
    installed.update()
    ran = run(installed, kill=step, options={"rollback": True})
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    before = fine(installed)
    assert before == ("1.1.0" if step in ("smoke", "flip") else "1.0.0")
    assert run(installed, options={"rollback": True}).returncode == 0
    assert fine(installed) == ("1.0.0" if before == "1.1.0" else "1.1.0")
    assert len(installed.layout.on_disk()) == 2


@pytest.mark.demand("LIFE-6")
def test_it_does_not_go_back_to_what_does_not_run(installed: Computer) -> None:
    old = installed.layout.installed() or ""
    installed.update()
    (Path(installed.layout.version(old)) / "attend").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(SmokeError):
        installed.update(rollback=True)
    assert fine(installed) == "1.1.0"


def test_with_nothing_to_go_back_to_it_says_so_and_touches_nothing(unsigned: Computer) -> None:
    with pytest.raises(NothingToRollBackError):
        unsigned.update(rollback=True)
    assert unsigned.tree() == {}
    unsigned.install("1.0.0")
    with pytest.raises(NothingToRollBackError):
        unsigned.update(rollback=True)
    assert fine(unsigned) == "1.0.0"


@pytest.mark.demand("LIFE-6")
def test_an_older_release_is_taken_only_when_it_is_asked_for(
    installed: Computer, server: ReleaseServer, tmp_path: Path, known: Path
) -> None:
    installed.update()
    publish(server, tmp_path / "release", "0.9.0", known)
    del server.releases["1.1.0"]
    report = installed.update()
    assert "older one is only taken with --to" in report.lines[0].text
    assert fine(installed) == "1.1.0"
    installed.update(to="0.9.0")
    assert fine(installed) == "0.9.0"


def test_a_version_that_is_not_there_is_named_with_those_that_are(installed: Computer) -> None:
    with pytest.raises(NoReleaseError) as refused:
        installed.update(to="7.0.0")
    assert refused.value.hint == "There are: 1.1.0"
    with pytest.raises(UsageError):
        installed.update(to="newest")


@pytest.mark.demand("LIFE-6")
def test_a_dry_run_is_exact_changes_nothing_and_says_the_same_twice(installed: Computer) -> None:
    installed.install("0.8.0")
    installed.install("1.0.0")
    before = installed.tree()
    first, second = installed.update(dry_run=True, sums_only=True), installed.update(dry_run=True, sums_only=True)
    assert first == second
    assert installed.tree() == before
    assert all(line.status is Status.WOULD for line in first.lines)
    done = installed.update(sums_only=True)
    assert [line.text for line in first.lines if line.subject == "pruned"] == [
        line.text for line in done.lines if line.subject == "pruned"
    ]
    assert fine(installed) == "1.1.0"


def test_check_tells_and_changes_nothing(installed: Computer) -> None:
    before = installed.tree()
    report = installed.update(check=True)
    assert report.data == {"installed": "1.0.0", "release": "1.1.0", "newer": True}
    assert (report.exit_code, installed.tree()) == (0, before)
    installed.update()
    assert installed.update(check=True).data["newer"] is False


def test_the_newest_is_left_alone_in_one_quiet_line(installed: Computer, server: ReleaseServer) -> None:
    installed.update()
    before, asked = installed.tree(), len(server.asked)
    report = installed.update()
    assert report.all_ok
    assert report.quiet == "1.1.0 is the newest release"
    assert installed.tree() == before
    assert server.asked[asked:] == ["/releases?per_page=100&page=1"]


def marker(computer: Computer, identifier: str, *, host: str = "") -> None:
    owner = this_process(computer.world.table, computer.env).to_json()
    folder = computer.home / ".local/state/agent-ways/servers"
    make_dirs(str(folder))
    executable = os.path.join(os.path.realpath(computer.layout.version(identifier)), "ways-mcp")
    content = {"v": 1, "owner": {**owner, **({"host": host} if host else {})}, "version": "?", "executable": executable}
    write_record(str(folder / f"session-{identifier}.{os.getpid()}"), content)


@pytest.mark.demand("LIFE-6")
def test_a_version_is_pruned_only_when_no_live_marker_names_it(installed: Computer, known: Path) -> None:
    names = {version: installed.install(version) for version in ("0.6.0", "0.7.0", "0.8.0")}
    marker(installed, names["0.6.0"])
    marker(installed, names["0.7.0"], host="another machine")
    here = installed.install("1.0.0", checkout=str(known.parent))
    report = installed.update()
    assert [line.text for line in report.lines if line.subject == "pruned"] == [names["0.8.0"]]
    new = installed.layout.installed() or ""
    assert set(installed.layout.on_disk()) == {names["0.6.0"], names["0.7.0"], here, new}


def test_a_second_run_takes_away_what_a_killed_one_left(installed: Computer) -> None:
    assert run(installed, kill="unpack").returncode == -signal.SIGKILL
    left = [name for name in installed.tree() if name.endswith(".tar.gz")]
    assert left
    installed.update()
    assert not [name for name in installed.tree() if name.endswith(".tar.gz")]


@pytest.mark.demand("LIFE-6")
def test_many_updates_at_once_end_as_one(installed: Computer) -> None:
    told = json.dumps({"env": installed.env})
    command = [sys.executable, "-m", "tests.release.updating"]
    env = {**os.environ, "PYTHONPATH": f"{CHECKOUT / 'src'}:{CHECKOUT}"}
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=CHECKOUT, env=env, text=True)
        for _ in range(4)
    ]
    for child in running:
        assert child.stdin
        child.stdin.write(told)
        child.stdin.close()
    for child in running:
        with child:
            assert child.wait(60) == 0
    assert fine(installed) == "1.1.0"
    assert len(installed.layout.on_disk()) == 2


@pytest.mark.demand("LIFE-6")
@pytest.mark.field_report(85)
def test_it_works_through_a_data_dir_that_is_a_link_and_commands_reached_by_links(
    unsigned: Computer, server: ReleaseServer, tmp_path: Path, known: Path
) -> None:
    publish(server, tmp_path / "release", "1.1.0", known)
    (tmp_path / "big disk").mkdir()
    (unsigned.home / ".local/share").mkdir(parents=True)
    (unsigned.home / ".local/share/agent-ways").symlink_to(tmp_path / "big disk")
    unsigned.install("1.0.0", checkout=str(known.parent))
    outer = tmp_path / "ways-of-mine"
    outer.symlink_to(Path(unsigned.layout.bin) / "ways-mcp")
    unsigned.update()
    said = subprocess.run([outer, "--version"], capture_output=True, text=True, check=True).stdout
    assert said == "ways-mcp 1.1.0\n"
    assert (unsigned.home / ".local/share/agent-ways").is_symlink()
    assert outer.is_symlink()


@pytest.mark.demand("LIFE-6")
@pytest.mark.field_report(85)
def test_a_folder_that_can_not_be_written_is_named_and_nothing_changes(installed: Computer, tmp_path: Path) -> None:
    before = installed.tree()
    if os.getuid():
        told = {}
        Path(installed.layout.versions).chmod(0o500)
    else:  # to root no mode is an obstacle: as another user, who may read all of it
        told = {"uid": 65534}
        for path in [tmp_path, tmp_path.parent, tmp_path.parent.parent, *tmp_path.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o755)
    ran = run(installed, **told)
    Path(installed.layout.versions).chmod(0o700)
    assert ran.returncode == StateError.exit_code, (ran.stdout, ran.stderr)
    assert "state: cannot" in ran.stdout
    assert "Permission denied" in ran.stdout
    assert installed.tree() == before


def test_a_file_of_a_persons_on_path_is_refused_before_anything_is_asked(
    unsigned: Computer, server: ReleaseServer
) -> None:
    Path(unsigned.layout.bin).mkdir(parents=True)
    (Path(unsigned.layout.bin) / "attend").write_text("mine")
    with pytest.raises(RefusedError, match="is not ours"):
        unsigned.update()
    assert server.asked == []


def test_from_an_unpacked_archive_the_first_version_is_installed(
    unsigned: Computer, server: ReleaseServer, tmp_path: Path
) -> None:
    publish(server, tmp_path / "release", "1.1.0")
    report = unsigned.update(sums_only=True)
    assert fine(unsigned) == "1.1.0"
    assert [line.subject for line in report.lines].count("command") == 3


def test_a_version_in_force_that_no_longer_runs_is_replaced_beside_it(installed: Computer) -> None:
    installed.update()
    broken = installed.layout.installed() or ""
    (Path(installed.layout.version(broken)) / "ways").write_text("damaged")
    installed.update(to="1.1.0")
    assert installed.layout.installed() != broken
    assert fine(installed) == "1.1.0"


@pytest.mark.demand("LIFE-2", "LIFE-6")
def test_without_a_prebuilt_the_released_sources_are_built_proven_the_same_way(
    installed: Computer, server: ReleaseServer, tmp_path: Path, known: Path
) -> None:
    data = packed(tmp_path / "sources", "1.2.0", platform="source")
    server.publish("1.2.0", assets(data, "1.2.0", platform="source"))
    (known / "ways-mcp-v1.2.0.txt").write_bytes(server.releases["1.2.0"][SUMS])
    seen = []

    def build(folder: str, world: World) -> str:
        seen.append(sorted(os.listdir(folder)))
        identifier = "1.2.0-abcdef01"
        made = Path(world.layout.version(identifier))
        made.mkdir()
        for name in ("ways", "attend", "ways-mcp"):
            (made / name).write_text(f"#!/bin/sh\necho {name} 1.2.0\n")
            (made / name).chmod(0o755)
        versions.write_record(world.layout, identifier, {"version": "1.2.0"})
        return identifier

    installed.update(machine=Machine("Linux", "riscv64", "glibc", (2, 39)), more={"build": build})
    assert fine(installed) == "1.2.0"
    assert seen == [["_internal", "attend", "projected", "release.json", "ways", "ways-mcp"]]
    record = versions.record_of(installed.layout, "1.2.0-abcdef01")
    assert (record["proof"], record["checkout"]) == ({"how": "checksums"}, str(known.parent))
    assert asset_name("1.2.0", "source") in server.releases["1.2.0"]


def test_going_back_takes_no_other_option(unsigned: Computer) -> None:
    for options in ({"to": "1.0.0"}, {"check": True}, {"sums_only": True}):
        with pytest.raises(UsageError):
            unsigned.update(rollback=True, **options)


def test_progress_ends_with_the_whole_size(installed: Computer, server: ReleaseServer) -> None:
    seen: list[tuple[int, int]] = []
    installed.update(edges=Edges(progress=lambda done, whole: seen.append((done, whole))))
    size = len(server.releases["1.1.0"][asset_name("1.1.0")])
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)


def test_a_person_who_watches_sees_each_percent_once_and_nobody_else_is_told() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    watched, file = Terminal(), io.StringIO()
    for stream in (watched, file):
        show = meter(stream)
        for done in range(0, 3_000_001, 1000):
            show(done, 3_000_000)
    assert watched.getvalue().count("\r") == 101
    assert watched.getvalue().endswith("\rdownloading: 100 % of 3.0 MB\n")
    assert file.getvalue() == ""


def test_what_decides_on_this_machine_is_found_without_asking_anyone() -> None:
    here = update.Here()
    assert here.machine.system == os.uname().sysname
    assert here.place.checkout
    assert LINUX.libc == "glibc"
