"""Notices: lines of a solution that touch test machinery. They decide nothing. Pure.

Code in one process with its tests can change them. Notices show a reader where to look.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

MOST_NOTICES = 20
MOST_BYTES = 1024 * 1024
"""Of all sources that are parsed: about a second of work."""
TOO_LARGE = "too large to be checked"

_MODULES = frozenset({"pytest", "_pytest", "unittest", "gc", "inspect", "ctypes", "builtins"})
_FRAMES = frozenset({"_getframe", "_current_frames", "f_locals", "f_globals", "f_back", "tb_frame"})
_OF_SYS = frozenset({"modules", "settrace", "setprofile", "monitoring", *_FRAMES})
_IMPORTERS = frozenset({"__import__", "import_module"})
_TESTS = ("test_*.py", "*_test.py", "conftest.py")
"""The solution's own tests, which import pytest as usual."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line of a file of the workspace, and what it names: `gc`, `sys.modules`."""

    file: str
    line: int
    what: str


def notices(files: Mapping[str, bytes], checks: Collection[str] = ()) -> tuple[Notice, ...]:
    """Of the Python sources among a workspace's `files`, except its own tests and the paths of
    `checks`: the first line of a file for each name."""
    found: list[Notice] = []
    left = MOST_BYTES
    for path in sorted(files):
        base = path.rpartition("/")[2]
        if not path.endswith(".py") or path in checks or any(fnmatch(base, p) for p in _TESTS):
            continue
        left -= len(files[path])
        found += _of_file(path, files[path]) if left >= 0 else [Notice(path, 1, TOO_LARGE)]
    return tuple(found[:MOST_NOTICES])


def _of_file(path: str, source: bytes) -> list[Notice]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # no test can import it either
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        for what in _named(node):
            line = getattr(node, "lineno", 1)
            lines[what] = min(line, lines.get(what, line))
    return [Notice(path, line, what) for what, line in sorted(lines.items(), key=lambda x: x[1])]


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (top for each in node.names if (top := _top(each.name)) in _MODULES)
        case ast.ImportFrom(module=str(module)) if not node.level:
            if _top(module) in _MODULES:
                yield _top(module)
            elif module == "sys":
                yield from (f"sys.{each.name}" for each in node.names if each.name in _OF_SYS)
        case ast.Name(id="__builtins__"):
            yield "builtins"
        case ast.Attribute(value=ast.Name(id="sys"), attr=attr) if attr in _OF_SYS:
            yield f"sys.{attr}"
        case ast.Attribute(attr=attr) if attr in _FRAMES:
            yield attr
        case ast.Call(args=[ast.Constant(value=str(name)), *_]):
            importer = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if importer in _IMPORTERS and _top(name) in _MODULES:
                yield _top(name)


def _top(name: str) -> str:
    return name.partition(".")[0]
