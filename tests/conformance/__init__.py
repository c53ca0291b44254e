"""Whether others can work with the server: independent clients, the official suite, and odd input of our own.

See docs/reference/conformance.md for what each shows.
"""
