"""One bus: its root and its edges by name.

Owns `Bus`, which every function of this package takes first: where the files are, the clocks, this process's
proof, the process table, the environment. Must not know what is done with them. Making one touches nothing.
"""

from __future__ import annotations

import os
import time

from agent_ways.attend import disk, layout
from agent_ways.base.locks import Lock
from agent_ways.base.process import process_table, this_process
from agent_ways.claude import dirs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final

    from agent_ways.base.process import Owner, ProcessTable

PATIENCE = 2.0
"""Seconds that a lock of the bus is waited for: each is held for milliseconds."""


class Bus:
    """The bus at `root`, as seen by the process `owner`.

    `clock` is the wall clock in seconds, for what a person reads; `monotonic` counts seconds since the machine's
    boot, for waiting. `config_dirs` are the clients' config dirs whose sessions are listed, this process's own first;
    listing adds those of enabled targets (`directory.py`).
    """

    __slots__ = ("clock", "config_dirs", "env", "monotonic", "owner", "patience", "root", "table")

    def __init__(
        self,
        root: str,
        *,
        owner: Owner,
        table: ProcessTable,
        env: Mapping[str, str],
        config_dirs: tuple[str, ...] = (),
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
    ) -> None:
        self.root: Final = root
        self.owner: Final = owner
        self.table: Final = table
        self.env: Final = env
        self.config_dirs: Final = config_dirs
        self.clock: Final = clock
        self.monotonic: Final = monotonic
        self.patience: Final = patience

    def lock(self, name: str, patience: float | None = None) -> Lock:
        """The lock of that name, for a `with` statement; waits `patience` seconds, then names the holder."""
        path = layout.lock(self.root, name)
        if not os.path.exists(path):
            try:
                disk.touch(path)  # with its mode from the first moment, whatever the umask of the first who locks
            except OSError:
                pass  # locking it meets the same, and words it
        return Lock(path, self.owner, self.patience if patience is None else patience)

    def now_ms(self) -> int:
        """The wall clock in milliseconds since 1970."""
        return int(self.clock() * 1000)


def open_bus(env: Mapping[str, str], table: ProcessTable | None = None, config_dirs: tuple[str, ...] = ()) -> Bus:
    """The bus of this environment, for this process. Raises `StateError` where there is no home directory.

    `config_dirs` are those of further targets; the environment's own and the default one are looked in anyway.
    """
    table = table or process_table()
    own = dirs.config_dir(env)
    default = dirs.config_dir({key: env[key] for key in ("HOME",) if key in env})
    known = tuple(dict.fromkeys((own, default, *(os.path.normpath(path) for path in config_dirs))))
    return Bus(layout.bus_root(env), owner=this_process(table, env), table=table, env=env, config_dirs=known)
