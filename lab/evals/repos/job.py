"""One task on a repository through the service: a job or two, then the hidden tests over the
patch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from cli.client import Job
from fettle import Service
from lab.evals.report.results import Result, SolutionVerdict
from lab.evals.repos.halves import task_halves
from lab.evals.repos.task import RepoTask
from lab.evals.repos.verifying import Verifying
from lab.evals.run.exercise_job import Verdicts, finished_result
from lab.evals.run.hidden_tests import WHY_CHARACTERS
from lab.evals.run.request import MeasurementRequest
from lab.evals.run.tries import Try

NO_CHANGE = "it changed nothing"
NO_TERMS: Mapping[str, Any] = MappingProxyType({})


def worker(
    verifying: Verifying, terms: Mapping[str, Any] = NO_TERMS
) -> Callable[[Service, MeasurementRequest, Try[RepoTask]], Result]:
    """The function that works on a try, like `work_on_exercise` of `lab.evals.run.exercise_job`.
    `terms` are further fields of each job."""

    def work(service: Service, request: MeasurementRequest, at: Try[RepoTask]) -> Result:
        started_at = time.monotonic()
        task = at.exercise
        bundle, commit, setup = verifying.bundle(task)
        text, then = task_halves(task) if request.follow_up else (task.problem, None)
        spec = {"task": text, "repo": {"ref": commit}, **request.terms, **terms}
        if setup and installs(service.system()):
            spec["setup"] = setup
        job_id = str(service.submit(spec, bundle=bundle.read_bytes(), once=at.key)["id"])
        merged_patch = b""
        if then is not None:
            patch = _finished_patch(service, job_id)
            spec = {**spec, "task": then, "conversation_id": job_id}
            new_bundle = None
            if task.merged and patch:
                path, commit = verifying.merge(task, patch)
                new_bundle, merged_patch = path.read_bytes(), patch
                spec["repo"] = {"ref": commit}
            else:
                del spec["repo"]
            job_id = str(service.submit(spec, bundle=new_bundle, once=f"{at.key}-then")["id"])

        def verdicts(final_job: Job, _: object) -> Verdicts:
            return None, _verdict(verifying, service, task, final_job, merged_patch)

        return finished_result(service, job_id, at, started_at, verdicts)

    return work


def _finished_patch(service: Service, job_id: str) -> bytes:
    """Wait for the end of the job; returns its patch, empty without a change."""
    for _ in service.events(job_id):
        pass
    result: dict[str, Any] = service.job(job_id)["result"] or {}
    return service.patch(job_id) if result.get("patch") else b""


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


def _verdict(
    verifying: Verifying, service: Service, task: RepoTask, job: Job, merged_patch: bytes
) -> SolutionVerdict:
    """The hidden tests' verdict on the job's patch, over the patch that was merged before it.
    Raises NotVerified."""
    result: dict[str, Any] = job["result"] or {}
    patch = merged_patch + (service.patch(str(job["id"])) if result.get("patch") else b"")
    if not patch:
        return SolutionVerdict(False, NO_CHANGE)
    answer = verifying.verdict(task, "patch", patch)
    digest = sha256(patch).hexdigest()
    return SolutionVerdict(answer["passed"], answer["why"][:WHY_CHARACTERS], digest=digest)
