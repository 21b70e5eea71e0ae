"""Problems of HumanEval, from a file of JSON lines, gzipped or not.

A line is {task_id, prompt, canonical_solution, test, entry_point}: `prompt` ends in a signature
with its docstring, a solution is the body below it, `test` defines `check(candidate)`.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, fields
from pathlib import Path

_GZIP = b"\x1f\x8b"


class BadProblems(Exception):
    """The file cannot be read as problems; its text says where and why."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem; names are those of the data."""

    task_id: str
    prompt: str
    canonical_solution: str
    test: str
    entry_point: str

    def program(self, solution: str | None = None) -> str:
        """A program that exits 0 where the solution (else the canonical one) passes the tests."""
        body = self.canonical_solution if solution is None else solution
        return f"{self.prompt}{body}\n\n{self.test}\n\ncheck({self.entry_point})\n"


def read(path: Path) -> list[Problem]:
    """All problems, in the file's order. Raises BadProblems."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data.startswith(_GZIP) else data).decode()
    except (OSError, EOFError, ValueError) as error:
        raise BadProblems(f"{path}: {error}") from error
    lines = enumerate(text.splitlines(), 1)
    problems = [_problem(f"{path}:{number}", line) for number, line in lines if line.strip()]
    if not problems:
        raise BadProblems(f"{path}: there is no problem in it")
    return problems


def _problem(where: str, line: str) -> Problem:
    names = [field.name for field in fields(Problem)]
    try:
        given = json.loads(line)
        values = {name: given[name] for name in names}
    except (ValueError, TypeError) as error:
        raise BadProblems(f"{where}: {error}") from error
    except KeyError as error:
        raise BadProblems(f"{where}: {error} is missing") from error
    wrong = [name for name, value in values.items() if not isinstance(value, str)]
    if wrong:
        raise BadProblems(f"{where}: {wrong[0]} is not a text")
    return Problem(**values)
