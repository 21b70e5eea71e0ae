"""Contents: what is in the tables of the checks' test files, and whether it still is.

A solution that finds its way to an expected value may change it, and no name stands for anything
else then. So what `readings` says is changed neither by the checks nor by whom they give it to is
held here, and compared. Only what a statement makes itself is looked at, since nothing else leads
to it, and only in modules that are there for pytest: for others a solution may have a use.
"""

from __future__ import annotations

import ast
import operator
import types
from fnmatch import fnmatch

from agents.checks.room.kept import Each
from agents.checks.room.readings import Readings
from agents.checks.room.uses import TESTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from agents.checks.room.kept import Kept

    _Member = tuple[ast.expr | None, object, Kept]
    """What makes it, where that is written down; itself; and what stays of it."""

_IS = operator.is_
_NOTHING = object()
"""Stands for a field that has no value."""
MOST = 5_000
"""Members that are held in all."""
OFTEN = 100
"""Tables that are compared before each test; the others at the end."""
_MAKERS: Mapping[type[ast.AST], type] = {
    ast.List: list,
    ast.ListComp: list,
    ast.Tuple: tuple,
    ast.Set: set,
    ast.SetComp: set,
    ast.Dict: dict,
    ast.DictComp: dict,
}
_MADE = {"list": list, "sorted": list, "dict": dict, "set": set}
_OWN_WAYS = frozenset(
    {
        *("__init__", "__new__", "__post_init__"),
        *("__setattr__", "__getattr__", "__getattribute__"),
    }
)


def is_tests(module: str) -> bool:
    """Whether a module of that name is there for pytest alone, or is the script that is run."""
    return module == "__main__" or any(fnmatch(module.rpartition(".")[2], each) for each in TESTS)


class Contents:
    """Of all modules that are made of `trees`."""

    def __init__(self, trees: Sequence[ast.Module]) -> None:
        self._readings = Readings(trees)
        classes = (node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
        self._records = {node.name for node in classes if self._is_record(node)}
        self._held: list[tuple[str, Any, tuple[object, ...]]] = []
        self._left = MOST

    def see(self, where: str, names: Mapping[str, Any], node: ast.stmt) -> None:
        """Take down what a statement has made, as it stands in `names` now."""
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name):
                name = targets[0].id
                kept = self._readings.of(name)
                self._hold(f"{where}.{name}", (node.value, names.get(name), kept))
            return
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        value = names.get(node.name)
        if type(value) is (type if isinstance(node, ast.ClassDef) else types.FunctionType):
            self._see_cases(f"{where}.{node.name}", node.decorator_list, vars(value))
            for each in (
                node.body if isinstance(node, ast.ClassDef) and self._is_suite(node) else ()
            ):
                self.see(f"{where}.{node.name}", vars(value), each)

    def changed(self, most: int | None = None) -> Iterator[str]:
        """The tables in which something else is now, of the first so many."""
        for name, table, was in self._held[:most]:
            now = _members(table)
            if len(now) != len(was) or not all(map(_IS, now, was)):
                yield name

    def _see_cases(
        self, where: str, decorators: Sequence[ast.expr], names: Mapping[str, Any]
    ) -> None:
        """The arguments of `parametrize`: nearest to the function is first."""
        given = [found for each in reversed(decorators) if (found := self._readings.cases(each))]
        marks = names.get("pytestmark")
        marks = marks if type(marks) is list else []
        marks = [each for each in marks if getattr(each, "name", "") == "parametrize"]
        if len(given) == len(marks):
            for (values, kept), mark in zip(given, marks, strict=True):
                self._hold(f"{where} (parametrize)", (values, mark.args[1], kept))

    def _hold(self, name: str, made: _Member) -> None:
        ahead = [made]
        while ahead:
            node, value, kept = ahead.pop()
            if node is None or kept is False or not self._makes(node, value):
                continue
            below = _members(value)
            if len(below) > self._left:
                continue  # a smaller one still finds room
            self._left -= len(below)
            if type(value) is not tuple:
                self._held.append((name, value, below))
            ahead += _below(node, value, kept)

    def _makes(self, node: ast.expr, value: object) -> bool:
        """Whether the value is a new one of this expression's own making."""
        if isinstance(node, ast.Call):
            name = self._readings.uses.called(node)
            if name == "pytest.param":
                return isinstance(value, tuple) and hasattr(value, "values")
            if name in _MADE:
                return type(value) is _MADE[name]
            record = node.func.id if isinstance(node.func, ast.Name) else ""
            kind = type(value)
            fields = "__dataclass_fields__" in vars(kind)
            return record in self._records and kind.__name__ == record and fields
        return type(value) is _MAKERS.get(type(node))

    def _is_record(self, node: ast.ClassDef) -> bool:
        """A data class that does nothing but to hold its fields, and none is set by the checks."""
        uses = self._readings.uses
        if node.bases or uses.imported(node.name):
            return False
        made = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
        fields = {ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)}
        methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        plain = not fields & uses.stored and not methods & (_OWN_WAYS | fields)
        return plain and [uses.named(each) for each in made] == ["dataclasses.dataclass"]

    def _is_suite(self, node: ast.ClassDef) -> bool:
        """Whether nobody but pytest has a reason to look into a class."""
        named = self._readings.uses.named
        bases = {named(each) for each in node.bases}
        marks = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
        plain = not node.keywords and bases <= {"object", "unittest.TestCase"}
        marked = all(named(each).startswith("pytest.mark.") for each in marks)
        return plain and marked and (bool(bases - {"object"}) or node.name.startswith("Test"))


def _members(value: Any) -> tuple[object, ...]:
    """What is in it now; of what is no table any more nothing."""
    kind = type(value)
    if kind is dict:
        return (*value.keys(), *value.values())
    if kind in (list, set, tuple):
        return tuple(value)
    if issubclass(kind, tuple):
        return tuple(value.values)  # a row of pytest.param
    fields = vars(kind).get("__dataclass_fields__", ())
    return tuple(getattr(value, name, _NOTHING) for name in fields)


def _below(node: ast.expr, value: Any, kept: Kept) -> Iterable[_Member]:
    """The members that the expression writes down itself."""
    if isinstance(node, ast.Dict) and len(value) == len(node.values) and None not in node.keys:
        members: list[tuple[ast.expr, Any]] = list(zip(node.values, value.values(), strict=True))
    elif isinstance(node, ast.List | ast.Tuple) and len(value) == len(node.elts):
        members = list(zip(node.elts, value, strict=True))
    elif isinstance(node, ast.Call) and issubclass(type(value), tuple):
        members = list(zip(node.args, value.values, strict=False))
        kept = kept if kept is True or isinstance(kept, tuple) else (kept,)
    else:
        return []
    if isinstance(kept, tuple):
        fits = len(kept) == len(members) and not isinstance(node, ast.Dict)
        return [(*both, one) for both, one in zip(members, kept, strict=True)] if fits else []
    rest = kept.of if isinstance(kept, Each) else kept
    return [(*both, rest) for both in members]
