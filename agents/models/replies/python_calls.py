"""Tool calls that a model writes as a list of Python calls, as Llama 4 does. Pure."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

FORM = "[name(argument=...)]"


def read_python_calls(text: str) -> Sequence[tuple[str, dict[str, Any]]]:
    """The calls in a text that is nothing but a list of them; none for any other text.

    Arguments have names, and their values are literals.
    """
    text = text.strip()
    if not (text.startswith("[") and text.endswith(")]")):
        return ()
    try:
        expression = ast.parse(text, mode="eval").body
        elements = expression.elts if isinstance(expression, ast.List) else []
        return [_call(element) for element in elements]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return ()


def _call(node: ast.expr) -> tuple[str, dict[str, Any]]:
    if (
        not isinstance(node, ast.Call)
        or node.args
        or any(word.arg is None for word in node.keywords)
    ):
        raise ValueError("not a call with named arguments")
    arguments = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
    return ast.unparse(node.func), arguments
