"""The `attend` command: its hot paths, and the way to the rest.

The client's Stop hook runs `attend inbox --drain --format hook` at the end of every turn, nearly always with nothing to
show, and the guards run before tools. Those lines are known by their words alone, and nothing is imported for them that
they do not need.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DRAIN = ["inbox", "--drain", "--format", "hook"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the words ask. Returns the exit code: that of the error's class where one was met."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == DRAIN:
        from agent_ways.attend.hot import nothing_waits

        if nothing_waits():
            return 0
    if len(given) == 2 and given[0] == "hook":
        from agent_ways.attend import hooks

        if given[1] in hooks.NAMES:
            return hooks.run(given[1])
    from agent_ways.attend.cli import run

    return run(given)


if __name__ == "__main__":
    sys.exit(main())
