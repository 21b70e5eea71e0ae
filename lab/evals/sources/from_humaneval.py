"""HumanEval as exercises: https://github.com/openai/human-eval (MIT licence).

A record is {task_id, prompt, canonical_solution, test, entry_point}: `prompt` ends in a signature
with its docstring, a solution is the body below it, `test` defines `check(candidate)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.evals.run.one_program import one_program
from lab.evals.sources.exercise import SOLUTION, Exercise

TASK = """\
Complete this Python function. Write the whole module, with everything that is given here, into \
the file `solution.py`, before you run anything; then run a program that imports it and checks it.

```python
{prompt}
```
"""


def exercise(record: Mapping[str, Any]) -> Exercise:
    """The prompt is the task; it also runs before the solution, and the solution's definitions win.

    Raises KeyError or ValueError for an invalid record.
    """
    prompt = _text(record, "prompt")
    assertions = f"{_text(record, 'test')}\n\ncheck({_text(record, 'entry_point')})\n"
    return Exercise(
        id=_text(record, "task_id"),
        task=TASK.format(prompt=prompt.rstrip("\n")),
        right={SOLUTION: prompt + _text(record, "canonical_solution")},
        **one_program(assertions, prompt),
    )


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} is not text")  # noqa: TRY004 - of the file, not of a caller
    return value
