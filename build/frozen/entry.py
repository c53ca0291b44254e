"""What each frozen command begins with; `suite.spec` writes one copy for each, with the module's name filled in.

PyInstaller's loader puts variables into the environment for itself. A child of ours (`claude`, `git`, a shell) must
see the environment that our caller gave: with LD_LIBRARY_PATH it would load our libraries instead of its own, and
with _PYI_* another program that was frozen would take our folder for its own.
"""

import os
import sys

for name in ("LD_LIBRARY_PATH", "LIBPATH", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH"):
    original = os.environ.pop(name + "_ORIG", None)
    if original is not None:
        os.environ[name] = original
    elif os.environ.get(name, "").split(os.pathsep, 1)[0] == sys._MEIPASS:  # type: ignore[attr-defined]  # noqa: SLF001
        del os.environ[name]
for name in [name for name in os.environ if name.startswith("_PYI_")]:
    del os.environ[name]

# By the path that it was started by, a server tells what an update has put there meanwhile; a bare name is no path.
sys.argv[0] = os.path.abspath(sys.argv[0]) if os.sep in sys.argv[0] else sys.executable

from MODULE import main  # type: ignore[import-not-found]  # noqa: E402

sys.exit(main())
