"""Invented problems in the form of HumanEval: two with a correct solution, one with a wrong one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path


def problem(number: int, body: str, expected: int) -> dict[str, str]:
    return {
        "task_id": f"Tiny/{number}",
        "prompt": f'def f{number}(x):\n    """Some number of x."""\n',
        "canonical_solution": f"    {body}\n",
        "test": f"def check(candidate):\n    assert candidate(20) == {expected}\n",
        "entry_point": f"f{number}",
    }


GOOD = [problem(0, "return x + 1", 21), problem(1, "import math\n    return math.gcd(x, 15)", 5)]
WRONG = problem(2, "return x", 21)


def write_problems(path: Path, *problems: dict[str, str]) -> Path:
    """Write the problems to a file, compressed if the path ends with `.gz`."""
    text = "".join(json.dumps(problem) + "\n" for problem in problems).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path
