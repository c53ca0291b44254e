"""Released sources, built on this machine where there is no prebuilt for it.

Owns calling the recipe that lies in the sources themselves. They were proven like any other asset. Must not know how
a version is built.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

from agent_ways.ways.layout import version_of
from agent_ways.ways.update import payload
from agent_ways.ways.update.errors import PayloadError, SourceBuildError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_ways.ways.world import World

PATIENCE = 1800.0
"""Seconds that a build may take: it makes a private environment and downloads its packages."""

# The recipe prints the identifier of the version that it made in the layout, as its last line.
_RECIPE = 'python=$(sh build/find-python venv) && exec "$python" -E -s -m build.install version'


def made(
    world: World, build: Callable[[str, World], str], bring: Callable[[str], dict[str, object]]
) -> tuple[str, dict[str, object]]:
    """The identifier of the version built from sources that `bring` puts into a folder, and what proved them."""
    with tempfile.TemporaryDirectory(prefix="agent-ways-source-") as folder:
        proof = bring(folder)
        return build(folder, world), proof


def build(folder: str, world: World) -> str:
    """Make a version in the layout from unpacked sources, without putting it in force."""
    try:
        ran = subprocess.run(
            ["/bin/sh", "-c", _RECIPE],
            cwd=folder,
            env=dict(world.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SourceBuildError(f"the released sources could not be built: {error}", _HINT) from None
    last = (ran.stdout.strip().splitlines() or [""])[-1]
    if ran.returncode != 0 or version_of(last) is None or not world.layout.is_complete(last):
        said = "\n".join((ran.stderr or ran.stdout).strip().splitlines()[-10:])
        raise SourceBuildError(f"the released sources could not be built:\n{said}", _HINT)
    return last


_HINT = "The version in force was kept. What is needed is said above."


def packed_repository(folder: str) -> str:
    """The repository that a frozen folder says it was released from; empty where it says none."""
    try:
        return payload.about(os.path.dirname(folder)).repository
    except PayloadError:
        return ""
