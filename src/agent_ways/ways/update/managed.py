"""Who manages this installation: `ways update` itself, or another program that has its own command for it.

Owns the signs by which they are told. Pure, but for `this_place`.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import agent_ways

if TYPE_CHECKING:
    from agent_ways.ways.layout import Layout

_RECEIPTS = ("pipx_metadata.json", "uv-receipt.toml")


@dataclass(frozen=True)
class Place:
    """Where the running package lies; `receipts` are the files by which installers know an environment."""

    package: str
    prefix: str = ""
    frozen: bool = False
    receipts: frozenset[str] = frozenset()
    installer: str = ""
    """The name that the installer left with the package: `pip`, `uv`, or a distribution's."""
    checkout: bool = False


def command(place: Place, layout: Layout) -> str | None:
    """The command that updates an installation that another program manages; None where `ways update` does."""
    if place.package.startswith(os.path.join(os.path.realpath(layout.versions), "")):
        return None
    if place.package.startswith("/nix/store/"):
        return "nix profile upgrade agent-ways   (or rebuild what brought it)"
    if "/Cellar/" in place.package:
        return "brew upgrade agent-ways"
    if place.frozen:
        return None  # an archive unpacked by hand: it brings a version into the layout
    if "pipx_metadata.json" in place.receipts:
        return "pipx upgrade agent-ways"
    if "uv-receipt.toml" in place.receipts:
        return "uv tool upgrade agent-ways"
    if place.checkout:
        root = shlex.quote(os.path.dirname(os.path.dirname(place.package.rstrip("/"))))
        return f"git -C {root} pull && make -C {root} install"
    if "/dist-packages/" in place.package or place.installer not in ("pip", "uv", ""):
        return f"your system's package manager ({place.installer or 'it put the package there'})"
    tool = "uv pip" if place.installer == "uv" else f"{os.path.join(place.prefix, 'bin', 'python')} -m pip"
    return f"{tool} install --upgrade agent-ways"


def this_place() -> Place:
    """The place of the package that runs."""
    import importlib.metadata  # three times as dear as all else here, and only this asks

    package = os.path.dirname(os.path.realpath(sys.executable if is_frozen() else agent_ways.__file__))
    above = os.path.dirname(os.path.dirname(package))
    try:
        installer = (importlib.metadata.distribution("agent-ways").read_text("INSTALLER") or "").strip()
    except importlib.metadata.PackageNotFoundError:
        installer = ""
    return Place(
        package=os.path.join(package, ""),
        prefix=sys.prefix,
        frozen=is_frozen(),
        receipts=frozenset(name for name in _RECEIPTS if os.path.isfile(os.path.join(sys.prefix, name))),
        installer=installer,
        checkout=os.path.isfile(os.path.join(above, "build", "zipapp.py")),
    )


def to_install() -> str:
    """What installs this copy, or mends an installation: the frozen form brings itself, and has no checkout."""
    return f"{shlex.quote(sys.executable)} update" if is_frozen() else "in the checkout: make install"


def is_frozen() -> bool:
    """Whether this is the frozen form."""
    return bool(getattr(sys, "frozen", False))
