"""What the fakes' own tests share: the toy server's command."""

from __future__ import annotations

import os
import sys

import pytest


@pytest.fixture
def toy() -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", os.path.join(os.path.dirname(os.path.abspath(__file__)), "toy_server.py"))
