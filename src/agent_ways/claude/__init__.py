"""Claude Code as seen from outside. Reads; writes nothing of the client's."""
