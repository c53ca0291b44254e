"""agent-ways: one MCP server and two commands for people who run several Claude Code sessions."""

__version__ = "0.1.0"
