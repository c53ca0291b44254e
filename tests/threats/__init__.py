"""Who may mean harm, and what stops them: docs/explanation/security.md names these tests."""
