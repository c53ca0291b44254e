"""`ways update`: the newest release, or the one asked for, proven and put in force in one step; or the way back.

Owns the order of the whole. A version is made at its final place, which counts once its record is there; the flip of
one link puts it in force; only then is what nothing needs taken away. Killed anywhere, the old version or the new one
is in force and whole; what was left lying is taken away by the next run. Running sessions keep their servers.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agent_ways.base.errors import UsageError
from agent_ways.base.records import make_dirs
from agent_ways.ways.layout import version_of
from agent_ways.ways.ledger import Ledger
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.running import running
from agent_ways.ways.update import managed, platforms, source, versions
from agent_ways.ways.update.errors import ManagedError
from agent_ways.ways.update.fetch import Edges, Fetcher, Source
from agent_ways.ways.update.names import Version, parse_version
from agent_ways.ways.update.origin import origin_of
from agent_ways.ways.update.plan import SUMS_ONLY, SUMS_ONLY_WORDS, Plan
from agent_ways.ways.update.progress import meter

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_ways.ways.world import World


@dataclass(frozen=True)
class Here:
    """What of this machine decides, and the edges of the download; tests bring their own."""

    place: managed.Place = field(default_factory=managed.this_place)
    machine: platforms.Machine = field(default_factory=platforms.this_machine)
    edges: Edges = field(default_factory=lambda: Edges(progress=meter()))
    build: Callable[[str, World], str] = source.build


def run(
    world: World,
    *,
    to: str = "",
    rollback: bool = False,
    dry_run: bool = False,
    check: bool = False,
    sums_only: bool = False,
    here: Here | None = None,
) -> Report:
    """Update. `to` names a version, older ones included; `check` only tells whether there is a newer one."""
    here = here or Here()
    if rollback and (to or check or sums_only):
        raise UsageError("--rollback goes back to the version before, and takes no --to, --check or --sums-only")
    wanted = parse_version(to.removeprefix("v")) if to else None
    if to and wanted is None:
        raise UsageError(f"{to} is no version", "A version is written like 1.2.3")
    other = managed.command(here.place, world.layout)
    if other:
        raise ManagedError("another program manages this installation, and updates it", f"Run:  {other}")
    if rollback:
        return _rolled_back(world, here, dry_run=dry_run)
    return _updated(world, here, wanted, dry_run=dry_run, check=check, sums_only=sums_only)


def _updated(
    world: World, here: Here, wanted: Version | None, *, dry_run: bool, check: bool, sums_only: bool
) -> Report:
    layout = world.layout
    versions.refuse_foreign(world)
    installed = layout.installed()
    record = versions.record_of(layout, installed) if installed else {}
    where = _source(world, here, record, sums_only=sums_only)
    fetcher = Fetcher(where, here.edges, world.env)
    now = parse_version((version_of(installed) or "") if installed else "")

    def enough(version: Version) -> bool:
        return check or (wanted is None and now is not None and version <= now)

    found = fetcher.decide(wanted, enough)
    if isinstance(found, Version):
        return _told(found, now)
    if dry_run:
        return Report("update", tuple(_would(world, found, now)), data=_data(found.version, now))
    Ledger(layout).make_folder(layout.data)
    with world.lock():
        more = {"repository": where.origin.repository, "checkout": record.get("checkout")}
        identifier, proof = _made(world, here, fetcher, found, more)
        return _in_force(world, here, identifier, proof, now)


def _source(world: World, here: Here, record: dict[str, Any], *, sums_only: bool) -> Source:
    checkout = record.get("checkout") if isinstance(record.get("checkout"), str) else ""
    repository = record.get("repository") if isinstance(record.get("repository"), str) else ""
    if not repository and here.place.frozen:
        repository = source.packed_repository(here.place.package)
    return Source(
        origin=origin_of(world.env, repository or "", checkout or ""),
        choice=platforms.choose(here.machine),
        checksums=os.path.join(checkout, "checksums") if checkout else "",
        sums_only=sums_only,
    )


def _made(
    world: World, here: Here, fetcher: Fetcher, todo: Plan, more: dict[str, Any]
) -> tuple[str, dict[str, object]]:
    """The identifier of the version that the plan makes, whole and tried out, and what proved it."""
    layout = world.layout
    if todo.is_source:
        identifier, proof = source.made(world, here.build, lambda folder: fetcher.bring(todo, folder))
        record = {key: value for key, value in versions.record_of(layout, identifier).items() if key != "v"}
        versions.write_record(layout, identifier, {**record, "proof": proof, **more})
        return identifier, proof
    version = str(todo.version)
    identifier, there = versions.free_identifier(layout, version, todo.digest, world.env)
    if there:
        known = versions.record_of(layout, identifier).get("proof")
        return identifier, known if isinstance(known, dict) else {}
    folder = layout.version(identifier)
    versions.clear(layout, identifier)
    make_dirs(folder)
    try:
        proof = fetcher.bring(todo, folder)
        here.edges.step("smoke")
        versions.smoke(folder, version, world.env)
        here.edges.step("record")
        record = {
            "version": version,
            "form": "frozen",
            "asset": todo.asset.name,
            "sha256": todo.digest,
            "proof": proof,
            **more,
        }
        versions.write_record(layout, identifier, record)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return identifier, proof


def _in_force(world: World, here: Here, identifier: str, proof: dict[str, object], now: Version | None) -> Report:
    layout = world.layout
    here.edges.step("flip")
    flipped = versions.put_in_force(world, identifier)
    here.edges.step("link")
    linked = versions.link_commands(world)
    text = f"{version_of(identifier)} ({identifier})"
    lines = [Line(Status.DONE if flipped else Status.OK, "version", f"{text} is in force")]
    lines += [Line(Status.DONE, "command", path) for path in linked]
    if proof.get("how") == SUMS_ONLY:
        lines.append(Line(Status.NOTE, "proof", SUMS_ONLY_WORDS))
    elif proof:
        lines.append(Line(Status.OK, "proof", f"{proof.get('how')}{_by(proof)}"))
    here.edges.step("prune")
    for name in _unused(world, versions.to_keep(layout)):
        versions.clear(layout, name)
        lines.append(Line(Status.DONE, "pruned", name))
    if flipped:
        lines.append(Line(Status.NOTE, "sessions", "those that are open keep their server", "ways status"))
        lines.append(
            Line(Status.NOTE, "config dirs", "what is new for them is put there by reconcile", "ways reconcile")
        )
    version = parse_version(version_of(identifier) or "")
    return Report("update", tuple(lines), data={**_data(version, now), "id": identifier, "proof": proof or None})


def _by(proof: dict[str, object]) -> str:
    return f" of {proof['identity']}, verified by {proof['by']}" if proof.get("identity") else ""


def _unused(world: World, keep: set[str]) -> list[str]:
    return versions.unused(world.layout, keep, (server.executable for server in running(world)))


def _told(newest: Version, now: Version | None) -> Report:
    data = _data(newest, now)
    if now is not None and newest <= now:
        older = "" if newest == now else f"; the newest release is {newest}, and an older one is only taken with --to"
        line = Line(Status.OK if newest == now else Status.NOTE, "version", f"{now} is installed{older}")
        return Report("update", (line,), quiet=f"{now} is the newest release", data=data)
    return Report("update", (Line(Status.NOTE, "version", f"{newest} is there", "ways update"),), data=data)


def _data(version: Version | None, now: Version | None) -> dict[str, Any]:
    newer = version is not None and (now is None or version > now)
    return {"installed": str(now) if now else None, "release": str(version) if version else None, "newer": newer}


def _would(world: World, todo: Plan, now: Version | None) -> list[Line]:
    what = "build from the released sources" if todo.is_source else "install"
    how = {SUMS_ONLY: SUMS_ONLY_WORDS}.get(todo.proof, todo.proof)
    lines = [
        Line(Status.WOULD, "version", f"{what}: {todo.version} in place of {now or 'none'}"),
        Line(Status.WOULD, "download", f"{todo.asset.name}, {todo.asset.size:,} bytes, proven by {how}"),
    ]
    # The version in force becomes the one to go back to; the one before it is needed no more.
    keep = {name for name in (world.layout.installed(), todo.identifier) if name}
    return lines + [Line(Status.WOULD, "pruned", name) for name in _unused(world, keep)]


def _rolled_back(world: World, here: Here, *, dry_run: bool) -> Report:
    layout = world.layout
    if dry_run:
        text = f"{versions.previous(world)} in place of {layout.installed()}"
        return Report("update", (Line(Status.WOULD, "version", text),))
    versions.previous(world)  # where there is none, nothing is touched
    with world.lock():
        identifier = versions.previous(world)
        version = version_of(identifier) or ""
        here.edges.step("smoke")
        versions.smoke(layout.version(identifier), version, world.env)
        proof = versions.record_of(layout, identifier).get("proof")
        now = parse_version(version_of(layout.installed() or "") or "")
        newer = layout.installed()
        report = _in_force(world, here, identifier, proof if isinstance(proof, dict) else {}, now)
        forth = Line(Status.OK, "before", f"{newer} is kept; ways update --rollback again goes forward to it")
        return replace(report, lines=(report.lines[0], forth, *report.lines[1:]))
