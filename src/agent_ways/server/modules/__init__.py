"""The modules that ways-mcp hosts, one file each."""
