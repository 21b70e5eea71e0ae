"""Exercise: a task with hidden tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

SOLUTION = "solution.py"

Files = Mapping[str, str]
"""Texts by relative path."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """`task` and `files` are what a job is given; `tests` is what it never sees.

    `solution` is the file that the tests look for. `command` runs the tests where it is not pytest.
    An exercise without `tests` can be judged by a model alone. `right` and `wrong` are solutions
    that the tests must pass and must fail; either may be missing.
    """

    id: str
    task: str
    tests: Files = field(default_factory=dict)
    files: Files = field(default_factory=dict)
    solution: str = SOLUTION
    command: str | None = None
    level: str = ""
    right: Files | None = None
    wrong: Files | None = None


@dataclass(frozen=True, slots=True)
class ExerciseSet:
    """Exercises under a name, in order; `source` says where they come from."""

    name: str
    source: str
    exercises: Sequence[Exercise]

    @property
    def digest(self) -> str:
        """sha256 over all that decides what is asked and how it is judged."""
        content = [asdict(exercise) for exercise in self.exercises]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
