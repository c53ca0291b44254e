"""End-to-end tests of messages between sessions, on the real client."""
