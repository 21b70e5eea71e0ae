"""A user's own exercises: JSON lines. Docs: docs/benchmarks.md, "A file of your own"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lab.evals.sources.exercise import SOLUTION, Exercise

TEST_FILE = "test_hidden.py"


class Line(BaseModel):
    """One exercise. A text in place of files is the content of the one file."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1, max_length=200)
    task: str = Field(min_length=1)
    tests: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    solution: str = SOLUTION
    command: str | None = None
    level: str = ""
    right: dict[str, str] | str | None = None
    wrong: dict[str, str] | str | None = None

    @field_validator("tests", mode="before")
    @classmethod
    def _one_file(cls, value: Any) -> Any:
        return {TEST_FILE: value} if isinstance(value, str) else value


def exercise(fields: Mapping[str, Any]) -> Exercise:
    """One exercise. Raises ValidationError."""
    line = Line.model_validate(fields)
    return Exercise(
        **line.model_dump(exclude={"right", "wrong"}),
        right=_files(line.right, line.solution),
        wrong=_files(line.wrong, line.solution),
    )


def _files(value: dict[str, str] | str | None, name: str) -> dict[str, str] | None:
    return {name: value} if isinstance(value, str) else value
