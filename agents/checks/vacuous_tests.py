"""Which of the tester's tests are useful, by trials without a solution. Pure.

A test that passes on an empty solution may still be sound: `parse("")` returns None in both. Such a
test is useless only if it also passes when every call of the solution fails.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.checks.supervised.expected import expected
from agents.errors import PathOutside
from agents.paths import checked

_LIBRARIES = sys.stdlib_module_names | {"pytest", "numpy", "pandas", "matplotlib", "PIL"}
_EMPTY = """
class Empty:
    def __init__(self, *args, **named):
        pass

    def __getattr__(self, name):
        return nothing


def nothing(*args, **named):
    return None


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name.endswith(("Error", "Exception")):
        return type(name, (Exception,), {})
    return type(name, (Empty,), {}) if name[0].isupper() else nothing
"""
"""A module that has every name and does nothing."""
_FAILING = """
class Failing:
    def __init__(self, *args, **named):
        raise NotImplementedError("there is no solution")


def fails(*args, **named):
    raise NotImplementedError("there is no solution")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name.endswith(("Error", "Exception")):
        return type(name, (Exception,), {})
    return type(name, (Failing,), {}) if name[0].isupper() else fails
"""
"""A module that has every name, and whose calls fail."""

PASSED = "passed"
_USELESS = {
    PASSED: "it passes without a solution",
    "missing": "it cannot be collected",
    "error": "it cannot be run",
}
"""Outcomes of the trials that a test must not have."""

Drop = tuple[str, str]
"""A test or a file, and why it was dropped."""


@dataclass(frozen=True, slots=True)
class UsefulTests:
    """What is left: files by path, the names of their tests, and what was dropped."""

    files: Mapping[str, str]
    tests: tuple[str, ...]
    dropped: tuple[Drop, ...]

    def event_data(self) -> dict[str, Any]:
        """As in the event `tests_written`."""
        return {
            "files": sorted(self.files),
            "tests": list(self.tests),
            "dropped": [{"id": name, "why": why} for name, why in self.dropped],
        }


def usable_files(
    files: Mapping[str, str], present: Collection[str]
) -> tuple[dict[str, str], tuple[Drop, ...]]:
    """The files that can be tried, and why the others cannot. `there` are the workspace's."""
    fit: dict[str, str] = {}
    unfit: list[Drop] = []
    for name, text in files.items():
        try:
            path = checked(name)
            tests = expected(path, text)
        except (PathOutside, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            unfit.append((name[:100], f"it cannot be read: {error}"))
            continue
        base = path.rpartition("/")[2]
        if not (base.startswith("test_") and base.endswith(".py")) or path in present:
            unfit.append((path, "its name is not test_NAME.py, or is taken"))
        elif not tests:
            unfit.append((path, "there is no test in it"))
        else:
            fit[path] = text
    return fit, tuple(unfit)


def empty_solution(
    files: Mapping[str, str], interface: str, present: Collection[str]
) -> dict[str, bytes]:
    """The modules that the tests import, that `interface` names and that do not exist yet, as files
    that do nothing. Without them no test could be collected, and all would seem to fail."""
    named = {
        f"{name.replace('.', '/')}.py"
        for name in _imported(files)
        if not _is_present(name, present)
        and re.search(rf"\b{re.escape(name.partition('.')[0])}\b", interface)
    }
    return {  # if both `a` and `a.b` are imported, `a` is a package
        path: _EMPTY.encode()
        for path in sorted(named)
        if not any(other.startswith(f"{path.removesuffix('.py')}/") for other in named)
    }


def failing_solution(
    files: Mapping[str, str], empty: Mapping[str, bytes], present: Collection[str]
) -> dict[str, bytes]:
    """The modules of the `empty` solution, and those of the workspace that the tests import, as
    files whose calls fail."""
    modules = (name.replace(".", "/") for name in _imported(files))
    paths = {f"{module}{end}" for module in modules for end in (".py", "/__init__.py")}
    return dict.fromkeys(sorted({*empty, *paths.intersection(present)}), _FAILING.encode())


def passed_in(tried: Sequence[Sequence[str]]) -> bool:
    """Whether a test has passed in a trial."""
    return any(outcome == PASSED for _, outcome, _ in tried)


def drop_vacuous_tests(
    files: Mapping[str, str],
    tried: Sequence[Sequence[str]],
    failing: Sequence[Sequence[str]] = (),
    unfit: Sequence[Drop] = (),
) -> UsefulTests:
    """What stays of `files` after trials with [id, outcome, detail] of each test: `tried` on the
    empty solution, `failing` on the one whose calls fail."""
    kept: dict[str, str] = {}
    names: list[str] = []
    dropped = list(unfit)
    for path, text in files.items():
        outcomes, other = _outcomes(path, tried), _outcomes(path, failing)
        useless = {
            name
            for name, outcome in outcomes.items()
            if outcome in _USELESS and not (outcome == PASSED and other.get(name, PASSED) != PASSED)
        }
        dropped += [(name, _USELESS[outcomes[name]]) for name in sorted(useless)]
        left = [test.name for test in expected(path, text) if test.name not in useless]
        if left:
            prefix = len(path) + len("::")
            kept[path] = _without(
                text, {name[prefix:] for name in useless}, [name[prefix:] for name in left]
            )
            names += left
    return UsefulTests(kept, tuple(names), tuple(dropped))


def _outcomes(path: str, tried: Sequence[Sequence[str]]) -> dict[str, str]:
    """The outcome of each test of a file, without parameters: passed only if all its cases have."""
    found: dict[str, str] = {}
    for test, outcome, _ in tried:
        name = test.partition("[")[0]
        if name.startswith(f"{path}::") and found.get(name, "passed") == "passed":
            found[name] = outcome
    return found


def _imported(files: Mapping[str, str]) -> set[str]:
    """The modules that the files import anywhere, dotted."""
    names: set[str] = set()
    for text in files.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                names.update(each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return names


def _is_present(module: str, present: Collection[str]) -> bool:
    """Whether it is of a library, or the workspace has it or its package."""
    top = module.partition(".")[0]
    return top in _LIBRARIES or any(path.startswith((f"{top}/", f"{top}.")) for path in present)


def _without(text: str, useless: Collection[str], left: Collection[str]) -> str:
    """The source without the `useless` functions, and without classes of which nothing is `left`.
    Names are relative to the file, with `::` between class and function."""
    dropped_nodes: list[ast.stmt] = []

    def look(nodes: Sequence[ast.stmt], above: str) -> None:
        for node in nodes:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            name = above + node.name
            if not isinstance(node, ast.ClassDef):
                dropped_nodes.extend([node] if name in useless else [])
            elif any(each.startswith(f"{name}::") for each in left):
                look(node.body, f"{name}::")
            elif any(each.startswith(f"{name}::") for each in useless):
                dropped_nodes.append(node)

    look(ast.parse(text).body, "")
    lines = text.splitlines(keepends=True)
    for node in sorted(dropped_nodes, key=lambda each: each.lineno, reverse=True):
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        del lines[first - 1 : node.end_lineno]
    return "".join(lines)
