"""The workflows: pinned, with least permissions, without caches in a release, and naming only what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from build.release import workflows

from agent_ways.ways.update.bundles import WORKFLOW
from agent_ways.ways.update.platforms import PLATFORMS
from tests.release.conftest import tool

CHECKOUT = Path(__file__).resolve().parents[2]
FILES = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))
TEXTS = {path.name: path.read_text() for path in FILES}


@pytest.mark.demand("LIFE-8")
@pytest.mark.parametrize("name", TEXTS)
def test_every_action_is_pinned_by_its_hash_and_says_its_version(name: str) -> None:
    used = re.findall(r"uses: (.*)", TEXTS[name])
    assert all(re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in used), used


@pytest.mark.demand("LIFE-8")
@pytest.mark.parametrize("name", TEXTS)
def test_a_workflow_has_no_permission_but_those_that_a_job_names(name: str) -> None:
    text = TEXTS[name]
    assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)
    jobs = re.split(r"^  (?=\w+:\n    name: )", text.partition("\njobs:\n")[2], flags=re.MULTILINE)[1:]
    assert jobs
    assert all("    permissions:\n" in job for job in jobs)
    assert all("persist-credentials: false" in step for step in re.findall(r"uses: actions/checkout@.*\n.*\n.*", text))


@pytest.mark.demand("LIFE-8")
@pytest.mark.parametrize("name", TEXTS)
def test_no_expression_gets_into_a_shell(name: str) -> None:
    for script in re.findall(r"run: [>|][-+]?\n((?: {10,}.*\n?)+)|run: (.*)", TEXTS[name]):
        assert "${{" not in "".join(script)


@pytest.mark.demand("LIFE-8")
def test_a_release_uses_no_cache() -> None:
    assert "enable-cache: false" in TEXTS["release.yml"]
    assert not re.search(r"actions/cache|cache: (?!false)", TEXTS["release.yml"])


@pytest.mark.demand("LIFE-8")
def test_the_workflow_that_is_pinned_is_there_and_runs_for_its_tags_alone() -> None:
    assert (CHECKOUT / WORKFLOW).is_file()
    head = TEXTS["release.yml"].partition("\npermissions")[0]
    assert re.search(r'on:\n  push:\n    tags: \["ways-mcp-v\*"\]\n', head)


@pytest.mark.demand("LIFE-8")
@pytest.mark.field_report(89)
def test_a_release_is_published_only_after_its_draft_was_verified_on_every_platform() -> None:
    text = TEXTS["release.yml"]
    needs = dict(re.findall(r"^  (\w+):\n    name: .*\n    needs: \[(.*)\]", text, re.MULTILINE))
    chain, at = [], "publish"
    while at in needs:
        at = needs[at].split(", ")[-1]
        chain.append(at)
    assert chain == ["attest", "outsider", "draft", "sign", "common"]
    assert set(needs["sign"].split(", ")) == {"test", "frozen", "common"}
    outsider = text.partition("\n  outsider:")[2].partition("\n  attest:")[0]
    assert re.findall(r"platform: ([\w-]+)", outsider) == list(PLATFORMS)


@pytest.mark.parametrize("name", TEXTS)
def test_every_recipe_that_a_workflow_runs_is_there(name: str) -> None:
    modules = re.findall(r"-m ((?:build|tests)(?:\.\w+)*)(?=[\s)])", TEXTS[name])
    for module in modules:
        path = CHECKOUT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_the_linters_find_nothing() -> None:
    python = tool("lint") / "bin" / "python"
    assert workflows.schema(python, FILES) == ""
    assert workflows.zizmor(python, FILES) == ""


def test_the_linters_find_what_is_wrong(tmp_path: Path) -> None:
    python = tool("lint") / "bin" / "python"
    broken = tmp_path / "broken.yml"
    broken.write_text(TEXTS["ci.yml"].replace("uses:", "use:", 1))
    assert workflows.schema(python, [broken])
    loose = tmp_path / "loose.yml"
    loose.write_text(re.sub(r"@[0-9a-f]{40} # v7.0.1", "@v7", TEXTS["ci.yml"], count=1))
    assert "unpinned" in workflows.zizmor(python, [loose])
