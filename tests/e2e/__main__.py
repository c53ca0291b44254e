"""Run the end-to-end suite: `python -m tests.e2e [pytest arguments]`, which is what `make e2e` does.

The suite starts itself again inside a namespace that has no network but loopback, so that no client can reach
anything but the stub, and whose processes all end with it. Where the machine lacks something it says in one
sentence what, and succeeds without having run; in CI, or with AGENT_WAYS_E2E=require, that is a failure.
"""

from __future__ import annotations

import os
import sys

from tests.e2e import inside


def suite(argv: list[str]) -> int:
    """Become pytest over the whole folder, or over the files that are named."""
    named = any(os.path.exists(word.partition("::")[0]) for word in argv if not word.startswith("-"))
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "norecursedirs=.*"]
    return os.execv(pytest[0], [*pytest, *([] if named else [os.path.dirname(__file__)]), *argv])  # noqa: S606


if __name__ == "__main__":
    sys.exit(inside.run("tests.e2e", suite, sys.argv[1:]))
