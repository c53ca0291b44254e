"""Which prebuilt fits a machine.

Owns the list of platforms and their floors, which the release workflow builds to. What fits none is built from source,
with the reason said. The smoke test of what was downloaded has the last word.
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass

GLIBC_FLOOR = (2, 17)
"""The oldest glibc that a Linux prebuilt starts on; `build.frozen.check` holds every file of one to it."""
MACOS_FLOOR = {"x86_64": (10, 15), "arm64": (11, 0)}
"""The oldest macOS, as the interpreter that is frozen in declares it."""
PLATFORMS = ("linux-x86_64", "linux-arm64", "macos-x86_64", "macos-arm64")

_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Machine:
    """What decides: `system` and `machine` as uname has them, and the C library's or system's name and version."""

    system: str
    machine: str
    libc: str = ""
    version: tuple[int, ...] = ()
    bits: int = 64


@dataclass(frozen=True)
class Choice:
    """The platform whose prebuilt fits, or None and why."""

    platform: str | None
    reason: str


def choose(machine: Machine) -> Choice:
    """The prebuilt for a machine."""
    arch = _ARCHITECTURES.get(machine.machine.lower())
    if arch is None or machine.bits != 64:
        bits = "" if machine.bits == 64 else f" with a {machine.bits}-bit system"
        return Choice(None, f"there is no prebuilt for {machine.machine or 'this processor'}{bits}")
    if machine.system == "Linux":
        return _linux(machine, arch)
    if machine.system == "Darwin":
        floor = MACOS_FLOOR[arch]
        if machine.version < floor:
            return Choice(None, f"macOS {_dotted(machine.version)} is older than the {_dotted(floor)} it needs")
        return Choice(f"macos-{arch}", f"macOS {_dotted(machine.version)} on {arch}")
    return Choice(None, f"there is no prebuilt for {machine.system or 'this system'}")


def _linux(machine: Machine, arch: str) -> Choice:
    if machine.libc != "glibc":
        named = f"{machine.libc} is" if machine.libc else "the C library of this system is not known, and not"
        return Choice(None, f"the Linux prebuilt needs glibc; {named} no glibc".replace("and not no", "and not a"))
    if machine.version < GLIBC_FLOOR:
        found, floor = _dotted(machine.version), _dotted(GLIBC_FLOOR)
        return Choice(None, f"glibc {found} is older than the {floor} that the prebuilt needs")
    return Choice(f"linux-{arch}", f"Linux on {arch} with glibc {_dotted(machine.version)}")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version)) or "of unknown version"


def this_machine() -> Machine:
    """The machine as it is. A musl system is told by its loader: its Python calls itself nothing."""
    uname = platform.uname()
    bits = 64 if sys.maxsize > 2**32 else 32
    if uname.system == "Darwin":
        # A process translated by Rosetta calls the machine x86_64; that prebuilt runs there all the same.
        return Machine(uname.system, uname.machine, "macOS", _numbers(platform.mac_ver()[0]), bits)
    if uname.system != "Linux":
        return Machine(uname.system, uname.machine, bits=bits)
    try:
        libc, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        libc, version = "", ""
    if not libc and any(name.startswith("ld-musl-") for name in _names("/lib")):
        libc = "musl"
    return Machine(uname.system, uname.machine, libc, _numbers(version), bits)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
