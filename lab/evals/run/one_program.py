"""Judges as the papers of HumanEval and MBPP do: one program, one namespace.

The solution runs first, then the assertions run in its namespace. So a function may have any name
(`_sum`, `test_duplicate`), and no test is collected. The program passes if it reaches its end: the
judge of acceptance checks does not accept an exit by the solution.
"""

from __future__ import annotations

from typing import Any

from lab.evals.sources.exercise import SOLUTION

PROGRAM = "hidden.py"

_PROGRAM = """\
import sys

run, program = exec, type(sys)("solution")
sys.modules["solution"] = program
scope = vars(program)
with open({solution!r}, "rb") as file:
    solution = compile(file.read(), {solution!r}, "exec")
assertions = compile({assertions!r}, "assertions", "exec")
run({given!r}, scope)
run(solution, scope)
run(assertions, scope)
"""
"""The program imports no module that a file of the workspace could replace, and uses no builtins
after the solution has run.
"""


def one_program(assertions: str, preamble: str = "") -> dict[str, Any]:
    """The `tests` and `command` of an exercise; `preamble` runs before the solution."""
    text = _PROGRAM.format(solution=SOLUTION, given=preamble, assertions=assertions)
    return {"tests": {PROGRAM: text}, "command": f"python {PROGRAM}"}
