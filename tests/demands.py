"""The manifest: every numbered demand of the design, in one line, and whether it is built.

Tests name the demands that they show with `@pytest.mark.demand("SRV-5")`; `tests/house/test_demands.py` holds the
two together both ways, and `make generate` writes `docs/reference/demands.md` from them. A demand that is not built
yet says what is missing; it may have tests already.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.marks import marked


class Demand(NamedTuple):
    """`says` is the demand in a line; `missing` what is not built yet, empty where it is built."""

    says: str
    missing: str = ""


DEMANDS: dict[str, Demand] = {
    "SRV-1": Demand("Lines of JSON-RPC over stdio: one writer, no stray byte, no blocking, linear time"),
    "SRV-2": Demand("Four protocol revisions; 2026-07-28 and server/discover are never accepted"),
    "SRV-3": Demand("Tools and the channel capability; instructions from the live modules within 2,048 bytes"),
    "SRV-4": Demand("tools/list is a constant of the version; a failing module is contained and named"),
    "SRV-5": Demand("Every odd line gets exactly its error, and the next ping works"),
    "SRV-6": Demand("Every tool is described whole; a result is structured content and the same as text"),
    "SRV-7": Demand("At most one line per id, none once the cancel was processed"),
    "SRV-8": Demand("The server ends when its client does, however that happens, and not before"),
    "SRV-9": Demand("Every tool call derives what it needs afresh"),
    "SRV-10": Demand("A module is one file and one registry line; no event in the first second after tools/list"),
    "SRV-11": Demand("The presence marker says that a server is here, and nothing else leaves one"),
    "SRV-12": Demand("ways_status never says more than is known"),
    "ID-1": Demand("The session is the nearest ancestor whose record matches the live process; every target is listed"),
    "ID-2": Demand("The id in the environment is a hint; nothing is written under an id that did not resolve"),
    "ID-3": Demand("The launch flag is read as the client reads it"),
    "ID-4": Demand("Processes are seen through /proc, or ps without it, with every awkward name"),
    "ID-5": Demand("Sessions of -p and SDKs get tools only"),
    "ID-6": Demand("Transcripts are found by session and read within bounds"),
    "ID-7": Demand("Cache evidence: last request, context, tier; unknown where it is"),
    "ID-8": Demand("Operator activity comes from history and transcript, and only moves forward"),
    "ID-9": Demand("Idle is a record that says so and no unanswered tool use"),
    "CON-1": Demand("Claim before show, proof from the transcript, for every conduit"),
    "CON-2": Demand("Channel first where the flag is, else the session's own inbox socket"),
    "CON-3": Demand("Only addressed mail wakes a session"),
    "CON-4": Demand("Peer text never gains the operator's standing; two sessions can not loop"),
    "CON-5": Demand("Bursts coalesce; pushed text is inert"),
    "CON-6": Demand("Two servers of one session: one holds the role"),
    "ATT-1": Demand("One signal is one file, written whole, private, never reused"),
    "ATT-2": Demand("Every address resolves, is kept, or is refused with near matches"),
    "ATT-3": Demand("One catalogue of verbs feeds schemas, help and reference"),
    "ATT-4": Demand("The same verb leaves the same state whichever frontend ran it"),
    "ATT-5": Demand("A reply goes to the sender of what it answers"),
    "ATT-6": Demand("One instance per session; liveness is proven when asked"),
    "ATT-7": Demand("Locks carry their owner; waits are bounded and name the holder"),
    "ATT-8": Demand("One sensor loop per session, quiet, ending with its Claude process"),
    "ATT-9": Demand("The drain shows within the client's limits, once"),
    "ATT-10": Demand("A cold start never replays history"),
    "ATT-11": Demand("Damaged files are skipped; full disks and read-only state are clear errors"),
    "ATT-12": Demand("Retention; the cost of a poll does not grow with history"),
    "ATT-13": Demand("Guard hooks, shipped inactive"),
    "ATT-14": Demand("The SessionStart hook says how the session is reached"),
    "KA-1": Demand("Keepalive is off until the operator arms it"),
    "KA-2": Demand("The judge is a pure function; every view calls the same one"),
    "KA-3": Demand("One ping in the last quarter of the observed TTL"),
    "KA-4": Demand("Read-back: a cold cache stops it until the operator types"),
    "KA-5": Demand("Pings never cost more than one cold write"),
    "KA-6": Demand("The window closes with one wrap, then quiet"),
    "KA-7": Demand("A record per session; the wrap at most once"),
    "KA-8": Demand("The wrap asks only for what needs no permission"),
    "KA-9": Demand("Suspends, clock steps, restarts: the same pushes"),
    "KA-10": Demand("A report of what was spent and saved"),
    "LIFE-1": Demand("make install and make uninstall on a fresh machine"),
    "LIFE-2": Demand("Prebuilt binaries are verified before they are used"),
    "LIFE-3": Demand("Targets converge, dry runs are exact"),
    "LIFE-4": Demand("settings.json is merged three-way and owns exactly its entries"),
    "LIFE-5": Demand("Registration only through the client's own command, proven by reading back"),
    "LIFE-6": Demand("Updates are verified, atomic and reversible"),
    "LIFE-7": Demand("ways status and ways doctor"),
    "LIFE-8": Demand(
        "Releases are built, signed and verified as an outsider would",
        "never run on macOS, arm64 or with GitHub's identity",
    ),
    "LIFE-9": Demand("Removal: registration, then entries, then links"),
}


def marks() -> dict[str, list[str]]:
    """The tests that name each demand, as `path::test`."""
    return {str(demand): tests for demand, tests in marked("demand").items()}
