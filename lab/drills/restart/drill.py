"""The drill: submit, wait for the pauses, kill all programs, start them again, approve, check."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from cli.local.processes import Child
from fettle import Service
from fettle.events import FINAL
from lab.drills.restart import judging
from lab.drills.restart.deployment import ScratchDeployment, scratch_deployment
from lab.drills.restart.judging import JobState

RECORDINGS = Path(__file__).resolve().parent.parent / "recordings"
SPEC = {
    "task": "Write the squares of 1 to 10 into a file.",
    "review": True,
    "model": "recording:restart",
    "labels": ["drill"],
}


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """The result of one job; `wrong` is empty if there is no fault."""

    job_id: str
    status: str
    workers: int
    calls_before: int
    calls_after: int
    runs_after: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestartOutcome:
    """`down_seconds` is the time from the kill to the first answer, `done_seconds` from the
    approval to the end.
    """

    verdicts: tuple[JobVerdict, ...]
    down_seconds: float
    done_seconds: float

    @property
    def passed(self) -> bool:
        """Whether no job has a fault."""
        return bool(self.verdicts) and not any(verdict.wrong for verdict in self.verdicts)


def drill(jobs: int, say: Callable[[str], None]) -> RestartOutcome:
    """Run the drill on a new deployment. Raises CliError if the deployment does not start."""
    with scratch_deployment({"FETTLE_RECORDINGS_DIR": str(RECORDINGS)}) as deployment:
        programs = (deployment.start_redis(), deployment.start_api(), deployment.start_worker())
        say(f"{jobs} jobs, each until it asks a person")
        with deployment.service() as service:
            ids = [service.submit(SPEC)["id"] for _ in range(jobs)]
            _all(deployment, service, ids, {"awaiting_review"}, *programs)
            before = _job_states(service, ids)
        say("kill -9 of worker, API and Redis; Redis and API again, on the same data")
        killed = time.monotonic()
        deployment.kill(*reversed(programs))
        deployment.start_redis()
        deployment.start_api()
        down = time.monotonic() - killed
        with deployment.service() as service:
            between = _job_states(service, ids)
            say("approved while no worker runs; then a worker")
            approved = time.monotonic()
            for job_id in ids:
                service.decide(job_id, {"action": "approve"})
            worker = deployment.start_worker()
            _all(deployment, service, ids, FINAL, worker)
            done = time.monotonic() - approved
            verdicts = [_verdict(service, *pair) for pair in zip(before, between, strict=True)]
        return RestartOutcome(tuple(verdicts), round(down, 2), round(done, 2))


def _job_states(service: Service, ids: list[str]) -> list[JobState]:
    return [JobState.of(service.job(job_id)) for job_id in ids]


def _all(
    deployment: ScratchDeployment,
    service: Service,
    ids: list[str],
    statuses: Collection[str],
    *programs: Child,
) -> None:
    """Wait until every job is in one of the statuses, or in a final one."""
    expected = FINAL.union(statuses)

    def arrived() -> bool:
        return all(service.job(job_id)["status"] in expected for job_id in ids)

    deployment.wait_until(arrived, f"every job is {' or '.join(sorted(statuses))}", *programs)


def _verdict(service: Service, before: JobState, between: JobState) -> JobVerdict:
    """Follow a job to its end, and judge it."""
    events = list(service.events(before.id))
    after = JobState.of(service.job(before.id))
    wrong = (
        *judging.paused(before),
        *judging.lost_facts(before, between),
        *judging.finished(before, after, events),
    )
    return JobVerdict(
        job_id=before.id,
        status=after.status,
        workers=len(judging.workers(events)),
        calls_before=before.calls,
        calls_after=after.calls,
        runs_after=len(after.runs),
        wrong=wrong,
    )
