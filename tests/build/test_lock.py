from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.build.support import CHECKOUT

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
WANTED = {
    "install": PROJECT["project"]["dependencies"],
    "dev": PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["dev"],
    "build": PROJECT["build-system"]["requires"],
}


def locked(name: str) -> dict[str, tuple[str, list[str]]]:
    """What a lock file pins: name to version and hashes."""
    text = (CHECKOUT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    found: dict[str, tuple[str, list[str]]] = {}
    for entry in re.split(r"\n(?=\S)", re.sub(r"(?m)^ *#.*\n", "", text)):
        pin = re.match(r"([\w.-]+)==(\S+)", entry)
        assert pin, entry
        found[canonicalize_name(pin[1])] = (pin[2], re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
    return found


@pytest.mark.parametrize("name", WANTED)
def test_a_lock_pins_what_the_project_asks_for_at_versions_that_fit(name: str) -> None:
    pins = locked(name)
    for text in WANTED[name]:
        wanted = Requirement(text)
        version, _ = pins[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(Version(version)), f"{text}: run `make lock`"


@pytest.mark.parametrize("name", WANTED)
def test_every_pin_carries_hashes(name: str) -> None:
    assert [pin for pin, (_, hashes) in locked(name).items() if not hashes] == []


@pytest.mark.parametrize("name", WANTED)
def test_no_lock_says_where_packages_come_from(name: str) -> None:
    text = (CHECKOUT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    assert not re.search(r"://|--(extra-)?index-url|--find-links|@ ", text)
