"""How an installed command starts: which interpreter, by which lines.

Owns the choice of the interpreter and the text of the launchers. A launcher is a few lines of Python beside the
archive and not the archive itself, because Python starts an archive by way of `runpy`, which costs a third of the
whole start; and it names the archive by its real path, so that a running server keeps its version whatever link
it was started through.
"""

from __future__ import annotations

import os
import shlex
import sys

LONGEST_LINE = 120
"""Bytes of a launch line that every kernel we run on reads whole (Linux before 5.1 stops at 127)."""


class LaunchError(Exception):
    """The interpreter's path can not be written into a launcher."""


def interpreter() -> str:
    """The absolute path of the interpreter that runs this, outside any virtual environment.

    By its versioned name where that is the same program, so that a system's later `python3` does not slip in.
    """
    base = os.path.abspath(getattr(sys, "_base_executable", None) or sys.executable)
    versioned = os.path.join(os.path.dirname(base), f"python{sys.version_info.major}.{sys.version_info.minor}")
    try:
        return versioned if os.path.samefile(base, versioned) else base
    except OSError:
        return base


def fits_launch_line(python: str) -> bool:
    """Whether a kernel starts `python` from a `#!` line: no white space, plain ASCII, not too long."""
    line = f"#!{python} -IS"
    return python.isascii() and python.isprintable() and not any(map(str.isspace, python)) and len(line) <= LONGEST_LINE


def head(python: str) -> str:
    """The first lines of a Python script that `python -I -S` is to run.

    Where its path can not stand in a launch line, a shell starts it: what is a command to the shell is a string to
    Python. Raises `LaunchError` for a path that no source can hold.
    """
    if fits_launch_line(python):
        return f"#!{python} -IS\n"
    if "\\" in python or not python.isprintable():
        raise LaunchError(f"{python!a} can not be named in a launcher; choose another Python with PYTHON=...")
    return f"#!/bin/sh\n'''exec' {shlex.quote(python)} -IS \"$0\" \"$@\"\n'''\n"


def launcher(python: str, archive: str, module: str) -> bytes:
    """The text of an executable that runs `module.main` from `archive`, an absolute path, with `python -I -S`."""
    # !a: a path that is not valid UTF-8 is still valid source
    return (
        f"{head(python)}import sys\n\n"
        f"sys.path.insert(0, {archive!a})\n\n"
        f"from {module} import main\n\n"
        "sys.exit(main())\n"
    ).encode()


def split_launcher(python: str, program: str, words: list[str], archive: str, module: str) -> bytes:
    """The text of an executable that becomes `program`, but for exactly `words`, which `module.main` answers.

    That is `ways`: it has dependencies and lives in an environment, and one of its command lines is a hot path that
    needs none of them. Everything else pays for a second start of Python, which nobody feels who waits for `ways`.
    """
    return (
        f"{head(python)}import sys\n\n"
        f"if sys.argv[1:] != {words!a}:\n"
        "    import os\n\n"
        f"    os.execv({program!a}, [{program!a}, *sys.argv[1:]])\n\n"
        f"sys.path.insert(0, {archive!a})\n\n"
        f"from {module} import main\n\n"
        "sys.exit(main())\n"
    ).encode()
