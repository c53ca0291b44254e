"""Command lines and process tables (ID-3, ID-4): words separated by NUL, as `/proc/<pid>/cmdline` has them."""

from __future__ import annotations

import os
import tempfile

from agent_ways.base.process import ProcTable, SplitWords
from agent_ways.claude.launch import APPROVED, DEVELOPMENT, channel_intent
from tests.fuzz.shapes import joined
from tests.fuzz.target import Pump, Target

ENTRY = "server:agent-ways"
FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-launch-")
PID = 4242
os.mkdir(os.path.join(FOLDER.name, str(PID)))


def check(data: bytes) -> None:
    table = ProcTable(FOLDER.name)
    for name in ("cmdline", "stat"):
        with open(os.path.join(FOLDER.name, str(PID), name), "wb") as file:
            file.write(data)
    found = table.look(PID)
    assert found is None or (found.pid == PID and found.start)
    argv = table.argv(PID)
    assert (argv is None) is (not data)
    for words in (argv, None if argv is None else SplitWords(" ".join(argv).split())):
        intent = channel_intent(words)
        assert intent.state in ("yes", "no", "unknown")
        assert intent.reason
        _nothing_else(intent.evidence)
        if intent.state == "yes":
            assert words is not None
            assert any(word in (ENTRY, f"{DEVELOPMENT}={ENTRY}") for word in words), "yes without the entry"
            assert any(word.startswith(DEVELOPMENT) for word in words), "yes without the flag"
    if argv is not None:
        # The first may be an option's value; what stands behind the second is plain text.
        longer = channel_intent((*argv, "--", "--", DEVELOPMENT, ENTRY))
        assert longer.state == channel_intent(argv).state, "what stands behind -- counts"


def _nothing_else(evidence: str | None) -> None:
    """Evidence may hold the two flags, their values, and `-p`: other options may hold secrets."""
    if evidence is not None:
        assert evidence.startswith((DEVELOPMENT, APPROVED))


WORDS = (
    *(
        b"claude",
        DEVELOPMENT.encode(),
        ENTRY.encode(),
        f"{DEVELOPMENT}={ENTRY}".encode(),
        APPROVED.encode(),
        b"--",
        b"-p",
        b"-pc",
    ),
    *(
        b"--model",
        b"opus",
        b"--unknown",
        b"--unknown=x",
        b"--resume",
        b"-r",
        b"--add-dir",
        b"hello there",
        b"node",
        b"/x/cli.js",
    ),
    *(
        b"--mcp-config",
        b"-d2e",
        b"--print",
        b"",
        b"-",
        b"server:other",
        b"--debug",
        b"-n",
        b"4242 (cl) aude) S 1 ",
        b"0 " * 25,
    ),
)
TARGET = Target(
    "launch",
    check,
    joined(WORDS, b"\x00"),
    (*WORDS, b"\x00", b"=", b"\n", b") S 1 1 1"),
    (
        Pump(b"p", b"claude\x00-"),
        Pump(b"-p\x00", b"claude\x00"),
        Pump(b"a\x00", b"claude\x00--add-dir\x00"),
        Pump(b"a"),
        Pump(b"--x\x00", b"claude\x00"),
        Pump(b") "),
    ),
)  # fmt: skip
