"""Bindings: what the names of the checks' own modules stand for, and whether they still do.

A test is worth what the names in it stand for: its assertions may be a function of the checks', a
`raises` that was imported, a constant. Any code that a test calls can give them another meaning.
So a module is run statement by statement: behind each, no name may have changed that it does not
bind, and at the end none may have changed at all. Names that the checks bind anew themselves, by
`global` or as an attribute, are not looked at. What is in what they stand for: `contents`.
"""

from __future__ import annotations
import __future__

import ast
import types

from agents.checks.room.contents import OFTEN, Contents, is_tests
from agents.checks.room.guard import BUILTINS, inside, members, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from agents.checks.room.guard import Entry

Piece = tuple[types.CodeType, "frozenset[str] | None", bool, ast.stmt]
"""A statement, the names that it binds (None: it may bind any), whether all that it can do is to
bind them, and itself.
"""
_Seen = dict[str, tuple[object, tuple[object, ...]]]
_MODULE = types.ModuleType
_FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


class Bindings:
    """Of all modules that are made of `texts`."""

    def __init__(self, texts: Iterable[str]) -> None:
        trees = list(map(ast.parse, texts))
        self._free = frozenset(name for tree in trees for name in _bound_anew(tree))
        self._contents = Contents(trees)
        self._runs: dict[int, tuple[str, Mapping[str, Any], _Seen]] = {}
        self._members: list[Entry] = []
        self._early: list[str] = []

    def run(self, pieces: Sequence[Piece], module: types.ModuleType) -> None:
        """Run a module."""
        where, names = module.__name__, vars(module)
        _, _, former = self._runs.get(id(names), (where, names, _Seen()))
        own = former.keys() & BUILTINS & names.keys()  # of builtins' names, when it is loaded anew
        seen = {name: (names[name], inside(names[name])) for name in own}
        self._runs[id(names)] = where, names, seen
        for code, bound, quiet, node in pieces:
            try:
                exec(code, names)  # noqa: S102
            finally:
                if bound is not None and not quiet:  # else many tests would be compared with many
                    self._early += self._changed(where, names, seen, bound)
                for name in list(seen) if bound is None else seen.keys() & bound:
                    del seen[name]
                self._see(where, names, seen, bound if bound and quiet else names)
                if is_tests(where):
                    self._contents.see(where, names, node)

    def keepers(self) -> list[object]:
        """What must not be exchanged while tests are run; see `seal`."""
        return [self, self._contents]

    def seen(self) -> list[Mapping[str, object]]:
        """What was noted down of each module that has been run."""
        return [seen for _, _, seen in self._runs.values()]

    def look(self) -> None:
        """Take down what is in another state now, though it may be put back later."""
        self._early += self._contents.changed(OFTEN)

    def replaced(self) -> list[str]:
        """Names that stand for something else than the checks have them stand for."""
        found = [*self._early, *self._contents.changed()]
        for where, names, seen in self._runs.values():
            found += self._changed(where, names, seen, frozenset())
        found += [
            f"{where}.{name}"
            for where, names, name, was, parts in self._members
            if not same(names.get(name), was, parts)
        ]
        return list(dict.fromkeys(found))

    def _see(self, where: str, names: Mapping[str, Any], seen: _Seen, among: Iterable[str]) -> None:
        for name in list(among):
            if name in seen or name in self._free or name.startswith("__") or name not in names:
                continue
            value = names[name]
            seen[name] = value, inside(value)
            if issubclass(type(value), type) and value.__module__ == where:
                self._members += [each for each in members(value) if each[2] not in self._free]

    def _changed(
        self, where: str, names: Mapping[str, Any], seen: _Seen, bound: frozenset[str]
    ) -> Iterator[str]:
        nothing = object()
        for name, (was, parts) in seen.items():
            if name not in bound and not same(names.get(name, nothing), was, parts):
                yield f"{where}.{name}"
        for name in (names.keys() & BUILTINS) - seen.keys() - bound - self._free:
            if type(names[name]) is not _MODULE and not name.startswith("__"):
                yield f"{where}.{name}"  # but for a module within the package of that name


def pieces(tree: ast.Module, path: str) -> list[Piece]:
    """The statements of a module, compiled each by itself."""
    flags = compile(tree, path, "exec", dont_inherit=True).co_flags & _FUTURE
    return [
        (
            compile(ast.Module([node], []), path, "exec", flags, dont_inherit=True),
            _bound(node),
            _is_quiet(node),
            node,
        )
        for node in tree.body
    ]


def _is_quiet(node: ast.stmt) -> bool:
    """Whether nothing is called and no name's value taken by it: a bare function, a constant."""
    if isinstance(node, ast.Assign):
        return _is_constant(node.value) and all(isinstance(each, ast.Name) for each in node.targets)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.decorator_list:
        return False
    kinds = [each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    values = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    plain = all(
        isinstance(each, ast.Name | ast.Constant) for each in [*kinds, node.returns] if each
    )
    return plain and all(map(_is_constant, values))


def _is_constant(value: ast.expr) -> bool:
    parts = ast.Constant, ast.Tuple, ast.List, ast.expr_context
    return all(isinstance(each, parts) for each in ast.walk(value))


def _bound(statement: ast.stmt) -> frozenset[str] | None:
    found: set[str] = set()
    ahead: list[ast.AST] = [statement]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {each.asname or each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        ahead += ast.iter_child_nodes(node)
    return None if "*" in found else frozenset(found)


def _bound_anew(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.attr
