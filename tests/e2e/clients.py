"""The tracked Claude Code clients: which versions, where they are on this machine, and how they get there.

`python -m tests.e2e.clients install` installs them with npm; `list` says what is there.
Must not know how a client is driven.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

PACKAGE = "@anthropic-ai/claude-code"

# The oldest version that the design was written against (design section 12).
OLDEST = "2.1.285"

# The newest on npm when this line was last touched. It is a number and no tag, so that a commit's result stays the
# same; the scheduled check tries what is newest that day by setting AGENT_WAYS_CLIENT_NEWEST.
NEWEST = "2.1.332"


@dataclass(frozen=True)
class Client:
    """One installed (or installable) version."""

    version: str
    prefix: str

    @property
    def executable(self) -> str:
        """The `claude` that a person would run."""
        return os.path.join(self.prefix, "node_modules", ".bin", "claude")

    @property
    def installed(self) -> bool:
        return os.access(self.executable, os.X_OK)

    def __str__(self) -> str:
        return self.version


def home_of_clients(environ: dict[str, str]) -> str:
    """The folder with one folder per version: AGENT_WAYS_CLIENTS, else under the user's cache."""
    chosen = environ.get("AGENT_WAYS_CLIENTS")
    if chosen:
        return os.path.abspath(chosen)
    cache = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "agent-ways", "clients")


def tracked(environ: dict[str, str]) -> list[Client]:
    """The versions that the suite runs on, oldest first."""
    versions = dict.fromkeys([OLDEST, environ.get("AGENT_WAYS_CLIENT_NEWEST") or NEWEST])
    home = home_of_clients(environ)
    return [Client(version, os.path.join(home, version)) for version in versions]


def says_its_version(client: Client) -> bool:
    """True when the client runs here and is the version that its folder claims."""
    if not client.installed:
        return False
    try:
        answer = subprocess.run(
            [client.executable, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False  # the stand-in that npm leaves where it runs no install scripts is no program
    return answer.returncode == 0 and answer.stdout.split()[:1] == [client.version]


def install(client: Client) -> None:
    """Install one version with npm, from whatever registry the person's npm is set to.

    Raises RuntimeError when npm is missing or what it installed does not run. The client is a native binary in a
    platform package, put in place by the package's own install script; an npm that does not run install scripts
    leaves a stand-in behind, so the script is run here where that happened.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is needed to install the client, and there is none on PATH")
    os.makedirs(client.prefix, exist_ok=True)
    subprocess.run(
        [npm, "install", "--prefix", client.prefix, "--no-audit", "--no-fund", f"{PACKAGE}@{client.version}"],
        check=True,
        timeout=600,
    )
    if not says_its_version(client):
        package = os.path.join(client.prefix, "node_modules", *PACKAGE.split("/"))
        node = shutil.which("node") or "node"
        subprocess.run([node, "install.cjs"], cwd=package, check=True, timeout=300)
    if not says_its_version(client):
        raise RuntimeError(f"npm installed {PACKAGE}@{client.version}, but {client.executable} does not run")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.clients", description=__doc__)
    parser.add_argument("verb", choices=["install", "list"])
    verb = parser.parse_args(argv).verb
    for client in tracked(dict(os.environ)):
        if verb == "install" and not says_its_version(client):
            install(client)
        state = "ready" if says_its_version(client) else "missing"
        sys.stdout.write(f"{client.version}  {state}  {client.executable}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
