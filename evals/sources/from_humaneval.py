"""HumanEval as exercises: https://github.com/openai/human-eval (MIT licence).

A record is {task_id, prompt, canonical_solution, test, entry_point}: `prompt` ends in a signature
with its docstring, a solution is the body below it, `test` defines `check(candidate)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from evals.run.one_program import one_program
from evals.sources.exercise import SOLUTION, Exercise

TASK = """\
Complete this Python function. Write the whole module, with everything that is given here, into \
the file `solution.py`, before you run anything; then run a program that imports it and checks it.

```python
{prompt}
```
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, with the field names of the data."""

    task_id: str
    prompt: str
    canonical_solution: str
    test: str
    entry_point: str

    @property
    def assertions(self) -> str:
        """Code to run after a solution, in its namespace; it raises where the solution is wrong."""
        return f"{self.test}\n\ncheck({self.entry_point})\n"

    def program(self, solution: str | None = None) -> str:
        """A program that exits 0 where the solution (else the canonical one) passes the tests."""
        body = self.canonical_solution if solution is None else solution
        return f"{self.prompt}{body}\n\n{self.assertions}"


def exercise(record: Mapping[str, Any]) -> Exercise:
    """The prompt is the task; it also runs before the solution, whose own definitions win.

    Raises KeyError, TypeError or ValueError for an invalid record.
    """
    given = problem(record)
    return Exercise(
        id=given.task_id,
        task=TASK.format(prompt=given.prompt.rstrip("\n")),
        right={SOLUTION: given.prompt + given.canonical_solution},
        **one_program(given.assertions, given.prompt),
    )


def problem(record: Mapping[str, Any]) -> Problem:
    """One problem. Raises KeyError, TypeError or ValueError for an invalid record."""
    values = {field.name: record[field.name] for field in fields(Problem)}
    wrong = [name for name, value in values.items() if not isinstance(value, str)]
    if wrong:
        raise ValueError(f"{wrong[0]} is not text")
    return Problem(**values)
