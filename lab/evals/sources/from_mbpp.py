"""MBPP as exercises: github.com/google-research/google-research, folder `mbpp` (CC-BY 4.0).

A line is {task_id, text or prompt, code, test_list, test_setup_code or test_imports}. Only the
tests show the names in a problem, so the first assertion is part of the task, as an example; the
others are hidden. If there is only one, the function's signature is the example.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from lab.evals.run.one_program import one_program
from lab.evals.sources.exercise import SOLUTION, Exercise

TASK = """\
{text}

{example}

Write the function into the file `solution.py`, before you run anything; then run a program that \
imports it and checks it.
"""


def exercise(line: Mapping[str, Any]) -> Exercise:
    """One problem. Raises KeyError, TypeError, ValueError or SyntaxError for an invalid record."""
    asserts = [str(assertion).strip() for assertion in line["test_list"]]
    code = str(line["code"]).replace("\r\n", "\n")
    imports = line.get("test_imports") or []
    setup = "\n".join(imports) or str(line.get("test_setup_code") or "")
    hidden = asserts[1:] or asserts
    visible_test = asserts[0] if len(asserts) > 1 else _signature(code, asserts[0])
    return Exercise(
        id=f"MBPP/{line['task_id']}",
        task=TASK.format(
            text=str(line.get("text") or line["prompt"]).strip(), example=_example(visible_test)
        ),
        right={SOLUTION: code.rstrip("\n") + "\n"},
        **one_program("\n".join([setup, *hidden])),
    )


def _example(visible_test: str) -> str:
    return f"For example:\n\n```python\n{visible_test}\n```"


def _signature(code: str, test: str) -> str:
    """`def name(a, b): ...` of the function that the test calls."""
    called_names = {node.id for node in ast.walk(ast.parse(test)) if isinstance(node, ast.Name)}
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef) and node.name in called_names:
            return f"def {node.name}({ast.unparse(node.args)}): ..."
    raise ValueError("its test calls none of its functions")
