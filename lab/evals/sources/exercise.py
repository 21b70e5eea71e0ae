"""Exercise: a task with hidden tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TypeVar

SOLUTION = "solution.py"

Files = Mapping[str, str]
"""Texts by relative path."""


class Task(Protocol):
    """The fields of an exercise, or of a task on a repository, that a measurement uses."""

    @property
    def id(self) -> str:
        """The name, unique in a set."""

    @property
    def level(self) -> str:
        """How difficult it is; empty if it is unknown."""

    @property
    def tests(self) -> Any:
        """The hidden tests; empty if it has no tests."""


T_co = TypeVar("T_co", bound=Task, covariant=True)


class TaskSet(Protocol[T_co]):
    """Named tasks, in order, and their source."""

    @property
    def name(self) -> str:
        """The name of the set."""

    @property
    def source(self) -> str:
        """The origin of the set."""

    @property
    def exercises(self) -> Sequence[T_co]:
        """The tasks."""

    @property
    def digest(self) -> str:
        """sha256 of all content that a measurement depends on."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """`task` and `files` are the job's input; the job never sees `tests`.

    `solution` is the file that the tests import. `command` runs the tests, by default pytest. An
    exercise without `tests` can only be judged by a model. `right` and `wrong` are solutions that
    must pass and must fail; either may be missing.
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
    """Named exercises, in order, and their source."""

    name: str
    source: str
    exercises: Sequence[Exercise]

    @property
    def digest(self) -> str:
        """sha256 of all tasks, files and tests."""
        content = [asdict(exercise) for exercise in self.exercises]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
