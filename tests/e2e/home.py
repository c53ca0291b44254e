"""One isolated home for one client: its folders, its clean environment, and readers of what the client leaves there.

Writes the answers that a person gives once (onboarding, trust) so that a session comes up at its prompt. Must not
know how a client is started or typed to.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.e2e.processes import MARK

if TYPE_CHECKING:
    from tests.e2e.clients import Client

# Made up; the stub accepts anything, and no request leaves the machine.
FAKE_KEY = "sk-ant-api03-made-up-for-the-end-to-end-suite-000000000000-AAAAAAAA"

STATUS_TOOL = "mcp__agent-ways__ways_status"

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Home:
    """A HOME with a project in it, under one short root (socket paths must stay below 103 bytes)."""

    root: str

    @classmethod
    def make(cls) -> Home:
        home = cls(os.path.realpath(tempfile.mkdtemp(prefix="ways-e2e-")))
        for folder in (home.project, home.config_dir, home.runtime, home.temp, home.bin):
            os.makedirs(folder, mode=0o700)
        return home

    def remove(self) -> None:
        shutil.rmtree(self.root)

    @property
    def name(self) -> str:
        """Names this home among others of one run: the mark that its processes carry."""
        return os.path.basename(self.root)

    @property
    def home(self) -> str:
        return os.path.join(self.root, "home")

    @property
    def project(self) -> str:
        return os.path.join(self.root, "project")

    @property
    def bin(self) -> str:
        """A folder on PATH for commands of ours that a test puts there."""
        return os.path.join(self.root, "bin")

    @property
    def runtime(self) -> str:
        return os.path.join(self.root, "run")

    @property
    def temp(self) -> str:
        return os.path.join(self.root, "tmp")

    @property
    def config_dir(self) -> str:
        return os.path.join(self.home, ".claude")

    @property
    def global_config(self) -> str:
        return os.path.join(self.home, ".claude.json")

    @property
    def state_dir(self) -> str:
        """Where agent-ways keeps its state by default."""
        return os.path.join(self.home, ".local", "state", "agent-ways")

    # -- what goes in ---------------------------------------------------------------------------------------------

    def environment(self, client: Client, api_url: str) -> dict[str, str]:
        """All that a process of this home sees: nothing of the caller's environment is passed on.

        The client's folder comes early on PATH, so that `claude` typed by the model is the client under test; then
        the running interpreter's, so that `python3` is one that the product supports.
        """
        first = [self.bin, os.path.dirname(client.executable), os.path.dirname(sys.executable)]
        return {
            "PATH": ":".join([*first, SYSTEM_PATH]),
            "HOME": self.home,
            "XDG_RUNTIME_DIR": self.runtime,
            "TMPDIR": self.temp,
            "CLAUDE_CODE_TMPDIR": self.temp,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "USER": "e2e",
            "ANTHROPIC_BASE_URL": api_url,
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "DISABLE_AUTOUPDATER": "1",
            MARK: self.name,
        }

    def seed(self, *, channels_feature: bool = True) -> None:
        """Onboarding done, project trusted, key approved, and the feature flags that channels and Monitor hang on.

        Offline the client reads `tengu_harbor` (channels) and `tengu_amber_sentinel` (Monitor) from its cache of
        feature flags (seen on both versions).
        """
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
        settled = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "9.9.9",
            "numStartups": 5,
            "theme": "dark",
            "autoUpdates": False,
            "hasSeenTasksHint": True,
            "customApiKeyResponses": {"approved": [FAKE_KEY[-20:]], "rejected": []},
            "projects": {self.project: {**trusted, "projectOnboardingSeenCount": 4}},
            "bypassPermissionsModeAccepted": True,
            "cachedGrowthBookFeatures": {"tengu_harbor": channels_feature, "tengu_amber_sentinel": True},
        }
        _write_json(self.global_config, settled)

    def settings(self, *allow: str, **more: Any) -> None:
        """The user's settings.json: these permissions, what is given `more`, and nothing else."""
        _write_json(os.path.join(self.config_dir, "settings.json"), {"permissions": {"allow": list(allow)}, **more})

    def add_project(self, name: str) -> str:
        """One more trusted folder to work in, made before a client of this home runs; its path."""
        path = os.path.join(self.root, name)
        os.mkdir(path, 0o700)
        settled = _read_json(self.global_config)
        settled["projects"][path] = settled["projects"][self.project]
        _write_json(self.global_config, settled)
        return path

    # -- what comes out -------------------------------------------------------------------------------------------

    def registered(self) -> dict[str, Any]:
        """The user-scope MCP servers as they stand in the client's global file."""
        servers: dict[str, Any] = _read_json(self.global_config).get("mcpServers", {})
        return servers

    def record(self, pid: int) -> dict[str, Any] | None:
        """The session record of a client process, None while there is none (or only half of one)."""
        try:
            record: dict[str, Any] = _read_json(os.path.join(self.config_dir, "sessions", f"{pid}.json"))
        except (OSError, ValueError):
            return None
        return record

    def transcripts(self) -> list[str]:
        """Paths of all main transcripts."""
        return sorted(glob.glob(os.path.join(self.config_dir, "projects", "*", "*.jsonl")))

    def transcript(self, session: str) -> list[dict[str, Any]]:
        """The rows of a session's main transcript, none while it does not exist."""
        rows = []
        for path in glob.glob(os.path.join(self.config_dir, "projects", "*", f"{session}.jsonl")):
            with open(path, encoding="utf-8") as file:
                rows += [json.loads(line) for line in file if line.endswith("\n")]
        return rows

    def markers(self) -> list[str]:
        """Names of the presence markers under the default state root."""
        try:
            return sorted(os.listdir(os.path.join(self.state_dir, "servers")))
        except FileNotFoundError:
            return []

    def debug_lines(self, needle: str) -> list[str]:
        """Lines of the clients' own debug logs that hold `needle`."""
        found = []
        for path in sorted(glob.glob(os.path.join(self.root, "debug-*.txt"))):
            with open(path, encoding="utf-8", errors="replace") as file:
                found += [line.rstrip() for line in file if needle in line]
        return found


def _read_json(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _write_json(path: str, value: object) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
