"""The real Claude Code client, offline: see __main__.py for how the suite runs and lab.py for what it drives."""
