"""Runs a program of this folder inside the namespace: checks what it needs, becomes it again there, and starts it.

Must not know what runs.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tests.e2e import namespace, needs

if TYPE_CHECKING:
    from collections.abc import Callable

_INSIDE, _CHILD = "--inside-the-namespace", "--below-its-first-process"


def run(module: str, program: Callable[[list[str]], int], argv: list[str]) -> int:
    """Run `program` inside; `module` is the one that runs it when Python is started with `-m`. Its exit status."""
    environ = dict(os.environ)
    if argv[:1] == [_INSIDE]:
        namespace.bring_loopback_up()
        return namespace.run_as_first_process([sys.executable, "-m", module, _CHILD, *argv[1:]])
    if argv[:1] == [_CHILD]:
        return program(argv[1:])
    lacks = needs.missing(environ)
    if lacks:
        sys.stderr.write(f"{needs.sentence(lacks)}\n")
        return 1 if needs.required(environ) else 0
    unbuilt = needs.unbuilt(environ)
    if unbuilt:
        sys.stderr.write(f"{unbuilt}\n")
        return 1
    os.chdir(needs.REPOSITORY)
    again = [*namespace.unshare_command(), sys.executable, "-m", module, _INSIDE, *argv]
    return os.execvp(again[0], again)  # noqa: S606 - no shell is wanted
