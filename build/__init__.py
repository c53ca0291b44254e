"""Recipes: what `make` runs to build, install and release agent-ways.

They are run from the checkout as `python -m build.NAME`. All but `build.lock` need the standard library alone,
because they run before anything is installed. `build/` is source here; what they make goes to `dist/` and `bin/`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The checkout."""

# The checkout's own package serves the recipes: before an install there is no other.
if str(ROOT / "src") not in sys.path:
    sys.path.insert(1, str(ROOT / "src"))
