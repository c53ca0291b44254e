"""The `ways-mcp` command: `serve` for Claude Code, two flags for people."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

HELP = """usage: ways-mcp [--version | --help]

The MCP server of agent-ways. Claude Code starts it once per session and speaks
JSON-RPC with it over stdin and stdout; there is nothing to type here.

  --version   print the version and exit
  --help      print this text and exit

example: claude mcp add-json agent-ways '{"type":"stdio","command":"ways-mcp","args":[]}' --scope user
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, or print what a flag asks for. Returns the exit code; serving never returns."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        from agent_ways.server.main import serve

        serve()
    if given == ["--version"]:
        from agent_ways import __version__

        sys.stdout.write(f"ways-mcp {__version__}\n")
        return 0
    if given in (["--help"], ["-h"]):
        sys.stdout.write(HELP)
        return 0
    sys.stderr.write(f"ways-mcp: unknown arguments: {' '.join(given)}\n\n{HELP}")
    return 2


if __name__ == "__main__":
    sys.exit(main())
