"""Which tests bear a mark with which arguments, read from their source so that no test has to run.

Owns the walk over the test files. Must not know what a mark means: `demands.py` and `field_reports.py` are the
manifests.
"""

from __future__ import annotations

import ast
import os

ROOT = os.path.dirname(os.path.abspath(__file__))


def marked(mark: str) -> dict[object, list[str]]:
    """The tests below each argument of `@pytest.mark.<mark>(...)`, as `path::test`, sorted."""
    found: dict[object, list[str]] = {}
    for folder, _, files in os.walk(ROOT):
        for name in sorted(files):
            if name.startswith("test_") and name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    tree = ast.parse(file.read(), path)
                for argument, test in _in(tree.body, mark, os.path.relpath(path, ROOT)):
                    found.setdefault(argument, []).append(test)
    return {argument: sorted(tests) for argument, tests in found.items()}


def _in(
    body: list[ast.stmt], mark: str, where: str, outer: frozenset[object] = frozenset()
) -> list[tuple[object, str]]:
    """The pairs in one module or class; a mark on a class or module (`pytestmark`) counts for each test in it."""
    outer = outer.union(*(_pytestmark(statement, mark) for statement in body))
    found: list[tuple[object, str]] = []
    for node in body:
        if isinstance(node, ast.ClassDef):
            found += _in(node.body, mark, f"{where}::{node.name}", outer | _named(node.decorator_list, mark))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            arguments = outer | _named(node.decorator_list, mark)
            found += [(argument, f"{where}::{node.name}") for argument in arguments]
    return found


def _pytestmark(statement: ast.stmt, mark: str) -> frozenset[object]:
    if isinstance(statement, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "pytestmark" for target in statement.targets
    ):
        return _named([statement.value], mark)
    return frozenset()


def _named(expressions: list[ast.expr], mark: str) -> frozenset[object]:
    calls = [node for expression in expressions for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return frozenset(
        argument.value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == mark
        for argument in call.args
        if isinstance(argument, ast.Constant)
    )
