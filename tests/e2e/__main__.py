"""Run the end-to-end suite: `python -m tests.e2e [pytest arguments]`, which is what `make e2e` does.

The suite starts itself again inside a namespace that has no network but loopback, so that no client can reach
anything but the stub, and whose processes all end with it. Where the machine lacks something it says in one
sentence what, and succeeds without having run; in CI, or with AGENT_WAYS_E2E=require, that is a failure.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tests.e2e import namespace, needs

if TYPE_CHECKING:
    from typing import NoReturn

_INSIDE = "--inside-the-namespace"


def main(argv: list[str]) -> int:
    environ = dict(os.environ)
    if argv[:1] == [_INSIDE]:
        namespace.bring_loopback_up()
        pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "norecursedirs=.*"]
        return namespace.run_as_first_process([*pytest, os.path.dirname(__file__), *argv[1:]])
    lacks = needs.missing(environ)
    if lacks:
        sys.stderr.write(f"{needs.sentence(lacks)}\n")
        return 1 if needs.required(environ) else 0
    unbuilt = needs.unbuilt(environ)
    if unbuilt:
        sys.stderr.write(f"{unbuilt}\n")
        return 1
    return start_inside(argv)


def start_inside(argv: list[str]) -> NoReturn:
    """Become the suite inside a namespace."""
    os.chdir(needs.REPOSITORY)
    again = [*namespace.unshare_command(), sys.executable, "-m", "tests.e2e", _INSIDE, *argv]
    os.execvp(again[0], again)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
