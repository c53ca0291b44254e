"""The commands that Claude Code runs many times a day, measured whole: from before the start to after the end.

Owns `Command`, the list of them as an installation has them, and the homes that they find. Must not know what the
figures should be.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from build.launch import interpreter, launcher, split_launcher

from agent_ways.attend import ids, layout, statusline
from agent_ways.base.process import process_table, this_process
from agent_ways.keepalive import store
from agent_ways.keepalive.record import Record
from build import ROOT, zipapp
from tests.bench.cache import clean_environment
from tests.bench.server import BrokenServerError
from tests.support.plan import Plan
from tests.support.session_files import new_id
from tests.support.session_record import SessionRecord

if TYPE_CHECKING:
    from pathlib import Path

STATUSLINE, DRAIN, DRAIN_OLD = "statusline", "drain", "drain-old"
PEERS, SEND = "peers", "send"
FROZEN_STATUSLINE, FROZEN_DRAIN = "frozen-statusline", "frozen-drain"
HOUR_MS = 3_600_000
LINKS = 30_000
"""Names that one file may have on any file system."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command line: what it is given on standard input, and a word that its answer must have (none: no answer)."""

    key: str
    title: str
    words: tuple[str, ...]
    env: dict[str, str]
    given: bytes
    says: bytes = b""

    def check(self) -> None:
        """Run it once and look at what it says. Raises `BrokenServerError`: what does not work is not measured."""
        ran = subprocess.run(self.words, input=self.given, env=self.env, capture_output=True, check=False)
        if ran.returncode or ran.stderr or self.says not in ran.stdout or bool(ran.stdout) != bool(self.says):
            raise BrokenServerError(f"{self.title}: exit code {ran.returncode}, {ran.stdout!r}, {ran.stderr!r}")

    def run(self) -> float:
        """Milliseconds from before the process is made until it is reaped."""
        read, write = os.pipe()
        os.write(write, self.given)  # less than a pipe holds: nobody has to wait for the writer
        os.close(write)
        null = os.open(os.devnull, os.O_WRONLY)
        actions = [(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
        began = time.perf_counter_ns()
        pid = os.posix_spawn(self.words[0], self.words, self.env, file_actions=actions)
        os.waitpid(pid, 0)
        took = (time.perf_counter_ns() - began) / 1e6
        os.close(read)
        os.close(null)
        return took


def session(scratch: str, name: str) -> tuple[dict[str, str], str]:
    """A throw-away home with a session whose Claude process is this one: the environment of its children, its id."""
    home, project = os.path.join(scratch, name), os.path.join(scratch, f"{name}-project")
    for folder in (home, project):
        os.mkdir(folder)
    plan = Plan(home=home, project=project)
    found = _live(plan, os.getpid())
    env = {name: value for name, value in clean_environment().items() if not name.startswith("XDG_")}
    return {**env, "HOME": home, "CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": plan.entrypoint}, found


def _live(plan: Plan, pid: int) -> str:
    """A session record that names a live process; returns the session's id."""
    found = new_id()
    plan = replace(plan, config_dir=os.path.join(plan.home, ".claude"))
    SessionRecord(plan, pid=pid, session_id=found, socket_path="", clock=time.time).write()
    return found


def commands(scratch: str, frozen: Path | None, old: int) -> list[Command]:
    """As `make install` leaves them, and in the frozen form where there is one; `old` signals in the long history."""
    env, name = session(scratch, "used")
    long, _ = session(scratch, "history")
    for each in (env, long):
        _open_bus(each)
    _fill(layout.bus_root(long), old)
    state = os.path.join(env["HOME"], ".local", "state", "agent-ways")
    now = int(time.time() * 1000)
    record = Record(session=name, armed=True, window_ms=8 * HOUR_MS, operator_ms=now - HOUR_MS)
    store.Store(state, this_process(process_table(), env)).change(name, lambda _: record)
    attend, ways = _installed(scratch)
    _live(Plan(home=env["HOME"], project=os.path.join(scratch, "other-project")), os.getppid())
    person = {name: value for name, value in env.items() if not name.startswith("CLAUDE")}
    person["HOME"] = os.path.join(scratch, "person")
    os.mkdir(person["HOME"])
    line = _client(name, now)
    hook = json.dumps({"session_id": name, "hook_event_name": "Stop", "stop_hook_active": False}).encode()
    drain = ("inbox", "--drain", "--format", "hook")
    found = [
        _statusline(STATUSLINE, "ways statusline", ways, env, line),
        Command(key=DRAIN, title="attend inbox --drain", words=(attend, *drain), env=env, given=hook),
        Command(key=DRAIN_OLD, title=f"the same, {old:,} old signals", words=(attend, *drain), env=long, given=hook),
    ]
    peers, send = (attend, "peers"), (attend, "send", "--to", "operator", "hello")
    found.append(Command(key=PEERS, title="attend peers", words=peers, env=env, given=b"", says=b"other-project"))
    found.append(Command(key=SEND, title="attend send", words=send, env=person, given=b"", says=b"operator"))
    if frozen:
        words = (str(frozen / "attend"), *drain)
        found.append(_statusline(FROZEN_STATUSLINE, "ways statusline, frozen", str(frozen / "ways"), env, line))
        found.append(Command(key=FROZEN_DRAIN, title="attend inbox --drain, frozen", words=words, env=env, given=hook))
    return found


def _statusline(key: str, title: str, ways: str, env: dict[str, str], given: bytes) -> Command:
    return Command(key=key, title=title, words=(ways, *statusline.WORDS), env=env, given=given, says=b"keepalive")


def _client(name: str, now_ms: int) -> bytes:
    """What Claude Code writes to a status line command; about as much as it does (2.1.332)."""
    cache = {"warm": True, "ttl": "1h", "expires_at": now_ms // 1000 + 1800}
    told = {
        "session_id": name,
        "cwd": "/x",
        "version": "2.1.332",
        "prompt_cache": cache,
        "workspace": {"at": "x" * 1500},
    }
    return json.dumps(told).encode()


def _installed(scratch: str) -> tuple[str, str]:
    """`attend` and `ways` by the launchers that an installation has; this `ways` has its status line and no more."""
    packed, attend, ways = (os.path.join(scratch, name) for name in ("attend.pyz", "attend", "ways"))
    command = [interpreter(), "-E", "-s", "-m", "build.zipapp", "--command", "attend", "--output", packed]
    subprocess.run(command, cwd=ROOT, env=clean_environment(), stdout=subprocess.DEVNULL, check=True)
    python, module = interpreter(), statusline.__name__
    for path, text in (
        (attend, launcher(python, packed, zipapp.ENTRIES["attend"])),
        (ways, split_launcher(python, "/bin/false", statusline.WORDS, packed, module)),
    ):
        with open(path, "wb") as file:
            file.write(text)
        os.chmod(path, 0o700)
    return attend, ways


def _open_bus(env: dict[str, str]) -> None:
    """A bus that somebody uses: only then does a drain look for its session."""
    os.makedirs(layout.tray(layout.bus_root(env), "somebody"))


def _fill(root: str, count: int) -> None:
    """Old signals of a month with their room: files under many names, as nothing here opens them."""
    source, days = "", set[str]()
    now = int(time.time() * 1e6)
    for number in range(count):
        name = ids.make(now - (number + 1) * 25_000_000, number.to_bytes(5, "big"))
        day = ids.day(name)
        paths = (
            os.path.join(layout.signals(root, day), f"{name}.json"),
            os.path.join(layout.room(root, "open", day), name),
        )
        if day not in days:
            days.add(day)
            for path in paths:
                os.makedirs(os.path.dirname(path), exist_ok=True)
        for path in paths:
            if not source or (number % (LINKS // 2) == 0 and path == paths[0]):
                source = path
                with open(path, "wb") as file:
                    file.write(b"{}")
            else:
                os.link(source, path)
