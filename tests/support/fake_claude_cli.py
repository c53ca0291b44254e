"""A fake `claude` command: `mcp add-json`, `remove`, `get` and `list` on the client's global file, or a misdeed.

Owns `FakeClaudeCommand`, which puts a program named `claude` into a folder for PATH, and `main`, which that program
runs. Must not know the product. Answers, files and exit codes are those of 2.1.332 (2.1.285 where it differs and is
asked for). Every call is written down before anything else happens.

A misdeed is chosen per verb, in the file beside the program (`misbehave`) or in `FAKE_CLAUDE` (`add-json=lies`):

    lies            says that it did it, and did not
    denies          did it, and says that it failed
    hangs           never ends; hangs-after: does it first; hangs-with-child: a child holds its output open, too
    slow            answers after `SLOW` seconds
    banner          prints words around the answer, on stdout and stderr
    elsewhere       writes to another file
    half-file       leaves the first half of the file
    other-command   stores another command than it was given
    wipes           drops everybody else's servers
    reads-stdin     waits for the end of its input first
    crashes         ends by SIGSEGV; exit-N: by that status, with words on stderr, nothing done
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

JSON = dict[str, Any]

SLOW = 1.0
KNOWN_FIELDS = ("type", "command", "args", "env", "url", "headers", "timeout", "alwaysLoad")
VERBS = ("add-json", "remove", "get", "list")
SCOPES = ("local", "user", "project")
_PROGRAM = """#!/bin/sh
exec '{python}' -I -S -c 'import sys
sys.path.insert(0, "{root}")
from tests.support.fake_claude_cli import main
main("{folder}", sys.argv[1:])' "$@"
"""


class FakeClaudeCommand:
    """The fake in `folder`, made if missing; `path` is the program, `folder` goes on PATH."""

    def __init__(self, folder: str | os.PathLike[str], *, version: str = "2.1.332") -> None:
        self.folder = os.fspath(folder)
        self.path = os.path.join(self.folder, "claude")
        os.makedirs(self.folder, exist_ok=True)
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(_PROGRAM.format(python=sys.executable, root=root, folder=self.folder))
        os.chmod(self.path, 0o755)  # noqa: S103 - a program on PATH is for everybody
        self._settings: JSON = {"version": version, "misdeeds": {}}
        self._save()

    def misbehave(self, **verbs: str) -> None:
        """From now on: `misbehave(add_json="lies", remove="hangs")`; an empty word ends it."""
        self._settings["misdeeds"] |= {verb.replace("_", "-"): how for verb, how in verbs.items()}
        self._save()

    @property
    def calls(self) -> list[JSON]:
        """Every call so far: `argv`, `env` (what is relevant of it), `cwd`, `stdin` (`terminal`, `null`, `other`)."""
        try:
            with open(os.path.join(self.folder, "calls.jsonl"), encoding="utf-8") as file:
                return [json.loads(line) for line in file]
        except FileNotFoundError:
            return []

    def _save(self) -> None:
        with open(os.path.join(self.folder, "settings.json"), "w", encoding="utf-8") as file:
            json.dump(self._settings, file)


class RefusedError(Exception):
    """An answer on stderr with exit status 1."""


class GlobalFile:
    """The client's global configuration, where this environment has it.

    Without CLAUDE_CONFIG_DIR, or with an empty one, `~/.claude.json`; with it, `.claude.json` in that directory, also
    where it names `~/.claude`. A legacy `.config.json` in the config dir is read and written in its place.
    """

    def __init__(self, env: Mapping[str, str], version: str) -> None:
        named = env.get("CLAUDE_CONFIG_DIR", "")
        self.config_dir = named or os.path.join(env["HOME"], ".claude")
        legacy = os.path.join(self.config_dir, ".config.json")
        plain = os.path.join(named or env["HOME"], ".claude.json")
        self.path = legacy if os.path.exists(legacy) else plain
        self._version = version
        if self.path == legacy and os.path.exists(plain) and version != "2.1.285":
            sys.stderr.write("Two Claude Code config files exist\n")

    def read(self) -> JSON:
        """Its content; {} where there is none. Raises `RefusedError` where it is broken, after a copy was kept."""
        try:
            with open(self.path, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            return {}
        try:
            content = json.loads(text)
        except ValueError:
            self._keep_copy(text)
            raise RefusedError(f"Configuration file at {self.path} is corrupted") from None
        if not isinstance(content, dict):
            raise RefusedError(f"Configuration file at {self.path} is corrupted")
        return content

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The lock folder beside it, around reading and writing: of calls side by side, none loses its entry."""
        lock = f"{self.path}.lock"
        self._take_lock(lock, patience=1.8 if self._version == "2.1.285" else 11.0)
        try:
            yield
        finally:
            os.rmdir(lock)

    def write(self, content: JSON) -> None:
        """By a temporary file and a rename; mode and symbolic link are kept."""
        target = os.path.realpath(self.path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else 0o600
        temporary = f"{target}.tmp.{os.getpid()}"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with open(fd, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2, ensure_ascii=False)
        os.chmod(temporary, mode)
        os.rename(temporary, target)

    def _take_lock(self, lock: str, *, patience: float) -> None:
        end = time.monotonic() + patience
        while True:
            try:
                os.mkdir(lock)
            except FileExistsError:
                if time.monotonic() >= end:
                    return  # taken over, as the client does
                time.sleep(0.02)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(lock), exist_ok=True)
            else:
                return

    def _keep_copy(self, text: str) -> None:
        folder = os.path.join(self.config_dir, "backups")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f".claude.json.corrupted.{os.getpid()}"), "w", encoding="utf-8") as file:
            file.write(text)
        if self._version == "2.1.285":
            self.write({"numStartups": 1})


class Command:
    """One call of the fake."""

    def __init__(self, version: str, misdeed: str, env: Mapping[str, str]) -> None:
        self._misdeed = misdeed
        self._version = version
        self._env = env
        self._file = GlobalFile(env, version)

    def run(self, verb: str, words: list[str]) -> str:
        """What is said on stdout. Raises `RefusedError`."""
        if verb in ("get", "list"):
            return self.get(words) if verb == "get" else self.list(words)
        with self._file.locked():
            return self.add_json(words) if verb == "add-json" else self.remove(words)

    def add_json(self, words: list[str]) -> str:
        """`mcp add-json NAME JSON`."""
        scope, (name, text) = _options(words, 2)
        scope = scope or "local"
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise RefusedError(
                f"Invalid name {name}. Names can only contain letters, numbers, hyphens, and underscores."
            )
        entry = _entry(sys.stdin.read() if text == "-" and self._version != "2.1.285" else text)
        content = self._read(scope)
        servers = self._servers(content, scope)
        if name in servers:
            raise RefusedError(f"MCP server {name} already exists in {scope} config")
        if self._misdeed == "other-command":
            entry = {**entry, "command": "/opt/old/ways-mcp"}
        if self._misdeed == "wipes":
            servers.clear()
        servers[name] = entry
        self._write(content, scope)
        return f"Added {entry.get('type', 'stdio')} MCP server {name} to {scope} config"

    def remove(self, words: list[str]) -> str:
        """`mcp remove NAME`."""
        scope, (name,) = _options(words, 1)
        if scope is None:
            holding = [each for each in SCOPES if name in self._servers(self._read(each), each)]
            if len(holding) > 1:
                listed = "".join(f'\n  - {each}: claude mcp remove "{name}" -s {each}' for each in holding)
                raise RefusedError(f'MCP server "{name}" exists in multiple scopes:{listed}')
            if not holding:
                raise RefusedError(f'No MCP server named "{name}"')
            scope = holding[0]
        content = self._read(scope)
        servers = self._servers(content, scope)
        if name not in servers:
            raise RefusedError(f'No MCP server named "{name}" in {scope} scope')
        if self._misdeed == "wipes":
            servers.clear()
        servers.pop(name, None)
        self._write(content, scope)
        return f'Removed MCP server "{name}" from {scope} config\nFile modified: {self._path(scope)}'

    def get(self, words: list[str]) -> str:
        """`mcp get NAME`: launches the server."""
        _, (name,) = _options(words, 1)
        for scope in SCOPES:
            entry = self._servers(self._read(scope), scope).get(name)
            if entry is not None:
                status, issue = self._health(entry)
                env = "".join(f"\n    {key}={value}" for key, value in entry.get("env", {}).items())
                args = " ".join(entry.get("args", []))
                return (
                    f"{name}:\n  Scope: {scope.capitalize()} config\n  Status: {status}{issue}\n"
                    f"  Type: {entry.get('type', 'stdio')}\n  Command: {entry.get('command')}\n  Args: {args}\n"
                    f"  Environment:{env}"
                )
        raise RefusedError(f"No MCP server named {name}")

    def list(self, words: list[str]) -> str:
        """`mcp list`: launches every server."""
        _options(words, 0)
        lines = []
        for scope in SCOPES:
            for name, entry in self._servers(self._read(scope), scope).items():
                shown = " ".join([str(entry.get("command")), *entry.get("args", [])])
                status, issue = self._health(entry)
                lines.append(f"{name}: {shown} - {status}{issue.replace(chr(10), ' ')}")
        return "\n".join(lines) or "No MCP servers configured. Use `claude mcp add` to add a server."

    def _health(self, entry: JSON) -> tuple[str, str]:
        """The handshake of a health check, then the three signals: the server must take it for no session."""
        from tests.support.client_env import server_env
        from tests.support.plan import Plan
        from tests.support.session_files import new_id
        from tests.support.wire import Wire, WireError

        version: Any = self._version
        plan = Plan(
            version=version,
            health_check=True,
            env=dict(self._env),
            project=os.getcwd(),
            home=self._env["HOME"],
            server_env=entry.get("env", {}),
        )
        env = server_env(plan, session_id=new_id(), socket_path="", token="")
        command = [str(entry.get("command")), *entry.get("args", [])]
        limit = float(self._env.get("MCP_TIMEOUT", "30000")) / 1000
        try:
            with Wire(command, env=env, streams="socketpair") as wire:
                wire.handshake(self._version, timeout=limit)
                for number, patience in ((signal.SIGINT, 0.1), (signal.SIGTERM, 0.4), (signal.SIGKILL, 5.0)):
                    wire.signal(number)
                    if wire.handle.wait(patience):
                        break
        except (OSError, WireError) as error:
            return "✘ Failed to connect", f"\n  Issue: {str(error).splitlines()[0]}"
        return "✔ Connected", ""

    def _read(self, scope: str) -> JSON:
        if scope != "project":
            return self._file.read()
        try:
            with open(".mcp.json", encoding="utf-8") as file:
                content: JSON = json.load(file)
        except FileNotFoundError:
            return {}
        return content

    def _servers(self, content: JSON, scope: str) -> JSON:
        place = content
        if scope == "local":
            place = content.setdefault("projects", {}).setdefault(os.getcwd(), {})
        servers = place.setdefault("mcpServers", {})
        if not isinstance(servers, dict):
            raise RefusedError("Invalid configuration: mcpServers is no object")
        return servers

    def _path(self, scope: str) -> str:
        return os.path.abspath(".mcp.json") if scope == "project" else self._file.path

    def _write(self, content: JSON, scope: str) -> None:
        if self._misdeed == "lies":
            return
        if self._misdeed == "elsewhere":
            self._file.path = os.path.join(self._file.config_dir, "elsewhere.json")
        if scope == "project":
            with open(".mcp.json", "w", encoding="utf-8") as file:
                json.dump(content, file, indent=2)
        else:
            self._file.write(content)
        if self._misdeed == "half-file":
            with open(self._path(scope), "r+", encoding="utf-8") as file:
                file.truncate(len(file.read()) // 2)


def main(folder: str, argv: list[str]) -> NoReturn:
    """What the program in `folder` runs."""
    with open(os.path.join(folder, "settings.json"), encoding="utf-8") as file:
        settings = json.load(file)
    _write_down(folder, argv)
    verb = argv[1] if argv[:1] == ["mcp"] and len(argv) > 1 else " ".join(argv)
    misdeeds = dict(settings["misdeeds"])
    misdeeds |= dict(pair.split("=", 1) for pair in os.environ.get("FAKE_CLAUDE", "").split(",") if "=" in pair)
    misdeed = misdeeds.get(verb, "")
    _misbehave_before(misdeed)
    if argv == ["--version"]:
        _end(0, f"{settings['version']} (Claude Code)", "")
    if argv[:1] != ["mcp"] or verb not in VERBS:
        _end(1, "", f"error: unknown command '{' '.join(argv)}'")
    try:
        said = Command(settings["version"], misdeed, os.environ).run(verb, argv[2:])
    except RefusedError as failure:
        _end(1, "", str(failure))
    if misdeed == "hangs-after":
        _hang()
    if misdeed == "denies":
        _end(1, "", "Error: something went wrong")
    if misdeed == "banner":
        sys.stderr.write("A new version is available!\n")
        said = f"*** Welcome ***\n{said}\n*** already up to date ***"
    _end(0, said, "")


def _misbehave_before(misdeed: str) -> None:
    if misdeed == "hangs":
        _hang()
    if misdeed == "hangs-with-child":
        os.fork()
        _hang()
    if misdeed == "slow":
        time.sleep(SLOW)
    if misdeed == "reads-stdin":
        sys.stdin.read()
    if misdeed == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if misdeed.startswith("exit-"):
        _end(int(misdeed.removeprefix("exit-")), "", "Error: the moon is full")


def _hang() -> NoReturn:
    while True:
        signal.pause()


def _end(status: int, out: str, err: str) -> NoReturn:
    for stream, text in ((sys.stdout, out), (sys.stderr, err)):
        if text:
            stream.write(f"{text}\n")
        stream.flush()
    os._exit(status)


def _write_down(folder: str, argv: list[str]) -> None:
    wanted = {name: value for name, value in os.environ.items() if name.startswith(("CLAUDE", "HOME", "MCP_"))}
    try:
        null = os.path.samestat(os.fstat(0), os.stat(os.devnull))
        stdin = "terminal" if os.isatty(0) else "null" if null else "other"
    except OSError:
        stdin = "closed"
    call = {"argv": argv, "env": wanted, "cwd": os.getcwd(), "stdin": stdin}
    fd = os.open(os.path.join(folder, "calls.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, json.dumps(call).encode() + b"\n")
    os.close(fd)


def _options(words: list[str], count: int) -> tuple[str | None, list[str]]:
    """Scope and the other words, wherever the option stands."""
    scope, rest, left = None, [], list(words)
    while left:
        word = left.pop(0)
        if word in ("--scope", "-s"):
            scope = left.pop(0) if left else ""
        elif word.startswith("--scope="):
            scope = word.removeprefix("--scope=")
        else:
            rest.append(word)
    if len(rest) != count:
        raise RefusedError(f"error: expected {count} arguments, got {len(rest)}")
    if scope is not None and scope not in SCOPES:
        raise RefusedError(f"Invalid scope: {scope}. Must be one of: {', '.join(SCOPES)}")
    return scope, rest


def _entry(text: str) -> JSON:
    """What is stored for this JSON: `args` added, unknown fields dropped. Raises `RefusedError`."""
    try:
        given = json.loads(text)
    except ValueError:
        raise RefusedError("Invalid configuration: not JSON") from None
    if not isinstance(given, dict) or (given.get("type", "stdio") == "stdio" and not given.get("command")):
        raise RefusedError("Invalid configuration: command: Command cannot be empty")
    entry = {name: given[name] for name in KNOWN_FIELDS if name in given}
    if entry.get("type", "stdio") == "stdio":
        entry.setdefault("args", [])
    return entry
