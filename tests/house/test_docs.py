"""What the pages say exists: files and headings that they link to, tests that they name, pages that are linked."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")])
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
_CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub and MkDocs make them."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.+?)\s*$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in titles)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), f"{target} is not there"
        if anchor:
            assert anchor in anchors(there), f"{target}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    for name, function in _TEST.findall(page.read_text(encoding="utf-8")):
        path = ROOT / name
        assert path.is_file(), name
        if function:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert function in functions, f"{name}::{function}"


def test_every_page_is_reached_by_links_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        links = (target.partition("#")[0] for target in _LINK.findall(page.read_text(encoding="utf-8")))
        waiting += [
            there for link in links if link.endswith(".md") and (there := (page.parent / link).resolve()).exists()
        ]
    assert {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md") if page not in reached} == set()


def test_the_site_builds_without_a_warning_and_fetches_nothing_from_elsewhere(tmp_path: Path) -> None:
    words = ["build", "-q", "--strict", "-d", str(tmp_path / "site")]
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", *words], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 25
    fetched = re.compile(r"""<(?:script|img|iframe|link)[^>]*(?:src|href)=["']?(?:https?:)?//""")
    assert [page.name for page in pages if fetched.search(page.read_text(encoding="utf-8"))] == []


def test_the_module_in_the_guide_is_right_as_it_stands() -> None:
    page = (ROOT / "docs/how-to/add-a-module.md").read_text(encoding="utf-8")
    code = textwrap.dedent(page.partition("```python\n")[2].partition("   ```")[0])
    name = "src/agent_ways/server/modules/tides.py"
    for words in (["check"], ["format", "--check"]):
        linted = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--stdin-filename", name, "-"],
            cwd=ROOT,
            input=code,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert linted.returncode == 0, linted.stdout
    module: dict[str, Any] = {}
    exec(compile(code, name, "exec"), module)  # noqa: S102 - the guide's own code
    tool = module["NEXT"]
    assert tool.name.startswith(f"{module['Tides'].name}_")
    assert set(module["Tides"](None).call(tool.name, {})) == set(tool.output_schema["required"])


def test_every_variable_that_the_code_reads_is_in_the_reference() -> None:
    read = re.compile(r"[\"'](AGENT_WAYS_[A-Z_]+|XDG_[A-Z]+_HOME|CLAUDE[A-Z_]*|NO_COLOR|SSL_CERT_FILE)[\"']")
    named = (ROOT / "docs/reference/environment.md").read_text(encoding="utf-8")
    sources = [path for folder in ("src", "build") for path in (ROOT / folder).rglob("*.py")]
    found = {name for path in sources for name in read.findall(path.read_text(encoding="utf-8"))}
    assert len(found) > 15
    assert {name for name in found if f"`{name}`" not in named} == set()
