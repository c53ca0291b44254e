"""The line that puts a folder on PATH for good, in the words of a person's own shell.

Owns which start file a shell reads. Must not change any.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LETTERS_OF_A_SHELL = frozenset("'\"\\$`\n")


def put_on_path(folder: str, env: Mapping[str, str], platform: str = sys.platform) -> str:
    """The command to run once, for the shell that `SHELL` names; empty for a shell, or a folder, that it can not word.

    On macOS a terminal's bash is a login shell, which reads `.bash_profile`.
    """
    home = env.get("HOME", "").rstrip("/")
    inside = bool(home) and folder.startswith(f"{home}/")
    rest = folder[len(home) :] if inside else folder
    if _LETTERS_OF_A_SHELL & set(rest):
        return ""
    named = f"$HOME{rest}" if inside else rest
    shell = os.path.basename(env.get("SHELL", ""))
    if shell == "fish":
        return f'fish_add_path "{named}"'
    bash = "~/.bash_profile" if platform == "darwin" else "~/.bashrc"
    file = {"bash": bash, "zsh": "~/.zshrc"}.get(shell, "")
    return f"echo 'export PATH=\"{named}:$PATH\"' >> {file}" if file else ""


def line_for_path(folder: str) -> str:
    """The line itself, where the shell is not known; any shell but fish reads it."""
    return f'export PATH="{folder}:$PATH"'
