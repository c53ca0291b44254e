"""Runs one update in a process of its own, and kills it at a step or after some bytes: `python -m` this module.

Reads one JSON object from stdin: `home` (the folder that holds `home/`), `env`, `kill` (a step's name, or a number of
bytes written), `options` of the update, `uid` to run it as.
"""

from __future__ import annotations

import codecs
import json
import os
import signal
import sys
from typing import NoReturn

from agent_ways.base.errors import WaysError
from agent_ways.base.process import process_table
from agent_ways.ways.layout import layout_of
from agent_ways.ways.update import update
from agent_ways.ways.update.fetch import Edges
from agent_ways.ways.update.managed import Place
from agent_ways.ways.world import World
from tests.release.computer import LINUX


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def main() -> int:
    told = json.load(sys.stdin)
    kill, written = told.get("kill"), 0

    def step(name: str) -> None:
        print(name, flush=True)  # noqa: T201 - its output is how it is followed
        if name == kill:
            die()

    def write(fd: int, data: memoryview) -> int:
        nonlocal written
        if isinstance(kill, int) and written + len(data) > kill:
            os.write(fd, data[: kill - written])
            die()
        written += len(data)
        return os.write(fd, data)

    env = told["env"]
    world = World(env=env, home=env["HOME"], layout=layout_of(env), table=process_table())
    place = Place(package=os.path.join(os.path.realpath(world.layout.versions), "any", ""))
    here = update.Here(place=place, machine=LINUX, edges=Edges(step=step, write=write))
    if "uid" in told:
        codecs.lookup("idna")  # what is imported late may lie where that user can not read
        os.seteuid(told["uid"])
    try:
        update.run(world, here=here, **told.get("options", {}))
    except WaysError as error:
        print(f"{error.code}: {error.message}", flush=True)  # noqa: T201
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
