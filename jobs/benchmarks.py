"""Benchmarks: the laboratory's part, which the worker and the API load if it is installed.

No package of the product imports the laboratory (ADR 90), so it registers an object of the type
`Laboratory` in the entry point group `fettle.benchmarks`. Values are plain JSON: a header and
results have the fields of the events `benchmark_started` and `exercise_finished`.

See ADR 94.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from jobs.errors import JobsError
from jobs.model.spec import BenchmarkSpec, JobSpec

GROUP = "fettle.benchmarks"
IMPORTED = "imported"
"""The name of the set if the file of the job has results, and no job is submitted."""
RESULTS_FILE, REPORT_FILE = "results.jsonl", "report.json"
Values = Mapping[str, Any]


class LaboratoryMissing(JobsError):
    """This process has no laboratory; the text names the remedy."""


class BenchmarkRefused(JobsError):
    """A set of exercises or a file of results is invalid; the text has the reason."""


class Unfinished(JobsError):
    """An exercise waits for a job that has not ended."""


class NotStarted(JobsError):
    """The budget is spent, so no further job of an exercise is submitted."""


class ObservedEvent(Protocol):
    """An event of a job."""

    @property
    def kind(self) -> str:
        """See `jobs.model.event_data`."""

    @property
    def data(self) -> Values:
        """The fields of its kind."""


class ExerciseJobs(Protocol):
    """The jobs of exercises. `fettle.Service` is one, and waits for jobs. The worker's
    own raises Unfinished instead: the caller repeats all calls later. Each submission has a key, so
    repetition submits no job twice."""

    def submit(self, spec: Values, *, once: str) -> Values:
        """Submit a task: {task, files, model, repair, max_revisions}. Returns {id, ...}. Raises
        NotStarted."""

    def verify(self, request: Values, *, once: str) -> Values:
        """Submit a verification: see `api.schemas.checks.VerificationRequest`. Returns {id}."""

    def events(self, job_id: str) -> Iterable[ObservedEvent]:
        """All events of a job that has ended. Raises Unfinished."""

    def job(self, job_id: str) -> Values:
        """The job, as in `GET /jobs/{id}`."""

    def files(self, job_id: str) -> Sequence[Values]:
        """The workspace: [{path, digest}]."""

    def artifact(self, job_id: str, name: str, *, digest: str) -> bytes:
        """The bytes of a version of a file."""

    def text(self, href: str) -> str:
        """A text that a job refers to."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A benchmark as the laboratory needs it."""

    id: str
    """The id of the job, a part of the keys of its exercises."""
    spec: JobSpec
    """Its kind is `benchmark`."""
    file: tuple[str, bytes] | None
    """The name and the bytes of the file with the exercises or the results."""
    began: str
    """ISO 8601."""

    @property
    def terms(self) -> BenchmarkSpec:
        """The measurement's own terms."""
        assert self.spec.benchmark is not None  # noqa: S101 - the API sets it
        return self.spec.benchmark


class Laboratory(Protocol):
    """The exercises and the statistics of benchmarks. All methods raise BenchmarkRefused, take
    long (use a thread) and have no effects but by their arguments."""

    sets: Mapping[str, bool]
    """The names of the sets, and whether a set needs a file."""

    def begin(self, measurement: Measurement) -> Values:
        """The data of the event `benchmark_started`."""

    def advance(
        self,
        measurement: Measurement,
        header: Values,
        results: Sequence[Values],
        jobs: ExerciseJobs,
        record: Callable[[Values], None],
    ) -> bool:
        """Submit jobs and `record` the new results. Returns whether no job is unfinished then."""

    def result_lines(self, header: Values, results: Sequence[Values]) -> bytes:
        """The file of results that `fettle bench show` and `fettle bench compare` read."""

    def report(self, header: Values, results: Sequence[Values]) -> dict[str, Any]:
        """The summary, as `fettle bench show --json` prints it."""

    def compare(
        self, first: tuple[Values, Sequence[Values]], second: tuple[Values, Sequence[Values]]
    ) -> dict[str, Any]:
        """The comparison, as `fettle bench compare --json` prints it."""


def load_laboratory() -> Laboratory:
    """The installed laboratory. Raises LaboratoryMissing."""
    for entry in entry_points(group=GROUP):
        return cast("Laboratory", entry.load())
    remedy = "install fettle-lab, from lab/ of the repository, where the API and the workers run"
    raise LaboratoryMissing(f"benchmarks need the laboratory: {remedy}")


def known_cost(spending: Values) -> Decimal:
    """The known part of a spending, in US dollars: see `jobs.view.job.render_cost`."""
    return Decimal(spending.get("known_usd") or spending.get("cost_usd") or "0")
