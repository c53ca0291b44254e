"""ways-mcp: protocol core without I/O, the stdio edge, the module registry, modules, conduits."""
