"""Every regular expression of the product, with the methods that the product calls on it."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from support.cases.pattern_growth import Use
from support.processes.preloaded import REPOSITORY

PACKAGES = ("agents", "api", "cli", "jobs", "sandbox", "settings", "worker")
METHODS = ("search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split")
VARIABLE = "a variable"
"""The text for a name that is known only when the function runs."""


class Names(dict[str, Any]):
    """The names of a module. A name of a function has the text VARIABLE."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, VARIABLE)


def product_patterns() -> list[Use]:
    """The patterns, without duplicates. The pattern of a variable has the text VARIABLE."""
    paths = [path for package in PACKAGES for path in sorted((REPOSITORY / package).rglob("*.py"))]
    trees = {path: ast.parse(path.read_text()) for path in paths}
    uses = [use for path in paths for use in _of_file(path, trees[path], list(trees.values()))]
    return list({_key(use): use for use in reversed(uses)}.values())


def _key(use: Use) -> tuple[Any, ...]:
    """Uses with the same key take the same time. If a pattern is unknown, its location is in the
    key.
    """
    location = use.location if VARIABLE in str(use.pattern) else ""
    return (use.pattern, use.flags, use.method, location)


def _of_file(path: Path, tree: ast.Module, product: Sequence[ast.Module]) -> Iterator[Use]:
    location = str(path.relative_to(REPOSITORY))
    calls = [node for node in ast.walk(tree) if _function(node, "re") in (*METHODS, "compile")]
    if not calls:
        return
    names = _names(path)
    assignments = {
        id(node.value): node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
    }
    for call in calls:
        assert isinstance(call, ast.Call)
        function = str(_function(call, "re"))
        pattern, flags = _value(call.args[0], names), _flags(call, function, names)
        methods = [function]
        if function == "compile":
            target = assignments.get(id(call))
            methods = _methods_of(target, tree, product) if target else ["search"]
        for method in methods:
            yield Use(f"{location}:{call.lineno}", pattern, flags, method)
    for pattern in _in_tables(list(names.values())):
        yield Use(location, pattern.pattern, pattern.flags, "search")


def _in_tables(values: Iterable[Any]) -> Iterator[re.Pattern[Any]]:
    """The patterns in a module's tables."""
    for value in values:
        parts = [*value, *value.values()] if type(value) is dict else value
        if type(value) in (dict, tuple, list, frozenset):
            yield from (part for part in parts if isinstance(part, re.Pattern))
            yield from _in_tables(part for part in parts if type(part) in (tuple, list))


def _names(path: Path) -> Names:
    module = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
    if path.name == "__main__.py":
        return Names(re=re)
    try:
        return Names(vars(importlib.import_module(module.removesuffix(".__init__"))))
    except ImportError:  # this program runs in the sandbox and imports modules of the sandbox
        return Names(re=re)


def _function(node: ast.AST, owner: str) -> str | None:
    """The `name` of a call `owner.name(...)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name_of_owner), attr=name)) if (
            name_of_owner == owner
        ):
            return name
    return None


def _value(node: ast.expr, names: Names) -> Any:
    code = compile(ast.Expression(node), "<pattern>", "eval")
    try:
        return eval(code, {}, names)
    except (TypeError, AttributeError):
        return VARIABLE


def _flags(call: ast.Call, function: str, names: Names) -> int:
    flag_nodes = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    position = 1 if function == "compile" else 2
    if function in ("compile", "search", "match", "fullmatch", "findall", "finditer"):
        flag_nodes += call.args[position : position + 1]
    value = _value(flag_nodes[0], names) if flag_nodes else 0
    return int(value) if isinstance(value, int) else 0


def _methods_of(
    target: ast.Assign | ast.AnnAssign, tree: ast.Module, product: Sequence[ast.Module]
) -> list[str]:
    """The methods that are called on a pattern with this name."""
    first = target.target if isinstance(target, ast.AnnAssign) else target.targets[0]
    if not isinstance(first, ast.Name):
        return ["search"]
    trees = [tree] if first.id.startswith("_") else product
    methods = {
        name
        for module_tree in trees
        for node in ast.walk(module_tree)
        if isinstance(node, ast.Attribute)
        and (name := node.attr) in METHODS
        and getattr(node.value, "id", getattr(node.value, "attr", None)) == first.id
    }
    return sorted(methods) or ["search"]
