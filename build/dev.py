"""Makes the checkout's own `.venv`, which tests and checks run in: `make dev`.

Its packages are those of `requirements/dev.lock`; agent-ways itself is seen in it straight from `src/`.
"""

from __future__ import annotations

import sys
import sysconfig
import time

from build import ROOT
from build.environment import Environment, NoEnvironmentError


def main() -> int:
    """See the module's first lines."""
    began = time.monotonic()
    environment = Environment(ROOT / ".venv")
    try:
        environment.create()
        environment.install(ROOT / "requirements" / "dev.lock")
    except NoEnvironmentError as error:
        print(f"make dev: {error}", file=sys.stderr)
        return 1
    packages = sysconfig.get_path("purelib", "venv", {"base": str(environment.folder)})
    with open(f"{packages}/agent-ways-checkout.pth", "w", encoding="utf-8") as file:
        file.write(f"{ROOT / 'src'}\n")
    (environment.folder / "ready").touch()  # what `make` looks at: it is there once all is
    print(f"make dev: .venv is ready (Python {sys.version.split()[0]}, {time.monotonic() - began:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
