"""Bindings: what the names of the checks' own modules stand for, and whether they still do.

A test is worth what the names in it stand for: its assertions may be a function of the checks', a
`raises` that was imported, a constant. Any code that a test calls can give them another meaning.
So a module is run statement by statement: behind each, no name may have changed that it does not
bind, and at the end none may have changed at all. Names that the checks bind anew themselves, by
`global` or as an attribute, are not looked at.
"""

from __future__ import annotations
import __future__

import ast
import types

from agents.checks.room.guard import BUILTINS, inside, members, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from agents.checks.room.guard import Entry

Piece = tuple[types.CodeType, "frozenset[str] | None"]
"""A statement, and the names that it binds; None: it may bind any."""
_Seen = dict[str, tuple[object, tuple[object, ...]]]
_FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


class Bindings:
    """Of all modules that are made of `texts`."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._free = frozenset(name for text in texts for name in _bound_anew(ast.parse(text)))
        self._modules: dict[int, tuple[str, Mapping[str, Any], _Seen]] = {}
        self._members: list[Entry] = []
        self._early: list[str] = []

    def run(self, pieces: Sequence[Piece], module: types.ModuleType) -> None:
        """Run a module."""
        where, names, seen = module.__name__, vars(module), _Seen()
        self._modules[id(names)] = where, names, seen  # anew where the checks reload it
        for code, bound in pieces:
            try:
                exec(code, names)  # noqa: S102
            finally:
                if bound is not None:
                    self._early += self._changed(where, names, seen, bound)
                for name in list(seen) if bound is None else seen.keys() & bound:
                    del seen[name]
                self._see(where, names, seen)

    def replaced(self) -> list[str]:
        """Names that stand for something else than the checks have them stand for."""
        found = list(self._early)
        for where, names, seen in self._modules.values():
            found += self._changed(where, names, seen, frozenset())
        found += [
            f"{where}.{name}"
            for where, names, name, was, parts in self._members
            if not same(names.get(name), was, parts)
        ]
        return list(dict.fromkeys(found))

    def _see(self, where: str, names: Mapping[str, Any], seen: _Seen) -> None:
        for name, value in list(names.items()):
            if name in seen or name in self._free or name.startswith("__"):
                continue
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
            if type(names[name]) is not types.ModuleType and not name.startswith("__"):
                yield f"{where}.{name}"  # but for a module within the package of that name


def pieces(tree: ast.Module, path: str) -> list[Piece]:
    """The statements of a module, compiled each by itself."""
    flags = compile(tree, path, "exec", dont_inherit=True).co_flags & _FUTURE
    return [
        (compile(ast.Module([node], []), path, "exec", flags, dont_inherit=True), _bound(node))
        for node in tree.body
    ]


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
