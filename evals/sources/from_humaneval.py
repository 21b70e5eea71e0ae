"""HumanEval as exercises: https://github.com/openai/human-eval (MIT licence)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evals.run.one_program import one_program
from evals.sources.exercise import SOLUTION, Exercise
from evals.sources.problems import problem

TASK = """\
Complete this Python function. Write the whole module, with everything that is given here, into \
the file `solution.py`, before you run anything; then run a program that imports it and checks it.

```python
{prompt}
```
"""


def exercise(record: Mapping[str, Any]) -> Exercise:
    """The prompt is the task; it also runs before the solution, whose own definitions count.

    Raises KeyError, TypeError or ValueError for what is no problem.
    """
    given = problem(record)
    return Exercise(
        id=given.task_id,
        task=TASK.format(prompt=given.prompt.rstrip("\n")),
        right={SOLUTION: given.prompt + given.canonical_solution},
        **one_program(given.assertions, given.prompt),
    )
