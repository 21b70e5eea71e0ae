"""The hidden tests as verification jobs: they run in a worker's sandbox, without a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cli.client import Job
from jobs.benchmarks import ExerciseJobs
from lab.evals.report.results import SolutionVerdict
from lab.evals.sources.exercise import Exercise, Files

LABEL = "bench"
WHY_CHARACTERS = 300
BY_EXIT_CODE = "by exit code alone"
"""The note on a verdict that is based only on an exit code."""


class NotVerified(Exception):
    """The service could not run the tests; its text is the job's reason."""


def verify(
    jobs: ExerciseJobs,
    exercise: Exercise,
    files: Files,
    *,
    once: str,
    base: str | None = None,
) -> SolutionVerdict:
    """Run the exercise's tests over `files`, on top of the final workspace of the job `base`.

    Raises NotVerified if that fails, and the errors of `jobs`.
    """
    request: dict[str, Any] = {
        "files": dict(files),
        "checks": {"files": dict(exercise.tests), "command": exercise.command},
        "labels": [LABEL],
    }
    job = jobs.verify(request | ({"job_id": base} if base else {}), once=once)
    for _ in jobs.events(job["id"]):
        pass
    return verdict_of(jobs.job(job["id"]))


def digest(versions: Mapping[str, str]) -> str:
    """The digest of a workspace."""
    return hashlib.sha256(json.dumps(sorted(versions.items())).encode()).hexdigest()


def digest_of(text: str) -> str:
    """The digest of a text, as in a workspace."""
    return hashlib.sha256(text.encode()).hexdigest()


def verdict_of(job: Job) -> SolutionVerdict:
    """The verdict of a verification. Raises NotVerified if it failed."""
    if job["status"] != "succeeded":
        raise NotVerified(job["reason"] or job["status"])
    report = job["result"]["checks"]
    passed = bool(report["passed"])
    alone = BY_EXIT_CODE if report.get("judged_by") == "exit_code" else ""
    return SolutionVerdict(passed, alone if passed else failure_reason(report), job["id"])


def failure_reason(report: Mapping[str, Any]) -> str:
    """Why checks have not passed, in one line. A problem that ended all of them comes first, since
    it is also why tests are missing."""
    if report["problem"]:
        return str(report["problem"])[:WHY_CHARACTERS]
    bad = [test for test in report["tests"] if test["outcome"] not in {"passed", "skipped"}]
    if bad:
        detail = _last_line(bad[0].get("detail") or "")
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        return f"{bad[0]['id']} {bad[0]['outcome']}{more}: {detail}"[:WHY_CHARACTERS]
    return "no test was run"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
