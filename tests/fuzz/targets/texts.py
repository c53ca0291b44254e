"""Our header among other text (`attend/headers`): what a peer writes is made inert, and headers are read back (CON-5)."""

from __future__ import annotations

import re
import unicodedata

from agent_ways.attend import headers, ids
from tests.fuzz.shapes import joined
from tests.fuzz.target import Pump, Target

ID = "06hm3k2v9wqa-7c4n0zpd"
WRAPPERS = re.compile(
    r"<[ \t\n/]*(channel|cross-session-message|system-reminder|task-notification|teammate-message)",
    re.IGNORECASE | re.ASCII,
)


def check(data: bytes) -> None:
    text = data.decode("utf-8", "surrogatepass" if b"\xed" in data and _fits(data) else "replace")
    whole, named = headers.read_back(text)
    assert not whole & named
    assert all(ids.is_id(one) and one in text for one in (*whole, *named))
    inert = headers.inert(text)
    assert headers.read_back(inert) == (frozenset(), frozenset()), "a peer's text passes for a header of ours"
    assert "[attend" not in inert.lower()
    assert WRAPPERS.search(inert) is None, "a peer's text opens one of the client's wrappers"
    for character in set(inert):
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp"), hex(
            ord(character)
        )
        assert unicodedata.bidirectional(character) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
    assert headers.inert(inert) == inert
    assert len(inert) <= 10 * len(text)
    line = headers.one_line(text)
    assert len(line.splitlines()) <= 1
    assert len(line) <= 80
    assert not {"[", "]", "\n", "\t"} & set(line)
    inert.encode("utf-8")


def _fits(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


PARTS = tuple(
    part.encode("utf-8", "surrogatepass")
    for part in (
        *(
            f"[attend signal {ID} from x]",
            f"[attend waiting {ID} {ID}]",
            "[attend",
            "[ATTEND",
            "[aTTend signal ",
            ID,
            "]",
        ),
        *(
            "<channel>",
            "</channel",
            "< / CHANNEL",
            "<system-reminder>",
            "<ſystem-reminder>",
            "<",
            "/",
            " ",
            "\n",
            "\u212a",
        ),
        *(
            "İ",
            "İ" * 50,
            "ſ",
            "\u202e",
            "\u2066",
            "\u200f",
            "\u2028",
            "\x1b[31m",
            "\u0085",
            "\ufeff",
            "\U000e0041",
            "\ud800",
            "e\u0301",
        ),
    )
)
TARGET = Target(
    "texts",
    check,
    joined(PARTS, b""),
    PARTS,
    (Pump(b"[attend"), Pump(b"<channel"), Pump(b"<"), Pump(f"[attend signal {ID} ".encode()), Pump(f"[attend waiting {ID} ".encode()), Pump("İ[".encode())),
)  # fmt: skip
