"""Fixtures: one session at its prompt, by each pushing conduit, shared by a file's tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.e2e.attend.mail import Mail
from tests.e2e.lab import CHANNEL_FLAG, Lab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.clients import Client
    from tests.e2e.lab import Session

KINDS = {"channel": CHANNEL_FLAG, "peer": ()}
"""The launch flags by the kind of line that proves a push then: a channel's, or the inbox socket's."""


@dataclass
class Place:
    """A session that pushes reach by lines of one `kind`, with all our hooks in place, and who writes to it."""

    kind: str
    flag: tuple[str, ...]
    lab: Lab
    mail: Mail
    session: Session


@pytest.fixture(scope="module", params=list(KINDS))
def place(client: Client, ways_mcp: str, request: pytest.FixtureRequest) -> Iterator[Place]:
    """After a first typed prompt: what a session's mode is stands in its transcript from then on."""
    flag: tuple[str, ...] = KINDS[request.param]
    with Lab(client) as lab:
        mail = Mail.set_up(lab, ways_mcp, "Bash(dd *)")
        session = lab.start(*flag)
        session.say("SAY:here")
        yield Place(request.param, flag, lab, mail, session)
