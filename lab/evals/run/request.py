"""The settings of a measurement, the same for every exercise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.evals.run.hidden_tests import LABEL
from lab.evals.sources.exercise import Exercise

MAX_REVISIONS = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """`judge` is the model that scores what has no tests, or None."""

    model: str
    repair: bool = True
    judge: str | None = None
    max_revisions: int = MAX_REVISIONS

    def spec(self, exercise: Exercise) -> dict[str, Any]:
        """The body of POST /jobs, without anything of the hidden tests."""
        return {"task": exercise.task, "files": dict(exercise.files), **self.terms}

    @property
    def terms(self) -> dict[str, Any]:
        """The part of a body that is the same for every job."""
        return {
            "model": self.model,
            "repair": self.repair,
            "max_revisions": self.max_revisions if self.repair else 1,
            "labels": [LABEL],
        }
