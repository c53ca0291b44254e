"""The product with one module more, whose event is fired by a file: `tests/support/probe_server.py` in a lab.

Must not know what becomes of an event.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.e2e.needs import REPOSITORY

if TYPE_CHECKING:
    from tests.e2e.lab import Lab

SCRIPT = os.path.join(REPOSITORY, "tests", "support", "probe_server.py")


def archive_of(ways_mcp: str) -> str:
    """The zipapp that the product's executable is, or that lies beside the launcher which it leads to."""
    path = os.path.realpath(ways_mcp)
    for archive in (path, f"{path}.pyz"):
        if zipfile.is_zipfile(archive):
            return archive
    raise AssertionError(f"neither {path} nor {path}.pyz is a zipapp: the probe has no package to serve")


@dataclass
class Probe:
    """A registered probe server; `push` makes it send an event."""

    folder: str
    _sent: int = 0

    @classmethod
    def register(cls, lab: Lab, ways_mcp: str) -> Probe:
        """Register the probe as agent-ways, serving the code of the product under test."""
        folder = os.path.join(lab.home.root, "events")
        os.mkdir(folder)
        lab.register(sys.executable, "-I", "-S", SCRIPT, PROBE_PACKAGE=archive_of(ways_mcp), PROBE_DROP=folder)
        return cls(folder)

    def push(self, content: str, **meta: str) -> None:
        """Hand the server an event; one handed over before the server starts waits for it."""
        self._sent += 1
        path = os.path.join(self.folder, f"{self._sent:04d}.json")
        with open(f"{path}.part", "w", encoding="utf-8") as file:
            json.dump({"content": content, "meta": meta}, file)
        os.rename(f"{path}.part", path)
