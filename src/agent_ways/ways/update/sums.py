"""Files of checksums: `SHA256SUMS` of a release, and the reviewed ones in a checkout's `checksums/`.

Owns how they are read: strictly, since a line that is passed over is a check that did not happen.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from agent_ways.ways.update.errors import SumsMalformedError, SumsMismatchError, SumsMissingError
from agent_ways.ways.update.names import SUMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_ways.ways.update.names import Version

LONGEST = 64 << 10
"""Bytes above which no file is one of checksums."""

_LINE = re.compile(r"(?P<digest>[0-9a-f]{64}) [ *](?P<name>[0-9A-Za-z][0-9A-Za-z._+-]*)", re.ASCII)


def parse(data: bytes, path: str = SUMS) -> dict[str, str]:
    """The digest of each file, as lower-case hex. Every line must be one that `sha256sum` writes."""
    hint = "Nothing was installed. Tell the maintainers; this is not what a release looks like."
    found: dict[str, str] = {}
    for number, line in enumerate(data.decode("ascii", "replace").splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise SumsMalformedError(f"line {number} of {path} is no checksum", hint)
        if match["name"] in found:
            raise SumsMalformedError(f"{path} names {match['name']} twice", hint)
        found[match["name"]] = match["digest"]
    return found


def render(sums: Mapping[str, str]) -> str:
    """The file for these digests, sorted by name; what `sha256sum -c` reads."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))


def expected(sums: Mapping[str, str], asset: str) -> str:
    """The digest of exactly that asset."""
    try:
        return sums[asset]
    except KeyError:
        hint = "Nothing was installed: without its checksum no file is taken. Tell the maintainers."
        raise SumsMissingError(f"{SUMS} has no line for {asset}", hint) from None


def compare(what: str, wanted: str, found: str, *, against: str) -> None:
    """Raise `SumsMismatchError` where two digests differ."""
    if wanted != found:
        hint = "Nothing was installed. Try once more; if it stays so, do not use this release and tell the maintainers."
        raise SumsMismatchError(f"{what} is not what {against} says: sha256 {found[:16]}…, not {wanted[:16]}…", hint)


def known_name(version: Version) -> str:
    """The name of a version's file in `checksums/`."""
    return f"{version.tag}.txt"


def known(folder: str, version: Version) -> dict[str, str]:
    """What a checkout's `checksums/` says of a version; empty where it does not know it."""
    path = os.path.join(folder, known_name(version))
    try:
        with open(path, "rb") as file:
            data = file.read(LONGEST + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SumsMalformedError(
            f"{path} can not be read: {error.strerror}", "Mend it: git checkout checksums"
        ) from None
    if len(data) > LONGEST:
        raise SumsMalformedError(f"{path} is too big to be one of checksums", "Mend it: git checkout checksums")
    return parse(data, path)
