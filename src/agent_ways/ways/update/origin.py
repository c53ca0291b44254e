"""Where releases live.

Owns the one place that turns a checkout's origin, a recorded repository or a setting into addresses. There is no
built-in organisation: a copy that was cloned from somewhere looks for releases there.
"""

from __future__ import annotations

import ipaddress
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_ways.base.errors import UsageError
from agent_ways.ways.update.errors import NoOriginError

if TYPE_CHECKING:
    from collections.abc import Mapping

RELEASES = "AGENT_WAYS_RELEASES"
"""Variable: the address under which `releases` is listed; a mirror or a loopback server."""
REPOSITORY = "AGENT_WAYS_REPOSITORY"
"""Variable: owner/name of the repository whose release workflow must have signed."""

_GITHUB = frozenset(
    {"api.github.com", "github.com", "objects.githubusercontent.com", "release-assets.githubusercontent.com"}
)
_SLUG = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z-]*[0-9A-Za-z])?/[0-9A-Za-z._-]{1,100}", re.ASCII)
_REMOTE = re.compile(r"(?:https://(?:[^@/]*@)?github\.com/|(?:ssh://)?git@github\.com[:/])(.+)", re.ASCII)


@dataclass(frozen=True)
class Origin:
    """`base` is what `/releases` is listed under; `repository` is owner/name, empty where it is not known."""

    base: str
    repository: str
    hosts: frozenset[str]
    """The `host[:port]` that may answer, and be redirected to."""

    def page(self, number: int) -> str:
        """The address of a page of the list, from 1 on."""
        return f"{self.base}/releases?per_page=100&page={number}"


def origin_of(env: Mapping[str, str], recorded: str = "", checkout: str = "") -> Origin:
    """Where releases live: settings first, then what was recorded at install, then the checkout's origin."""
    repository = env.get(REPOSITORY, "")
    if repository and not _is_slug(repository):
        raise UsageError(
            f"{REPOSITORY}={repository} is not owner/name", f"For example: {REPOSITORY}=someone/agent-ways"
        )
    repository = repository or (recorded if _is_slug(recorded) else "") or (repository_of(_remote(checkout)) or "")
    base = env.get(RELEASES, "").rstrip("/")
    if base:
        return Origin(base, repository, frozenset({_allowed(base)}))
    if not repository:
        raise NoOriginError(
            "it is not known where releases of this copy live: it has no origin on GitHub",
            "From a checkout: git pull && make install. "
            f"Else name the repository with {REPOSITORY}=owner/name, or a server with {RELEASES}=https://...",
        )
    return Origin(f"https://api.github.com/repos/{repository}", repository, _GITHUB)


def repository_of(remote: str) -> str | None:
    """owner/name of a git remote on GitHub; None for any other."""
    match = _REMOTE.fullmatch(remote.strip().rstrip("/"))
    slug = match[1].removesuffix(".git") if match else ""
    return slug if _is_slug(slug) else None


def _is_slug(text: str) -> bool:
    return _SLUG.fullmatch(text) is not None and text.rpartition("/")[2] not in (".", "..")


def is_loopback(host: str) -> bool:
    """Whether a host is this very machine, by its name alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _allowed(base: str) -> str:
    """The host and port of a setting; https, except on this machine itself."""
    try:
        parts = urlsplit(base)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if not host or parts.query or parts.fragment or parts.username or parts.scheme not in ("https", "http"):
        raise UsageError(
            f"{RELEASES}={base} is no address of a server", f"For example: {RELEASES}=https://mirror.example/ways"
        )
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(f"{RELEASES}={base} is not https", "http is taken from this machine itself only.")
    return host_of(host, port)


def host_of(host: str, port: int | None) -> str:
    """How a host is written in `Origin.hosts`."""
    return f"{host}:{port}" if port else host


def _remote(checkout: str) -> str:
    if not checkout:
        return ""
    try:
        ran = subprocess.run(
            ["git", "-C", checkout, "config", "--get", "remote.origin.url"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return ran.stdout.strip()
