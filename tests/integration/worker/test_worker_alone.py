"""Jobs that crashed twice run alone: one process per job, few at once, regardless of the number of
hints.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import one_run
from support.processes.deployment import MORTAL, Deployment, ok, running_deployment

from jobs.model.record import Status
from jobs.model.spec import JobSpec, Priority
from jobs.queue.hints import Hints
from jobs.service import Operations
from jobs.transitions.lifecycle import Policy
from lab.drills import process_tree
from worker.isolation import AT_ONCE, START_MS

JOBS = 5
STARTED = '"job runs alone"'
LOADED_SECONDS = 90
"""A process loads the worker within this time, also on a busy machine."""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path) as started_deployment:
        yield started_deployment


async def crashed_twice(deployment: Deployment, operations: Operations, model: str) -> str:
    """A job whose last two workers have died."""
    job_id = await deployment.submit(operations, JobSpec(task="alone", model=model))
    hasty = Operations(operations.store, lambda *_: None, Policy(lease_ms=1))
    for crash in (1, 2):
        ok(await hasty.claim(job_id, f"gone-{crash}"))
        await asyncio.sleep(0.01)
        await hasty.sweep()
    return job_id


def alone(deployment: Deployment) -> int:
    """The number of workers' processes that each work on a single job."""
    workers = {worker.pid for worker in deployment.workers}
    lone_processes = [p for p in process_tree.below(*workers) if "--alone" in p.command and p.lives]
    lone = {p.pid for p in lone_processes}
    # A child has this name until its exec.
    return len([p for p in lone_processes if p.parent not in lone])


async def test_a_job_that_runs_alone_gets_one_process_for_many_hints(
    deployment: Deployment,
) -> None:
    model = deployment.record("alone", one_run("alone", "print('x')"))
    async with deployment.operations() as operations:
        ids = [await crashed_twice(deployment, operations, model) for _ in range(JOBS)]
        workers = [deployment.worker(), deployment.worker()]
        await deployment.ready(2)
        hints = Hints(deployment.broker_url)
        most = 0
        waiting = set(ids)
        async with asyncio.timeout(60):
            while waiting:
                for job_id in waiting:
                    hints.send(job_id, Priority.NORMAL)
                most = max(most, alone(deployment))
                await asyncio.sleep(0.25)
                records = [await deployment.record_of(operations, job_id) for job_id in waiting]
                waiting -= {job.id for job in records if job.status.final}
        hints.close()
        finished_jobs = [await deployment.record_of(operations, job_id) for job_id in ids]
    assert {job.status for job in finished_jobs} == {Status.SUCCEEDED}, deployment.logs()
    assert deployment.logs().count(STARTED) == JOBS
    assert 0 < most <= AT_ONCE * len(workers)


@pytest.mark.invariant("J8")
async def test_a_process_that_ends_before_its_claim_leaves_the_job_to_another_worker(
    deployment: Deployment,
) -> None:
    """The lock on the job's next claim is released when its worker has drained, long before the
    lock expires.
    """
    model = deployment.record("alone", one_run("alone", "print('x')"))
    async with deployment.operations() as operations:
        job_id = await crashed_twice(deployment, operations, model)
        deadly = deployment.worker(fail_point="before_claim", lease_seconds=MORTAL)
        await deployment.logged("job's own process ended", seconds=LOADED_SECONDS)
        deadly.send_signal(signal.SIGTERM)
        assert deadly.wait(30) == 0
        processes = deployment.logs().count(STARTED)
        deployment.worker()
        await deployment.ready(2)
        await operations.hint_again(job_id)
        await deployment.logged(STARTED, processes + 1, START_MS / 2_000)
        finished_jobs = await deployment.until(operations, job_id, seconds=LOADED_SECONDS)
    assert finished_jobs.status is Status.SUCCEEDED, deployment.logs()


@pytest.mark.invariant("J8")
async def test_a_worker_that_dies_with_its_process_leaves_the_job_to_another_worker(
    deployment: Deployment,
) -> None:
    """The process is killed at its claim. Because it might still claim the job, another process
    starts only after the lock on that claim has expired.
    """
    model = deployment.record("alone", one_run("alone", "print('x')"))
    async with deployment.operations() as operations:
        job_id = await crashed_twice(deployment, operations, model)
        deadly = deployment.worker(fail_point="before_claim", lease_seconds=MORTAL)
        await deployment.logged(STARTED)
        deadly.kill()
        deadly.wait()
        deployment.worker()
        await deployment.logged(STARTED, 2, START_MS / 1_000 + 30)
        finished_jobs = await deployment.until(operations, job_id, seconds=LOADED_SECONDS)
    assert finished_jobs.status is Status.SUCCEEDED, deployment.logs()
