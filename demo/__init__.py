"""`python -m demo`: what agent-ways does, shown without Claude Code and without network in under 20 seconds."""
