"""Readings: what becomes of the tables of the checks, and of what is in them. Pure.

A table is a list, a dictionary, a set or a data object that a test file writes down. Tests change
such things too, and what a test hands to the solution, the solution may change: sorting a list in
place is honest work. So it is read from the source what is only looked at, and never handed out.
Where this reads too little into a source, something passes that should not; where it read too much,
an honest solution would fail.
"""

from __future__ import annotations

import ast

from agents.checks.room.kept import Each, every, of_copied
from agents.checks.room.uses import PARAMETRIZE, Uses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.checks.room.kept import Kept

_METHODS = frozenset(name for kind in (list, dict, set, tuple) for name in dir(kind))
_LOOKS = frozenset({"len", "repr", "str", "bool", "isinstance", "print", "copy.deepcopy"})
_COPIES = frozenset({"list", "tuple", "sorted", "set", "frozenset", "reversed", "iter"})
_HANDS_OUT = frozenset(
    {"any", "all", "sum", "min", "max", "map", "filter", "dict", "next", "copy.copy"}
)
_ASSERTS = frozenset(
    f"self.assert{what}"
    for what in (
        *("Equal", "NotEqual", "ListEqual", "DictEqual", "SetEqual", "TupleEqual", "CountEqual"),
        *("SequenceEqual", "AlmostEqual", "Is", "IsNot", "True", "False", "Greater", "Less"),
    )
)


class Readings:
    """Of all sources of the checks."""

    def __init__(self, trees: Sequence[ast.AST]) -> None:
        self.uses = Uses(trees)
        self._found: dict[str, Kept] = {}

    def of(self, name: str) -> Kept:
        """What stays of what a name stands for."""
        if name not in self._found:
            self._found[name] = False  # for a name that is read by itself
            uses = self.uses.of(name)
            try:
                self._found[name] = uses is not None and every(map(self._used, uses))
            except RecursionError:
                return False
        return self._found[name]

    def cases(self, node: ast.AST) -> tuple[ast.expr, Kept] | None:
        """Of `parametrize(names, values)` the values, and what stays of them."""
        if not isinstance(node, ast.Call) or self.uses.called(node) != PARAMETRIZE:
            return None
        if len(node.args) != 2 or not all(map(self._labels, node.keywords)):
            return None
        first, values = node.args
        names = _parameters(first)
        each = tuple(map(self.of, names))
        alone = len(each) == 1 and isinstance(first, ast.Constant)
        return values, Each((each[0] if alone else each) if names else False)

    def _labels(self, given: ast.keyword) -> bool:
        """Whether it only gives cases names, and hands them to nobody for that."""
        known = isinstance(given.value, ast.List | ast.Tuple | ast.Constant)
        return given.arg == "ids" and (known or self.uses.named(given.value) in {"str", "repr"})

    def _used(self, node: ast.AST) -> Kept:
        up = self.uses.up[node]
        if isinstance(up, ast.BoolOp) or (isinstance(up, ast.IfExp) and node is not up.test):
            return self._used(up)
        match up:
            case ast.Subscript():
                return self._subscripted(up, node)
            case ast.Attribute():
                return self._asked(up)
            case ast.For() | ast.comprehension():
                return node is up.iter and Each(self._bound(up.target))
            case ast.Assign() if node is up.value:
                return every(map(self._bound, up.targets))
            case ast.Starred():
                return Each(False)
            case ast.keyword():
                return self._named(up)
            case ast.Call():
                return self._given(up, node)
        return _looked_at(up, node)

    def _bound(self, target: ast.AST) -> Kept:
        if isinstance(target, ast.Name):
            return self.of(target.id)
        if isinstance(target, ast.Tuple | ast.List):
            starred = any(isinstance(each, ast.Starred) for each in target.elts)
            return Each(False) if starred else tuple(map(self._bound, target.elts))
        return False

    def _copied(self, copy: ast.AST) -> Kept:
        return of_copied(self._used(copy))

    def _subscripted(self, up: ast.Subscript, node: ast.AST) -> Kept:
        if node is not up.value or not isinstance(up.ctx, ast.Load):
            return False
        return self._copied(up) if isinstance(up.slice, ast.Slice) else Each(self._used(up))

    def _asked(self, up: ast.Attribute) -> Kept:
        """For a field of a data object, or by a method that only reads."""
        call = self.uses.up[up]
        if not isinstance(up.ctx, ast.Load) or up.attr in self.uses.defined:
            return False
        if up.attr not in _METHODS:
            return not up.attr.startswith("__") and Each(self._used(up))
        if not isinstance(call, ast.Call) or call.func is not up:
            return False
        match up.attr:
            case "copy" | "values":
                return self._copied(call)
            case "items":
                return self._paired(call, 1)
            case "get":
                return Each(self._used(call))
        return up.attr in {"keys", "index", "count"}

    def _paired(self, call: ast.Call, place: int) -> Kept:
        """At a place of the pairs that a call hands out, to a loop that takes them apart."""
        up = self.uses.up[call]
        parts: list[ast.expr] = []
        if isinstance(up, ast.For | ast.comprehension) and isinstance(up.target, ast.Tuple):
            parts = up.target.elts
        starred = any(isinstance(each, ast.Starred) for each in parts)
        return Each(self._bound(parts[place]) if place < len(parts) and not starred else False)

    def _named(self, up: ast.keyword) -> Kept:
        call = self.uses.up[up]
        if up.arg is None:
            return Each(False)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "self.subTest":
            return "subTest" not in self.uses.defined
        fixture = up.arg == "params" and self.uses.called(call) == "pytest.fixture"
        return Each(False) if fixture else False

    def _given(self, call: ast.Call, node: ast.AST) -> Kept:
        """To what is known not to change it."""
        name = self.uses.called(call)
        if name in _LOOKS or _is_assertion(call, self.uses.defined):
            return True
        if name in _COPIES and not call.keywords:
            return self._copied(call)
        if name in _COPIES | _HANDS_OUT:
            return Each(False)
        if name in {"enumerate", "zip"}:
            place = [each is node for each in call.args].index(True)
            return self._paired(call, 1 if name == "enumerate" else place)
        if name == "pytest.approx":
            return isinstance(self.uses.up[call], ast.Compare) and self._used(call)
        found = self.cases(call)
        return found[1] if found is not None and found[0] is node else False


def _looked_at(up: ast.AST, node: ast.AST) -> bool:
    match up:
        case ast.Expr() | ast.FormattedValue():
            return True
        case ast.Assert() | ast.If() | ast.While() | ast.IfExp():
            return node is up.test
        case ast.UnaryOp():
            return isinstance(up.op, ast.Not)
        case ast.Compare():
            return _compared(up, node)
    return False


def _is_assertion(call: ast.Call, defined: set[str]) -> bool:
    """One of unittest's own, on `self`."""
    name = ast.unparse(call.func) if isinstance(call.func, ast.Attribute) else ""
    return name in _ASSERTS and name.partition(".")[2] not in defined


def _compared(up: ast.Compare, node: ast.AST) -> bool:
    """Not where it is looked for in something else: that may be anything."""
    lefts = (up.left, *up.comparators)
    asked = [each for each, op in zip(lefts, up.ops, strict=False) if _is_in(op)]
    return all(each is not node for each in asked)


def _is_in(op: ast.cmpop) -> bool:
    return isinstance(op, ast.In | ast.NotIn)


def _parameters(node: ast.expr) -> list[str]:
    """Their names; none where they are not written down."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [each.strip() for each in node.value.split(",") if each.strip()]
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    found = [getattr(each, "value", None) for each in parts]
    names = [each for each in found if isinstance(each, str)]
    return names if len(names) == len(parts) else []
