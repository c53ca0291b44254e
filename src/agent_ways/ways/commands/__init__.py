"""The verbs of `ways`, one a module: each takes a `World` and its options, and returns a `Report`.

They need the standard library alone, so that `make uninstall` can run them from a checkout; printing and parsing
are elsewhere (`render.py`, `cli.py`).
"""
