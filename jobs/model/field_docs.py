"""Docstrings of fields: a string literal under a field of a class, which Python does not keep."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from types import ModuleType


def field_docs(module: ModuleType) -> Mapping[str, Mapping[str, str]]:
    """The docstrings of the fields of a module's classes, by class and field, each on one line.

    A class also has the docstrings of its base classes in the same module.
    """
    docs: dict[str, dict[str, str]] = defaultdict(dict)
    for node in ast.parse(inspect.getsource(module)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for base in node.bases:
            if isinstance(base, ast.Name):
                docs[node.name].update(docs[base.id])
        for field, text in pairwise(node.body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                docs[node.name][field.target.id] = " ".join(str(text.value.value).split())
    return docs
