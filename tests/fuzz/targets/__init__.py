"""One module per target; each has its `TARGET`."""
