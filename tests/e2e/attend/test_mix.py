"""A few messages at random moments; `python -m tests.e2e.mix` sends hundreds."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.e2e import mix

if TYPE_CHECKING:
    from tests.e2e.clients import Client


@pytest.mark.demand("CON-1")
@pytest.mark.parametrize("conduit", mix.FLAGS)
def test_at_whatever_moment_a_message_is_sent_it_is_given_once(client: Client, ways_mcp: str, conduit: str) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    told = mix.mixed(client, conduit, len(mix.SITUATIONS), seed, ways_mcp)
    assert len(told) == len(mix.SITUATIONS)
    assert [one for one in told if not one.good] == [], f"seed {seed}"
