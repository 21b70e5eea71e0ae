"""HumanEval as exercises: https://github.com/openai/human-eval (MIT licence)."""

from __future__ import annotations

from bench.humaneval.problems import Problem
from bench.quality.exercise import SOLUTION, Exercise

TASK = """\
Complete this Python function. Write the whole module, with everything that is given here, into \
the file `solution.py`, before you run anything; then run a program that imports it and checks it.

```python
{prompt}
```
"""

TESTS = """\
{given}
from solution import {name}

{test}


def test_{name}():
    check({name})
"""


def exercise(problem: Problem) -> Exercise:
    """The prompt is the task; what stands in it before the function is the tests' to use, too."""
    prompt, name = problem.prompt.rstrip("\n"), problem.entry_point
    given = problem.prompt[: problem.prompt.index(f"def {name}(")].rstrip()
    tests = TESTS.format(given=given, name=name, test=problem.test.strip())
    return Exercise(
        id=problem.task_id,
        task=TASK.format(prompt=prompt),
        tests={"test_hidden.py": tests.lstrip("\n")},
        right={SOLUTION: problem.prompt + problem.canonical_solution},
    )
