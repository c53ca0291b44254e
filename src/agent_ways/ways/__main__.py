"""The `ways` command. `--version` is answered without importing anything heavy."""

from __future__ import annotations

import sys

from agent_ways import __version__


def main() -> int:
    """Run the command that was typed; returns the exit code, or leaves with it."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"ways {__version__}")  # noqa: T201 - its whole answer
        return 0
    from agent_ways.ways.cli import ways

    ways(prog_name="ways")
    return 0


if __name__ == "__main__":
    sys.exit(main())
