"""The tests in the checks' files, read from their source without running it. Pure.

It also reads which tests can be skipped, and how often a test is parametrized, if that is written
literally. So a solution passes nothing by raising a skip or by emptying a list of cases.
"""

from __future__ import annotations

import ast
import math
from fnmatch import fnmatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_PATTERNS = ("test_*.py", "*_test.py")
_SKIPS = ("skip", "xfail", "expectedfailure")
_Def = ast.FunctionDef | ast.AsyncFunctionDef


class Expected:
    """A test that must be reported: its id without parameters, its number of cases (None: at least
    one), and whether its source allows it to be skipped or to fail."""

    def __init__(self, name: str, cases: int | None, may_skip: bool) -> None:
        self.name, self.cases, self.may_skip = name, cases, may_skip

    def holds(self, test: str) -> bool:
        """Whether a reported id is one of its cases."""
        return test == self.name or test.startswith(self.name + "[")

    def aimed(self, at: Collection[str]) -> Expected | None:
        """What of it must be reported if a caller names files, tests or cases `at`; None if none of
        them means it. The number of cases is then the caller's."""
        names = [each.partition("[")[0].rstrip("/") for each in at]
        meant = [
            whole
            for whole, name in zip(at, names, strict=True)
            if self.name == name or self.name.startswith((f"{name}::", f"{name}/"))
        ]
        if not meant:
            return None
        if all("[" in each for each in meant):
            return Expected(self.name, len(set(meant)), self.may_skip)
        return self


def collected(paths: Mapping[str, str]) -> list[str]:
    """The checks' files that pytest has to collect: by name, or every Python file if none has such
    a name."""
    python = sorted(path for path in paths if path.endswith(".py"))
    named = [path for path in python if any(fnmatch(_base(path), each) for each in _PATTERNS)]
    return named or [path for path in python if _base(path) not in {"conftest.py", "__init__.py"}]


def expected(path: str, source: str) -> list[Expected]:
    """The tests of one file. Raises SyntaxError, ValueError or RecursionError for invalid
    Python."""
    tree = ast.parse(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    whole = any(_assigns(node, "pytestmark") and _skips(node) for node in tree.body)
    found: list[Expected] = []
    for node in tree.body:
        if isinstance(node, _Def) and _is_test(node):
            found.append(_test(f"{path}::{node.name}", node, whole))
        elif isinstance(node, ast.ClassDef) and _is_suite(node, classes):
            found += _suite(path, node, classes, whole)
    return list({each.name: each for each in found}.values())


def _suite(
    place: str, node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], may_skip: bool
) -> Iterator[Expected]:
    here = f"{place}::{node.name}"
    marks = [each for each in node.body if _assigns(each, "pytestmark")]
    skips = may_skip or any(map(_skips, [*node.decorator_list, *marks]))
    many = any("parametrize" in ast.dump(each) for each in node.decorator_list)
    for each in _members(node, classes, set()):
        if isinstance(each, _Def) and _is_test(each):
            test = _test(f"{here}::{each.name}", each, skips)
            yield Expected(test.name, None, test.may_skip) if many else test
        elif isinstance(each, ast.ClassDef) and _is_suite(each, classes):
            yield from _suite(here, each, classes, skips)


def _members(
    node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], seen: set[str]
) -> Iterator[ast.stmt]:
    """The members of the class and of its bases in this file."""
    yield from node.body
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes and base.id not in seen:
            seen.add(base.id)
            yield from _members(classes[base.id], classes, seen)


def _test(name: str, node: _Def, may_skip: bool) -> Expected:
    skips = may_skip or any(map(_skips, node.decorator_list))
    counts = [_cases(each) for each in node.decorator_list if "parametrize" in ast.dump(each)]
    whole = [count for count in counts if count is not None]
    if len(whole) < len(counts) or 0 in whole:
        return Expected(name, None, skips)
    return Expected(name, math.prod(whole), skips)


def _cases(decorator: ast.expr) -> int | None:
    """The number of cases of `parametrize(names, [..])`, if they are written literally."""
    if isinstance(decorator, ast.Call) and len(decorator.args) > 1:
        values = decorator.args[1]
        if isinstance(values, ast.List | ast.Tuple | ast.Set):
            starred = any(isinstance(each, ast.Starred) for each in values.elts)
            return None if starred else len(values.elts)
    return None


def _is_test(node: _Def) -> bool:
    return node.name.startswith("test") and not any(map(_is_fixture, node.decorator_list))


def _is_fixture(decorator: ast.expr) -> bool:
    made = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(made, "attr", getattr(made, "id", "")) == "fixture"


def _is_suite(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> bool:
    if any(_assigns(each, "__test__") and _is_false(each) for each in node.body):
        return False
    if _is_unittest(node, classes, set()):
        return True
    members = [each.name for each in node.body if isinstance(each, _Def)]
    return node.name.startswith("Test") and not {"__init__", "__new__"} & set(members)


def _is_unittest(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], seen: set[str]) -> bool:
    for base in node.bases:
        name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
        if name.endswith("TestCase") and name not in classes:
            return True
        if name in classes and name not in seen:
            seen.add(name)
            if _is_unittest(classes[name], classes, seen):
                return True
    return False


def _assigns(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(each, ast.Name) and each.id == name for each in targets)


def _is_false(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.value) == "False"


def _skips(node: ast.AST) -> bool:
    names = (getattr(each, "attr", getattr(each, "id", "")) for each in ast.walk(node))
    return any(word in name.lower() for name in names for word in _SKIPS)


def _base(path: str) -> str:
    return path.rpartition("/")[2]
