"""The settings of a measurement, which are equal for all exercises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.evals.run.hidden_tests import LABEL
from lab.evals.sources.exercise import Exercise

MAX_REVISIONS = 3


@dataclass(frozen=True, slots=True)
class MeasurementRequest:
    """`judge` is the model that scores exercises without tests, or None."""

    model: str
    repair: bool = True
    judge: str | None = None
    max_revisions: int = MAX_REVISIONS
    write_tests: bool = False
    parallel: bool = False
    follow_up: bool = False
    """Each task is done in two jobs, the second is a follow-up; for tasks on repositories."""

    def spec(self, exercise: Exercise) -> dict[str, Any]:
        """The body of POST /jobs, without any part of the hidden tests."""
        return {"task": exercise.task, "files": dict(exercise.files), **self.terms}

    @property
    def terms(self) -> dict[str, Any]:
        """The fields of the request body that are equal for all jobs."""
        options = {"write_tests": self.write_tests, "parallel": self.parallel}
        return {
            "model": self.model,
            "repair": self.repair,
            "max_revisions": self.max_revisions if self.repair else 1,
            "labels": [LABEL],
            "review": False,
            **{name: True for name, is_set in options.items() if is_set},
        }
