"""Meanings: the whole names that the names of a source stand for, as far as it tells. Pure."""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def meanings(tree: ast.AST) -> dict[str, str]:
    """What names mean that the source gives a meaning: whole names of what is imported."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found[node.id] = ""
        elif isinstance(node, ast.Import):
            found |= {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom):
            found |= {
                (each.asname or each.name): f"{node.module}.{each.name}" for each in node.names
            }
    return found


def dotted(node: ast.AST | None, known: Mapping[str, str]) -> str:
    """The whole name that an expression is, by `meanings`; of no name nothing."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, known)}.{node.attr}"
    return known.get(node.id, node.id) if isinstance(node, ast.Name) else ""
