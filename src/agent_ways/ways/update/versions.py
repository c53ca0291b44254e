"""Versions in the layout: tried out, recorded, put in force, taken back, pruned.

Owns what `version.json` says of a released version, and the order of the steps: whatever is interrupted, the old
version or the new one is in force, whole. Must not know where a version came from.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from agent_ways.base.errors import DamagedRecordError
from agent_ways.base.jsontext import dumps
from agent_ways.base.records import read_record, remove, sync_dir, write_bytes
from agent_ways.ways import links
from agent_ways.ways.layout import COMMANDS, COMPLETE, PROJECTED
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.update.errors import NothingToRollBackError, SmokeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_ways.ways.layout import Layout
    from agent_ways.ways.world import World

FORMAT = 1
REPLACED = "replaced"
"""In a version's record: the version that was in force before it, which `--rollback` goes back to."""
SMOKE_PATIENCE = 60.0
"""Seconds that one `--version` may take; the first start of a new file may be looked at by a virus scanner."""
_KEPT = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "USER")


def record_of(layout: Layout, identifier: str) -> dict[str, Any]:
    """What is recorded of a version; empty where that can not be read."""
    try:
        return read_record(os.path.join(layout.version(identifier), COMPLETE), FORMAT) or {}
    except DamagedRecordError:
        return {}


def write_record(layout: Layout, identifier: str, record: Mapping[str, Any]) -> None:
    """Record a version, which makes it whole."""
    path = os.path.join(layout.version(identifier), COMPLETE)
    write_bytes(path, dumps({"v": FORMAT, **record}).encode("ascii") + b"\n", 0o644)


def smoke(folder: str, version: str, env: Mapping[str, str]) -> None:
    """Raise `SmokeError` unless each command in `folder` starts and tells that version, and what they project is there.

    A version without its skills and hooks would run, and the next reconcile would take them out of every config dir.
    """
    if not os.path.isdir(os.path.join(folder, PROJECTED)):
        raise SmokeError("the new version does not bring its skills and hooks", _SMOKE)
    clean = {name: env[name] for name in _KEPT if name in env}
    for name in COMMANDS:
        path = os.path.join(folder, name)
        try:
            ran = subprocess.run(
                [path, "--version"],
                env=clean,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SMOKE_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SmokeError(f"the new {name} does not run here: {error}", _SMOKE) from None
        if ran.returncode != 0 or ran.stdout.strip() != f"{name} {version}":
            said = (ran.stderr or ran.stdout).strip().splitlines()
            words = said[-1] if said else f"exit code {ran.returncode}, and no word"
            raise SmokeError(f"the new {name} does not run here as {version}: {words}", _SMOKE)


_SMOKE = "The version in force was kept. Build from source instead: in a checkout, make install"


def runs(folder: str, version: str, env: Mapping[str, str]) -> bool:
    """Whether each command in `folder` starts and tells that version."""
    try:
        smoke(folder, version, env)
    except SmokeError:
        return False
    return True


def free_identifier(layout: Layout, version: str, digest: str, env: Mapping[str, str]) -> tuple[str, bool]:
    """The identifier for a version with that digest, and whether it is there already, whole and running.

    A whole version that does not run any more is not mended in place, since it may be the one in force.
    """
    for attempt in range(100):
        short = digest if not attempt else hashlib.sha256(f"{digest}/{attempt}".encode()).hexdigest()
        identifier = f"{version}-{short[:8]}"
        if not layout.is_complete(identifier):
            return identifier, False
        if record_of(layout, identifier).get("sha256") == digest and runs(layout.version(identifier), version, env):
            return identifier, True
    raise SmokeError(f"version {version} is there a hundred times over and never runs", "Run: ways doctor")


def clear(layout: Layout, identifier: str) -> None:
    """Take a version that is not in force away; it stops being whole first."""
    folder = layout.version(identifier)
    remove(os.path.join(folder, COMPLETE))
    shutil.rmtree(folder, ignore_errors=True)


def refuse_foreign(world: World) -> None:
    """Raise `RefusedError` where something of a person's stands at a command's place on PATH."""
    layout = world.layout
    for name in COMMANDS:
        hint = "Move it aside, or set XDG_BIN_HOME to another folder; then run it again."
        links.refuse_foreign(os.path.join(layout.bin, name), layout.command(name), layout.data, hint)


def put_in_force(world: World, identifier: str) -> bool:
    """Flip to a whole version, and note which one it replaces; False where it was in force already."""
    layout = world.layout
    before = layout.installed()
    if before == identifier:
        return False
    if before is not None:
        record = record_of(layout, identifier)
        record.pop("v", None)
        write_record(layout, identifier, {**record, REPLACED: before})
    flipped = layout.put_in_force(identifier)
    sync_dir(layout.data)
    return flipped


def link_commands(world: World) -> list[str]:
    """Make the links on PATH that are missing; returns those made."""
    layout = world.layout
    Ledger(layout).make_folder(layout.bin)
    paths = {os.path.join(layout.bin, name): layout.command(name) for name in COMMANDS}
    return [path for path, target in paths.items() if links.put(path, target, layout.data)]


def previous(world: World) -> str:
    """The version that the one in force replaced, tried out; raises `NothingToRollBackError`."""
    layout = world.layout
    here = layout.installed()
    before = record_of(layout, here).get(REPLACED) if here else None
    if not isinstance(before, str) or not layout.is_complete(before):
        hint = "An earlier release is had with:  ways update --to VERSION"
        raise NothingToRollBackError("no earlier version is there to go back to", hint)
    return before


def unused(layout: Layout, keep: Iterable[str], executables: Iterable[str]) -> list[str]:
    """The versions that nothing needs: not kept, and no live server was started from their folder."""
    kept = set(keep)
    versions = os.path.realpath(layout.versions)
    for path in executables:
        folder = os.path.dirname(path)
        if os.path.dirname(folder) == versions or os.path.dirname(folder) == layout.versions:
            kept.add(os.path.basename(folder))
    return [identifier for identifier in layout.on_disk() if identifier not in kept]


def to_keep(layout: Layout) -> set[str]:
    """The version in force and the one to roll back to."""
    here = layout.installed()
    before = record_of(layout, here).get(REPLACED) if here else None
    return {name for name in (here, before) if isinstance(name, str)}
