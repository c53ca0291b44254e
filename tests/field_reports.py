"""The manifest: what people met in the field with tools of this kind, and where it is shown that it is not met here.

Each report is a scenario in our own words with the public threads that it comes from. Tests name the reports that they
show with `@pytest.mark.field_report(18)`, one number a mark; `tests/house/test_field_reports.py` holds the two together
both ways, and `make generate` writes `docs/reference/field-reports.md` from them. A report that can not happen here has
a reason instead. Numbers are never given twice; those that are missing were the same report as another.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.marks import marked


class FieldReport(NamedTuple):
    """`says` is the scenario in a line, `seen_in` where it was met, `never` why it can not happen here."""

    says: str
    seen_in: tuple[str, ...]
    never: str = ""


CLIENT = "anthropics/claude-code"
PEERS = "louislva/claude-peers-mcp"
BRIDGE = "raysonmeng/agent-bridge"


def _of(repository: str, *threads: int) -> tuple[str, ...]:
    return tuple(f"{repository}#{thread}" for thread in threads)


DELIVERY: dict[int, FieldReport] = {
    1: FieldReport(
        "A channel event is written and never reaches the model, without any error", _of(CLIENT, 36825, 46670, 60721)
    ),
    2: FieldReport(
        "What is sent while the peer restarts or rests is not queued anywhere", _of(BRIDGE, 18, 29, 32, 223)
    ),
    3: FieldReport("Reading marks as delivered, so a crash right after it loses the mail", _of(PEERS, 8, 50, 60)),
    5: FieldReport("Queued mail dies with the process that it was addressed to", _of(PEERS, 37, 82)),
    6: FieldReport("A server outlives its client and goes on being listed as present", _of(PEERS, 81)),
    7: FieldReport("Two servers of one session read the same queue, so mail comes twice", _of(CLIENT, 37167, 36800)),
    9: FieldReport("What arrives in a busy turn is lost instead of queued", _of(CLIENT, 38025)),
    10: FieldReport("Of a burst of events only a few survive", _of(CLIENT, 40440)),
    11: FieldReport(
        "Permission requests are relayed to a channel that nobody answers there", _of(CLIENT, 40064, 43625, 54597)
    ),
    13: FieldReport(
        "The flag's confirmation dialog stands in the way of an unattended start",
        (*_of(CLIENT, 58152), "kamp-us/phoenix#3419"),
    ),
    14: FieldReport("The same server is registered twice, and everything happens twice", ("commitlore#1079",)),
    15: FieldReport(
        "Untrusted text closes the wrapper around it and poses as another source",
        ("vault-cortex#201", "PostHog/posthog#81062"),
    ),
    16: FieldReport(
        "A session without the flag takes the mail that only the flagged one can show", _of(CLIENT, 84108, 81571)
    ),
    17: FieldReport(
        "Sending says delivered though nothing was; a message comes back to its own sender",
        _of(CLIENT, 86014, 84945, 90417, 91671, 87870),
    ),
}

SECTIONS: dict[str, dict[int, FieldReport]] = {"Channels and the truth about delivery": DELIVERY}
FIELD_REPORTS: dict[int, FieldReport] = {
    number: report for reports in SECTIONS.values() for number, report in reports.items()
}


def marks() -> dict[object, list[str]]:
    """The tests that name each report, as `path::test`."""
    return marked("field_report")
