"""One task on a repository through the service: a job, then the hidden tests over its patch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from cli.client.service import Job, Service
from lab.evals.report.results import Result, SolutionVerdict
from lab.evals.repos.task import RepoTask
from lab.evals.repos.verifying import Verifying
from lab.evals.run.exercise_job import finished_result
from lab.evals.run.hidden_tests import WHY_CHARACTERS
from lab.evals.run.request import MeasurementRequest
from lab.evals.run.tries import Try

NO_CHANGE = "it changed nothing"


def worker(verifying: Verifying) -> Callable[[Service, MeasurementRequest, Try[RepoTask]], Result]:
    """The function that works on a try, like `work_on_exercise` of `lab.evals.run.exercise_job`."""

    def work(service: Service, request: MeasurementRequest, at: Try[RepoTask]) -> Result:
        started_at = time.monotonic()
        bundle, commit, setup = verifying.bundle(at.exercise)
        spec = {"task": at.exercise.problem, "repo": {"ref": commit}, **request.terms}
        if setup and installs(service.system()):
            spec["setup"] = setup
        job = service.submit(spec, bundle=bundle.read_bytes(), once=at.key)
        return finished_result(
            service,
            str(job["id"]),
            at,
            started_at,
            lambda ended, _: (None, _verdict(verifying, service, at.exercise, ended)),
        )

    return work


def installs(system: Mapping[str, Any]) -> bool:
    """Whether the service's workers install the dependencies of repositories. Pure."""
    workers = system.get("workers") or ()
    return bool(workers) and all(worker.get("repositories", {}).get("setups") for worker in workers)


def lacking_setups(tasks: Sequence[RepoTask]) -> Callable[[Mapping[str, Any]], str | None]:
    """A warning about a service that does not install the packages that these tasks name."""

    def warning(system: Mapping[str, Any]) -> str | None:
        tasks_with_setup = sum(bool(task.setup) for task in tasks)
        if not tasks_with_setup or installs(system):
            return None
        lacking = "the service installs no packages (FETTLE_SETUP_HOSTS)"
        return f"{tasks_with_setup} tasks name packages, and {lacking}"

    return warning


def _verdict(verifying: Verifying, service: Service, task: RepoTask, job: Job) -> SolutionVerdict:
    """The hidden tests' verdict on the job's patch. Raises NotVerified."""
    result: dict[str, Any] = job["result"] or {}
    if not result.get("patch"):
        return SolutionVerdict(False, NO_CHANGE)
    patch = service.patch(str(job["id"]))
    answer = verifying.verdict(task, "patch", patch)
    digest = sha256(patch).hexdigest()
    return SolutionVerdict(answer["passed"], answer["why"][:WHY_CHARACTERS], digest=digest)
