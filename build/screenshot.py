"""Writes `docs/demo.svg`, a picture of `make demo` as a terminal shows it: `make screenshot`.

The demo runs at a terminal of its own. Process ids, session ids and times differ from run to run, so the file does too;
a test holds that the picture tells the steps that the demo has.
"""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

from rich.console import Console
from rich.text import Text

from build import ROOT

WIDTH = 100
OUTPUT = ROOT / "docs" / "demo.svg"
FORM = """<!-- Made by `make screenshot`; do not edit. -->
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
  line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}"
  height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""rich's own form without the fonts that it would fetch from elsewhere."""


def main() -> int:
    """Run the demo, write the picture. Returns the demo's exit code."""
    text, code = _on_a_terminal([sys.executable, "-s", "-m", "demo"])
    if code == 0:
        console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
        console.print(Text.from_ansi(text))
        OUTPUT.write_text(console.export_svg(title="make demo", code_format=FORM, unique_id="demo"), encoding="utf-8")
        print(f"make screenshot: {OUTPUT.relative_to(ROOT)} is written")
    return code


def _on_a_terminal(command: list[str]) -> tuple[str, int]:
    master, slave = pty.openpty()
    os.set_blocking(master, True)
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(WIDTH), "PYTHONPATH": str(ROOT / "src")}
    env.pop("NO_COLOR", None)
    with subprocess.Popen(command, cwd=ROOT, env=env, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        data = b""
        try:
            while part := os.read(master, 65536):
                data += part
        except OSError:
            pass  # the other side is closed, which a terminal tells as EIO
        os.close(master)
    return data.decode("utf-8", "replace").replace("\r\n", "\n"), process.returncode


if __name__ == "__main__":
    sys.exit(main())
