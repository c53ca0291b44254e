"""`ways doctor`: tries things for real, and names the repair of each that does not work.

Owns the list of checks. Exit 0 where nothing of ours is broken, 1 where something is; advice, and what can not be
looked at from here, break nothing. What it writes for a try it takes away again.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

from agent_ways.attend.layout import bus_root
from agent_ways.attend.verbs import run_verb
from agent_ways.attend.verbs.caller import COMMAND, open_caller
from agent_ways.base import config, paths
from agent_ways.base.errors import WaysError, state_error
from agent_ways.base.process import Owner, this_process
from agent_ways.base.records import read_record
from agent_ways.claude import mcp, records, registration
from agent_ways.claude.launch import channel_intent
from agent_ways.ways import gate, links, looks, plan, sessions, shadows, startfile
from agent_ways.ways.commands import reconcile
from agent_ways.ways.handshake import shake
from agent_ways.ways.layout import COMMANDS, version_of
from agent_ways.ways.report import Line, Report, Status
from agent_ways.ways.update import managed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_ways.ways.sessions import Session
    from agent_ways.ways.targets import Known
    from agent_ways.ways.world import World

_INSTALL = managed.to_install()
_START_PATIENCE = 20.0
"""Seconds that `--version` of a command may take."""
_STATUS = {"ok": Status.OK, "note": Status.NOTE, "failed": Status.FAILED}


def run(world: World) -> Report:
    """Run every check; none stops another."""
    lines = [_handshake(world), *_commands(world), *_starts(world), _on_path(world), *_bus(world), *_config(world)]
    try:
        known = reconcile.meant(world, world.targets())
    except WaysError as error:
        known = ()
        lines.append(Line(Status.FAILED, "targets", error.message, error.hint))
    for each in known:
        lines += _target(world, each)
    live = sessions.live(world, tuple(each.target.config_dir for each in known))
    if not world.has_claude and not live:
        lines.append(Line(Status.SKIPPED, "sessions", "claude is not on PATH, and no session lives"))
    for session in live:
        lines += _session(world, session, known)
    lines += _left_behind(world, known)
    return Report("doctor", tuple(lines), exit_code=int(any(line.status is Status.FAILED for line in lines)))


# -- what is installed --------------------------------------------------------------------------------------------


def _handshake(world: World) -> Line:
    source = world.source()
    if source is None:
        return Line(Status.FAILED, "handshake", "nothing is installed", _INSTALL)
    found = shake(os.path.join(source.commands, "ways-mcp"), world.env)
    if found.trouble:
        return Line(Status.FAILED, "handshake", found.trouble, _INSTALL)
    installed = world.layout.installed()
    if installed is not None and found.version != version_of(installed):
        return Line(Status.FAILED, "handshake", f"{found.version} answered where {installed} is installed", _INSTALL)
    text = f"ways-mcp {found.version} answered in {found.seconds * 1000:.0f} ms, {len(found.tools)} tools"
    return Line(Status.OK, "handshake", text, details=found.tools)


def _commands(world: World) -> list[Line]:
    if world.layout.installed() is None:
        return []
    lines = []
    for name in COMMANDS:
        path = os.path.join(world.layout.bin, name)
        found = links.judge(path, world.layout.command(name), world.layout.data)
        if found is links.Link.FOREIGN:
            lines.append(Line(Status.FAILED, name, f"{path} is not ours", f"move it aside; {_INSTALL}"))
        elif found is not links.Link.CURRENT:
            lines.append(Line(Status.FAILED, name, f"{path} is not there", _INSTALL))
    return lines or [Line(Status.OK, "commands", f"{', '.join(COMMANDS)} are linked in {world.layout.bin}")]


def _starts(world: World) -> Iterator[Line]:
    """Each command is started by its own launch line, which names a Python that may be gone."""
    source = world.source()
    if source is None:
        return
    versions = {}
    for name in COMMANDS:
        path = os.path.join(source.commands, name)
        try:
            ran = subprocess.run(
                [path, "--version"],
                env=dict(world.env),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_START_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            yield Line(Status.FAILED, name, f"{path} does not start: {error}", _INSTALL)
            continue
        if ran.returncode != 0 or not ran.stdout.startswith(f"{name} "):
            words = (ran.stderr or ran.stdout).strip().splitlines()
            why = words[-1] if words else f"exit code {ran.returncode}"
            yield Line(Status.FAILED, name, f"{path} does not start: {why}", _INSTALL)
        else:
            versions[name] = ran.stdout.split()[-1]
    if len(set(versions.values())) > 1:
        told = ", ".join(f"{name} {version}" for name, version in versions.items())
        yield Line(Status.FAILED, "versions", f"the commands are not of one version: {told}", _INSTALL)
    elif len(versions) == len(COMMANDS):
        yield Line(Status.OK, "start", f"{', '.join(COMMANDS)} start, all of version {versions['ways']}")


def _on_path(world: World) -> Line:
    source = world.source()
    folder = world.layout.bin if world.layout.installed() or source is None else source.commands
    for name in COMMANDS:
        found = mcp.find_program(world.env, name)
        wanted = os.path.join(folder, name)
        if found is None:
            command = startfile.put_on_path(folder, world.env)
            by_hand = f"add this line to your shell's start file: {startfile.line_for_path(folder)}"
            repair = f"{command}, and open a new terminal" if command else by_hand
            return Line(Status.NOTE, "PATH", f"{folder} is not on it", repair)
        if os.path.realpath(found) != os.path.realpath(wanted):
            return Line(Status.NOTE, "PATH", f"{found} comes before {wanted}", f"put {folder} before it")
    return Line(Status.OK, "PATH", f"{', '.join(COMMANDS)} are found on it")


def _bus(world: World) -> list[Line]:
    """The bus is written to, read back from and locked, by its own verb; where there is none yet, beside its place."""
    root = bus_root(world.env)
    try:
        if os.path.isdir(root):
            found = _try_bus(world, world.env)
        else:
            with _beside(root) as folder:
                found = _try_bus(world, {**world.env, "XDG_STATE_HOME": folder})
    except OSError as error:
        worded = state_error("make a bus in", os.path.dirname(root), error)
        return [Line(Status.FAILED, "bus", worded.message, worded.hint)]
    except WaysError as error:
        return [Line(Status.FAILED, "bus", error.message, error.hint)]
    return found


def _try_bus(world: World, env: Mapping[str, str]) -> list[Line]:
    answer = run_verb("doctor", {}, open_caller(env, COMMAND, table=world.table))
    return [
        Line(_STATUS[finding["status"]], f"bus: {finding['subject']}", finding["text"], finding["repair"] or "")
        for finding in answer["findings"]
        if finding["subject"] != "identity"
    ]


def _beside(root: str) -> tempfile.TemporaryDirectory[str]:
    """A folder that goes again, on the file system that `root` would be on."""
    folder = root
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return tempfile.TemporaryDirectory(prefix=".agent-ways-doctor-", dir=folder)


def _config(world: World) -> list[Line]:
    path = os.path.join(paths.config_dir(world.env), config.FILE)
    notes = config.ConfigFile(path).now().notes
    repair = "ways config show"
    return [Line(Status.NOTE, "config", note.removeprefix("config: "), repair) for note in notes] or [
        Line(Status.OK, "config", path if os.path.exists(path) else "defaults: there is no config file")
    ]


# -- where it is active -------------------------------------------------------------------------------------------


def _target(world: World, known: Known) -> list[Line]:
    where = known.target.config_dir
    source = world.source()
    if source is None:
        return []
    if not world.has_claude and not os.path.isdir(where):
        return [Line(Status.SKIPPED, where, "claude is not on PATH, and the dir is not there")]
    todo = reconcile.judged(world, known, source, plan.Licence())
    lines = [Line(Status.NOTE, line.subject, line.text, line.repair) for line in todo.refusals]
    for step in todo.steps:
        skipped = step.subject == "registration" and not world.has_claude
        broken = step.subject == "link" and known.enabled and _is_registered(world, known)
        status = Status.SKIPPED if skipped else Status.FAILED if broken else Status.NOTE
        text = "claude is not on PATH" if skipped else f"is still to be done: {step.text}"
        lines.append(Line(status, step.subject, text, "" if skipped else "ways reconcile"))
    lines += todo.notes
    place = known.target.place(world.env)
    if known.enabled:
        found = shadows.found(place.file, known.target.settings)
        lines += [Line(Status.NOTE, "registration", shadow.text, shadow.repair) for shadow in found]
    if not todo.steps and not todo.refusals and not any(line.status is Status.FAILED for line in todo.notes):
        right = "links, settings and registration are right" if known.enabled else "disabled"
        lines.insert(0, Line(Status.OK, where, right))
    return lines


def _is_registered(world: World, known: Known) -> bool:
    found = mcp.read(known.target.place(world.env).file)
    return registration.plan_registration(found, known.target.link).state == "current"


# -- what runs ----------------------------------------------------------------------------------------------------


def _session(world: World, session: Session, known: tuple[Known, ...]) -> Iterator[Line]:
    if session.record is None:
        return
    subject = f"session {session.name}"
    record = session.record
    target = next((each.target for each in known if each.target.config_dir == record.config_dir), None)
    environment = looks.environment_of(record.pid) or world.env
    global_file = target.place(environment).file if target else ""
    intent = channel_intent(world.table.argv(record.pid))
    seen = looks.seen(record, intent, global_file, served=bool(session.servers))
    in_the_way = gate.reasons(seen)
    for reason in in_the_way:
        yield Line(Status.NOTE, subject, f"its channel would not load: {reason.text}", reason.repair)
    if not in_the_way:
        yield Line(Status.OK, subject, "its channel would load; a pushed event in its transcript is the proof")
    if record.socket:
        trouble = looks.socket_trouble(record.socket)
        text = trouble or f"its inbox socket is there: {record.socket}"
        yield Line(Status.NOTE if trouble else Status.OK, subject, text, "restart that session" if trouble else "")
    if session.old:
        yield Line(Status.NOTE, subject, "its server is not the installed build", "restart that session")


def _left_behind(world: World, known: tuple[Known, ...]) -> Iterator[Line]:
    """Records of sessions and servers that are gone; they mislead nobody, since each is proven when it is read."""
    for each in known:
        folder = os.path.join(each.target.config_dir, "sessions")
        stale = [
            name
            for name in _names(folder)
            if name.endswith(".json")
            and name[:-5].isdecimal()
            and records.read(each.target.config_dir, int(name[:-5]), world.table) is None
        ]
        if stale:
            text = f"{len(stale)} in {folder} of sessions that are gone; the client takes them away in time"
            yield Line(Status.NOTE, "stale records", text)
    folder = os.path.join(paths.state_root(world.env), "servers")
    here = this_process(world.table, world.env)
    dead = [name for name in _names(folder) if _is_dead(os.path.join(folder, name), here, world)]
    if dead:
        text = f"{len(dead)} in {folder} of servers that were killed; the next server that starts takes them away"
        yield Line(Status.NOTE, "stale markers", text)


def _is_dead(path: str, here: Owner, world: World) -> bool:
    try:
        owner = Owner.from_json((read_record(path, 1) or {}).get("owner"))
    except WaysError:
        return False
    return owner is not None and owner.verdict(here, world.table) == "dead"


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
