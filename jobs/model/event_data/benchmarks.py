"""Events of benchmarks and their exercises."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict


class ExerciseSetData(TypedDict):
    """A set of exercises."""

    name: str
    source: str
    digest: str
    """Sets with the same digest have the same exercises."""
    exercises: int


class BenchmarkSettingsData(TypedDict):
    """The settings of a benchmark. Results of the command may have more."""

    model: str
    repair: bool


class BenchmarkStartedData(TypedDict):
    """The benchmark has begun. The fields are the header of a file of results."""

    id: str
    """The id of the benchmark's job, or of the measurement that was imported."""
    set: ExerciseSetData
    settings: BenchmarkSettingsData
    versions: dict[str, Any]
    began: str
    """ISO 8601, in UTC."""
    format: int
    tries: int
    """The number of tries at exercises."""


class ExerciseVerdictData(TypedDict):
    """The verdict of the hidden tests."""

    passed: bool
    why: str
    """The reason if they have not passed, or a note."""
    verification: str | None
    """The id of the job that ran them."""
    digest: str
    """The digest of the files."""


class ExerciseFinishedData(TypedDict):
    """A try at an exercise has ended. The fields are a line of a file of results."""

    id: str
    """The name of the exercise."""
    repeat: int
    """The number of the try, from 1."""
    job: str | None
    """The id of the job that worked on it."""
    status: str
    reason: str | None
    why_not: str | None
    """Why the try does not count for the model. Null: it counts."""
    level: str
    first: ExerciseVerdictData | None
    """On the first attempt."""
    final: ExerciseVerdictData | None
    """On the final files."""
    score: dict[str, Any] | None
    revisions: int
    runs: int
    failures: list[str]
    """The classes of the failed runs."""
    models: list[str]
    cost: dict[str, Any]
    """The spending, as `cost.total` of a job."""
    worked_seconds: float
    job_seconds: float
    seconds: float
    at: str
