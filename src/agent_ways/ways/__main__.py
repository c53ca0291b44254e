"""The `ways` command. `--version` and `statusline` are answered without importing anything heavy.

Claude Code runs `ways statusline` after each turn. Where `make install` put `ways` in place, its launcher does not even
come here (build/launch.py); the frozen form, pipx and uv do.
"""

from __future__ import annotations

import sys

from agent_ways import __version__


def main() -> int:
    """Run the command that was typed; returns the exit code, or leaves with it."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"ways {__version__}")  # noqa: T201 - its whole answer
        return 0
    if sys.argv[1:] == ["statusline"]:
        from agent_ways.attend import statusline

        return statusline.main()
    from agent_ways.ways.cli import ways

    ways(prog_name="ways")
    return 0


if __name__ == "__main__":
    sys.exit(main())
