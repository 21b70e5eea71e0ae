"""Problems of HumanEval, from its file.

A record is {task_id, prompt, canonical_solution, test, entry_point}: `prompt` ends in a signature
with its docstring, a solution is the body below it, `test` defines `check(candidate)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from evals.sources.records import read as read_records


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem; names are those of the data."""

    task_id: str
    prompt: str
    canonical_solution: str
    test: str
    entry_point: str

    @property
    def assertions(self) -> str:
        """What runs after a solution, in its namespace; it raises where the solution is wrong."""
        return f"{self.test}\n\ncheck({self.entry_point})\n"

    def program(self, solution: str | None = None) -> str:
        """A program that exits 0 where the solution (else the canonical one) passes the tests."""
        body = self.canonical_solution if solution is None else solution
        return f"{self.prompt}{body}\n\n{self.assertions}"


def read(path: Path) -> list[Problem]:
    """All problems, in the file's order. Raises BadRecords."""
    return read_records(path, problem)


def problem(record: Mapping[str, Any]) -> Problem:
    """One problem. Raises KeyError, TypeError or ValueError for what is none."""
    values = {field.name: record[field.name] for field in fields(Problem)}
    wrong = [name for name, value in values.items() if not isinstance(value, str)]
    if wrong:
        raise ValueError(f"{wrong[0]} is not a text")
    return Problem(**values)
