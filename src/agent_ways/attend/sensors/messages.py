"""The sensor `messages`: mail that waits for the session.

Owns how mail that is worth a turn stands on a line. Claims before it answers; the transcript's proof marks it later.
Which mail is worth one, and whether its text may stand there, are the rules that the server goes by (`waking.py`,
`standing.py`). Must not know how lines reach the session.
"""

from __future__ import annotations

import os

from agent_ways.attend import delivery, evidence, headers, ledger, signals, trays, waking
from agent_ways.attend.delivery import LOOP
from agent_ways.attend.quiet import is_quiet
from agent_ways.attend.sensors.found import Found, sooner
from agent_ways.attend.signals import Signal
from agent_ways.attend.standing import may_show
from agent_ways.base import config, paths
from agent_ways.claude import records, transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance
    from agent_ways.attend.ledger import Ledger
    from agent_ways.attend.trays import Slip
    from agent_ways.attend.waking import Waking

LONGEST = 400
"""Characters of a line (ATT-8)."""
MOST_WHOLE = 8
"""Signals that are shown whole; of more, all are named."""
MOST_LINES = 20
NAMED_PER_LINE = 12
SOON, LATER, YOUNG = 1.0, 10.0, 30.0
"""Seconds between two looks for proofs, while what is under way is young and after that."""
QUIET_LOOK = 60.0
NEVER = "never"


class Messages:
    """See the module's docstring."""

    name = "messages"

    def __init__(self, bus: Bus) -> None:
        self._bus: Final = bus
        self._config: Final = config.ConfigFile(os.path.join(paths.config_dir(bus.env), config.FILE))

    def look(self, instance: Instance) -> Found:
        """Settle what is under way; claim and answer what is worth a turn."""
        bus = self._bus
        if not trays.waiting(bus.root, instance.session):
            return Found()
        with ledger.open_ledger(bus, instance.key) as opened:
            slips = ledger.settled(bus, opened, trays.waiting(bus.root, instance.session))
            settled = evidence.settle(bus, opened, instance, slips)
            slips = [slip for slip in slips if slip.id not in settled.seen]
            offered = [slip for slip in slips if opened.offers(slip)]
            if not waking.wakes(offered) or self._config.now().attend_wake == NEVER:
                return Found(after=_next_look(bus, opened))
            if is_quiet(bus, instance):
                return Found(after=QUIET_LOOK)
            chosen, whole_text = self._choose(opened, instance, slips)
            read = [found for slip in chosen.slips if isinstance(found := signals.read(bus, slip.id), Signal)]
            lines, shown = compose(read, whole_text=whole_text, notes=chosen.notes)
            taken = [slip for slip in chosen.slips if slip.id in shown]
            ledger.claim(bus, opened, instance, taken, conduit=LOOP, offset=evidence.transcript_end(instance))
            return Found(lines, sooner(_next_look(bus, opened), chosen.later))

    def _choose(self, opened: Ledger, instance: Instance, slips: Sequence[Slip]) -> tuple[Waking, bool]:
        """What may start a turn now, and whether its text may stand in it."""
        bus, client = self._bus, instance.client
        record = records.read(instance.config_dir, client.pid, bus.table) if client else None
        path = transcript.find(instance.config_dir, instance.session)
        rows = waking.last_rows(path) if path else ()
        chosen = waking.choose(bus, opened, instance, slips, waking.operator_ms(instance, record, rows))
        return chosen, may_show(instance, record, rows, bus.table.argv(record.pid) if record else None)


def compose(
    waiting: Sequence[Signal], *, whole_text: bool = True, notes: Sequence[str] = ()
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The lines for what waits, and the ids that they show or name; `notes` are lines of their own. Pure.

    `whole_text` says that a signal's text may stand on a line (CON-4).
    """
    if not waiting:
        return (), frozenset()
    if whole_text and len(waiting) <= MOST_WHOLE:
        lines = [whole(signal) or _named([signal]) for signal in waiting]
        return (*lines, *notes), frozenset(signal.id for signal in waiting)
    taken = waiting[: MOST_LINES * NAMED_PER_LINE]
    parts = [taken[at : at + NAMED_PER_LINE] for at in range(0, len(taken), NAMED_PER_LINE)]
    return (*(_named(part) for part in parts), *notes), frozenset(signal.id for signal in taken)


def whole(signal: Signal) -> str:
    """A signal on one line, where it fits; else nothing. A line's end inside it is shown as `⏎`."""
    line = f"{headers.header(signal)} {headers.inert(signal.body).replace(chr(10), ' ⏎ ')}"
    return line if len(line) <= LONGEST else ""


def _named(part: Sequence[Signal]) -> str:
    who = headers.one_line(", ".join(dict.fromkeys(signal.sender.name for signal in part)))
    count = "1 message" if len(part) == 1 else f"{len(part)} messages"
    return f"{headers.named([signal.id for signal in part])} {count} from {who}: attend_inbox shows them"


def _next_look(bus: Bus, opened: Ledger) -> float | None:
    """When to look for proofs again; None where none is awaited. What was named waits for the model, not for us."""
    awaited = [one for one in opened.claims.values() if one.state in (delivery.PUSHED, delivery.ARRIVED)]
    if not awaited:
        return None
    youngest = max(one.since for one in awaited)
    return SOON if bus.monotonic() - youngest < YOUNG else LATER
