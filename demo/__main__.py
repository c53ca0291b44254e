"""The demo's command line: `python -m demo` (or `make demo`)."""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile

from tests.support.fake_client import ClientError

from demo.narrator import Narrator, NotSoError
from demo.story import tell

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main(arguments: list[str] | None = None) -> int:
    """Tell the story; 0 if all of it was so, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="python -m demo",
        description="See agent-ways at work in under 20 seconds, without Claude Code and without network.",
    )
    parser.add_argument(
        "--package",
        metavar="PATH",
        default=os.path.join(ROOT, "src"),
        help="where agent_ways comes from: a folder or a zipapp such as dist/ways-mcp.pyz (default: this checkout)",
    )
    package = os.path.abspath(parser.parse_args(arguments).package)
    if not os.path.exists(package):
        parser.error(f"{package} is not there")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    narrator = Narrator(sys.stdout, os.environ)
    try:
        with tempfile.TemporaryDirectory(prefix="ways-demo-") as folder:
            tell(narrator, package, folder)
    except (NotSoError, ClientError) as error:
        narrator.fail(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has left; the interpreter still flushes
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
