"""One task on a repository through the service: a job, then the hidden tests over its patch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from cli.client.service import Job, Service
from lab.evals.report.results import Result, Verdict
from lab.evals.repos.task import RepoTask
from lab.evals.repos.verifying import Verifying
from lab.evals.run.exercise_job import finished
from lab.evals.run.hidden_tests import WHY_CHARACTERS
from lab.evals.run.request import Asked
from lab.evals.run.tries import Try

NO_CHANGE = "it changed nothing"


def worker(verifying: Verifying) -> Callable[[Service, Asked, Try[RepoTask]], Result]:
    """What works on a try, as `lab.evals.run.exercise_job.work` does."""

    def work(service: Service, asked: Asked, at: Try[RepoTask]) -> Result:
        begun = time.monotonic()
        bundle, commit, setup = verifying.bundle(at.exercise)
        spec = {"task": at.exercise.problem, "repo": {"ref": commit}, **asked.terms}
        if setup and installs(service.system()):
            spec["setup"] = setup
        job = service.submit(spec, bundle=bundle.read_bytes(), once=at.key)
        return finished(
            service,
            str(job["id"]),
            at,
            begun,
            lambda ended, _: (None, _verdict(verifying, service, at.exercise, ended)),
        )

    return work


def installs(system: Mapping[str, Any]) -> bool:
    """Whether the service's workers install the dependencies of repositories. Pure."""
    workers = system.get("workers") or ()
    return bool(workers) and all(each.get("repositories", {}).get("setups") for each in workers)


def lacking(tasks: Sequence[RepoTask]) -> Callable[[Mapping[str, Any]], str | None]:
    """A warning about a service that installs none of the packages that these tasks name."""

    def warning(system: Mapping[str, Any]) -> str | None:
        named = sum(bool(task.setup) for task in tasks)
        if not named or installs(system):
            return None
        return f"{named} tasks name packages, and the service installs none (FETTLE_SETUP_HOSTS)"

    return warning


def _verdict(verifying: Verifying, service: Service, task: RepoTask, job: Job) -> Verdict:
    """The hidden tests' verdict on the job's patch. Raises NotVerified."""
    result: dict[str, Any] = job["result"] or {}
    if not result.get("patch"):
        return Verdict(False, NO_CHANGE)
    patch = service.patch(str(job["id"]))
    answer = verifying.verdict(task, "patch", patch)
    digest = sha256(patch).hexdigest()
    return Verdict(answer["passed"], answer["why"][:WHY_CHARACTERS], digest=digest)
