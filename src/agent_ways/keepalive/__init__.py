"""The keepalive judge (pure) and its one record."""
