"""What a build says of itself: its commit and the repository that it is released from.

In the release workflow GitHub's variables say it; elsewhere git does. Both may be empty.
"""

from __future__ import annotations

import os
import subprocess

from agent_ways.ways.update.origin import repository_of
from build import ROOT


def git(*words: str, check: bool = False) -> str:
    """What git says of this checkout; empty where it is none. With `check`, a failure raises."""
    try:
        ran = subprocess.run(
            ["git", "-C", str(ROOT), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=check
        )
    except OSError:
        if check:
            raise
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""


def commit() -> str:
    """The commit of the checkout."""
    return os.environ.get("GITHUB_SHA") or git("rev-parse", "HEAD")


def repository() -> str:
    """owner/name, or empty."""
    return os.environ.get("GITHUB_REPOSITORY") or repository_of(git("config", "--get", "remote.origin.url")) or ""
