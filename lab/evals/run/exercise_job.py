"""One exercise through the service: a job, then the hidden tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from cli.client import Job
from cli.client.files import as_text
from jobs.benchmarks import ExerciseJobs, ObservedEvent
from lab.evals.report.results import Result, SolutionVerdict
from lab.evals.run.candidate import Candidate, first_attempt, stand_in
from lab.evals.run.hidden_tests import NotVerified, digest, digest_of, verify
from lab.evals.run.request import MeasurementRequest
from lab.evals.run.tries import E, Try
from lab.evals.sources.exercise import Exercise

NOT_THE_MODELS = frozenset(
    {
        *("model_unavailable", "sandbox_unavailable", "repository"),
        *("setup", "storage", "poisoned", "incompatible", "internal"),
    }
)
"""Reasons of a failed job that are not the model's fault: such a try is not measured."""

NO_SOLUTION = "it did not make {name}"


Verdicts = tuple[SolutionVerdict | None, SolutionVerdict]
"""The verdicts on the first attempt, if there is one, and on the final state."""


def work_on_exercise(jobs: ExerciseJobs, request: MeasurementRequest, at: Try[Exercise]) -> Result:
    """Submit the job, follow it to its end, then judge. Raises the errors of `jobs`.

    In a worker `jobs` raises Unfinished in place of waiting, and this function is called again.
    """
    started_at = time.monotonic()
    job_id = str(jobs.submit(request.spec(at.exercise), once=at.key)["id"])

    def verdicts(job: Job, events: Sequence[ObservedEvent]) -> Verdicts:
        return _Judging(jobs, at, job).verdicts(events)

    return finished_result(jobs, job_id, at, started_at, verdicts)


def finished_result(
    jobs: ExerciseJobs,
    job_id: str,
    at: Try[E],
    started_at: float,
    verdicts: Callable[[Job, Sequence[ObservedEvent]], Verdicts],
) -> Result:
    """Follow a submitted job to its end, then judge it by `verdicts`, which raises NotVerified."""
    events = list(jobs.events(job_id))
    job = jobs.job(job_id)
    result = replace(
        result_of(job),
        id=at.exercise.id,
        repeat=at.repeat,
        level=at.exercise.level,
        models=_models(events),
    )
    if result.measured and at.exercise.tests:
        try:
            first, final = verdicts(job, events)
            result = replace(result, first=first, final=final)
        except NotVerified as error:
            result = replace(result, why_not=f"not verified: {error}")
    return replace(result, seconds=round(time.monotonic() - started_at, 3), at=_now())


def result_of(job: Job) -> Result:
    """The result of a finished job, without verdicts. Pure."""
    reason = job["reason"]
    lost = f"{reason}: {job['detail']}" if reason in NOT_THE_MODELS else None
    runs: Sequence[Mapping[str, Any]] = job["runs"]
    return Result(
        id="",
        repeat=0,
        job=job["id"],
        status=job["status"],
        reason=reason,
        why_not="cancelled" if job["status"] == "cancelled" else lost,
        revisions=len(job["critiques"]),
        runs=len(runs),
        failures=tuple(_failure(run) for run in runs if not run["succeeded"]),
        cost=job["cost"]["total"],
        worked_seconds=job["ran_seconds"],
        job_seconds=_seconds_between(job["created_at"], job["finished_at"]),
    )


class _Judging:
    """Fetches the candidates of one job, and judges them."""

    def __init__(self, jobs: ExerciseJobs, at: Try[Exercise], job: Job) -> None:
        self._jobs = jobs
        self._exercise = at.exercise
        self._key = at.key
        self._job = job
        self._id = str(job["id"])

    def verdicts(self, events: Sequence[ObservedEvent]) -> tuple[SolutionVerdict, SolutionVerdict]:
        """Verdicts on the first attempt and on the final files; the same files are run once."""
        first_candidate, last = self._first(events), self._last()
        first = self._judge_candidate(first_candidate, "first", self._files(first_candidate))
        if digest(first_candidate.versions) == digest(last.versions):
            return first, replace(first)
        return first, self._judge_candidate(last, "final", {}, self._id)

    def _first(self, events: Sequence[ObservedEvent]) -> Candidate:
        exercise = self._exercise
        candidate = first_attempt(events, exercise.solution, exercise.files)
        start_digests = {name: digest_of(text) for name, text in exercise.files.items()}
        return self._with_full_texts(
            Candidate({**start_digests, **candidate.versions}, candidate.program)
        )

    def _last(self) -> Candidate:
        state = {file["path"]: file["digest"] for file in self._jobs.files(self._id)}
        missing = self._exercise.solution not in state
        return self._with_full_texts(
            Candidate(state, stand_in(self._job["runs"]) if missing else None)
        )

    def _with_full_texts(self, candidate: Candidate) -> Candidate:
        """The candidate with the digest of the program that replaces the solution, if any."""
        program = None if candidate.program is None else self._program(candidate.program)
        if program is None:
            return replace(candidate, program=None)
        name = self._exercise.solution
        return replace(candidate, versions={**candidate.versions, name: digest_of(program)})

    def _files(self, candidate: Candidate) -> dict[str, str]:
        """The text files of a candidate; others cannot be sent as JSON."""
        files = dict(self._exercise.files)
        for name, version in candidate.versions.items():
            if name in files and version == digest_of(files[name]):
                continue
            if candidate.program is not None and name == self._exercise.solution:
                continue
            text = as_text(self._jobs.artifact(self._id, name, digest=version))
            if text is not None:
                files[name] = text
        return files

    def _judge_candidate(
        self, candidate: Candidate, which: str, files: dict[str, str], base: str | None = None
    ) -> SolutionVerdict:
        name = self._exercise.solution
        state = digest(candidate.versions)
        if name not in candidate.versions:
            return SolutionVerdict(False, NO_SOLUTION.format(name=name), digest=state)
        if (
            candidate.program is not None
            and (program := self._program(candidate.program)) is not None
        ):
            files = {**files, name: program}
        once = f"{self._key}-{which}"
        verdict = verify(self._jobs, self._exercise, files, once=once, base=base)
        return replace(verdict, digest=state)

    def _program(self, number: int) -> str | None:
        """The code of a Python run; None for a command line, which cannot be imported."""
        run = next(run for run in self._job["runs"] if run["number"] == number)
        if run.get("tool", "python") != "python":
            return None
        code = run["code"]
        return self._jobs.text(code["href"]) if code["digest"] else str(code["text"])


def _models(events: Sequence[ObservedEvent]) -> tuple[str, ...]:
    calls = (event for event in events if event.kind == "model_called")
    return tuple(sorted({str(event.data["model"]) for event in calls}))


def _failure(run: Mapping[str, Any]) -> str:
    """The class of a failed run, else how it ended."""
    failure = run.get("failure")
    return str(failure["class"]) if failure else str(run["end"])


def _seconds_between(start: str | None, end: str | None) -> float:
    if start is None or end is None:
        return 0.0
    span = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return round(span.total_seconds(), 3)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
