"""Which of the tester's tests are useful, by one trial without a solution. Pure.

In the trial, each module of the solution that the tests import has every name, and each call of it
fails (`sandbox_programs/unwritten.py`). On a repository, the commit's own names keep their
values. A test that passes there does not test the solution, and a test that fails there for another
reason than a call of the solution cannot be run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from agents.checks.reports import Test
from agents.errors import PathOutside
from agents.paths import normalize_path
from agents.runs.project_tests import BESIDE, SuiteLayout
from agents.runs.sources import is_test

_LIBRARIES = sys.stdlib_module_names | {"pytest", "numpy", "pandas", "matplotlib", "PIL"}
NO_SOLUTION = "there is no solution"
"""The error of each call in the trial."""

NO_NAME = "its name is not that of a test, or is taken"
NO_TEST = "there is no test in it"
NOT_RUN = "it cannot be run"
USELESS = "it passes without a solution"

Dropped = tuple[str, str]
"""A test or a file, and the reason why it is dropped."""


@dataclass(frozen=True, slots=True)
class UsefulTests:
    """The tests that stay: files by path, the ids of their tests, and the dropped tests."""

    files: Mapping[str, str]
    tests: tuple[str, ...]
    dropped: tuple[Dropped, ...]

    def event_data(self) -> dict[str, Any]:
        """As in the event `tests_written`."""
        return {
            "files": sorted(self.files),
            "tests": list(self.tests),
            "dropped": [{"id": name, "why": reason} for name, reason in self.dropped],
        }


def usable_files(
    files: Mapping[str, str], workspace_paths: Collection[str], layout: SuiteLayout = BESIDE
) -> tuple[dict[str, str], tuple[Dropped, ...]]:
    """The files that can be tried, at their paths in the project's `layout`, and the others with
    the reasons."""
    usable: dict[str, str] = {}
    dropped: list[Dropped] = []
    for name, text in files.items():
        try:
            path = layout.normal_path(normalize_path(name))
            ast.parse(text)
        except (PathOutside, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            dropped.append((name[:100], f"it cannot be read: {error}"))
            continue
        if layout.is_free(path, workspace_paths):
            usable[path] = text
        else:
            dropped.append((path, NO_NAME))
    return usable, tuple(dropped)


def unwritten_modules(
    files: Mapping[str, str], interface: str, workspace_paths: Collection[str], *, replace: bool
) -> dict[str, bool]:
    """The modules of the solution that the test `files` import: modules of the workspace, and
    modules that `interface` names, with their packages. The values say whether an existing module
    is replaced in the trial; with `replace`, each module that a file imports is."""
    parts = {part.removesuffix(".py") for path in workspace_paths for part in path.split("/")}
    modules: dict[str, bool] = {}
    for name in _imported_modules(files):
        top = name.partition(".")[0]
        is_named = re.search(rf"\b{re.escape(top)}\b", interface) is not None
        is_library = top in _LIBRARIES or is_test(f"{name.replace('.', '/')}.py")
        if not is_library and (top in parts or is_named):
            packages = accumulate(name.split("."), "{}.{}".format)
            modules |= {**dict.fromkeys(packages, False), **modules, name: replace}
    return modules


def select_useful(
    files: Mapping[str, str],
    trial: Sequence[Test],
    problem: str | None = None,
    dropped: Sequence[Dropped] = (),
) -> UsefulTests:
    """The tests of `files` that stay after the trial. `problem` is a reason why the trial has no
    result for a file; `dropped` are earlier reasons."""
    useful: dict[str, str] = {}
    ids: list[str] = []
    all_dropped = list(dropped)
    for path, text in files.items():
        reasons = _reasons(path, trial)
        if not reasons:
            all_dropped.append((path, problem or NO_TEST))
        all_dropped += [(name, reason) for name, reason in sorted(reasons.items()) if reason]
        if path in reasons and not reasons[path]:  # loading the file already calls the solution
            useful[path] = text
            ids.append(path)
        elif stay := [name for name, reason in reasons.items() if not reason]:
            useless = {name for name, reason in reasons.items() if reason}
            useful[path] = _without(path, text, useless, stay)
            ids += stay
    return UsefulTests(useful, tuple(ids), tuple(all_dropped))


def _reasons(path: str, trial: Sequence[Test]) -> dict[str, str | None]:
    """The tests of a file without their parameters, or the file itself if it cannot be loaded, each
    with a reason to drop it. A test stays if one of its cases fails in a call of the solution."""
    reasons: dict[str, str | None] = {}
    for test in trial:
        name = test.id.partition("[")[0]
        if name == path or name.startswith(f"{path}::"):
            reason = _reason(test)
            if name not in reasons or reason is None:
                reasons[name] = reason
    return reasons


def _reason(test: Test) -> str | None:
    if test.outcome == "passed":
        return USELESS
    if test.outcome == "failed" or NO_SOLUTION in test.detail:
        return None
    return NOT_RUN


def _imported_modules(files: Mapping[str, str]) -> list[str]:
    """The modules that the files import anywhere, dotted."""
    names: set[str] = set()
    for text in files.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return sorted(names)


def _without(path: str, text: str, useless: Collection[str], stay: Collection[str]) -> str:
    """The source without the `useless` tests, and without classes in which no test stays."""
    lines = text.splitlines(keepends=True)
    nodes = list(_useless_nodes(ast.parse(text).body, path, useless, stay))
    for node in sorted(nodes, key=lambda node: node.lineno, reverse=True):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        del lines[first - 1 : node.end_lineno]
    return "".join(lines)


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _useless_nodes(
    nodes: Sequence[ast.stmt], parent: str, useless: Collection[str], stay: Collection[str]
) -> Iterator[_Definition]:
    for node in nodes:
        if not isinstance(node, _Definition):
            continue
        name = f"{parent}::{node.name}"
        if name in useless:
            yield node
        elif isinstance(node, ast.ClassDef):
            if any(test.startswith(f"{name}::") for test in stay):
                yield from _useless_nodes(node.body, name, useless, stay)
            elif any(test.startswith(f"{name}::") for test in useless):
                yield node
