"""Many jobs at once, from their submission to the end of the last job."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from cli.errors import CliError
from jobs.model.record import Status
from jobs.model.spec import JobSpec
from jobs.service import Operations, Submission
from lab.benchmarks.scale import model
from lab.benchmarks.scale.deployment import ScaleDeployment
from lab.benchmarks.scale.figures import FlightRun
from lab.benchmarks.scale.memory import Peak

TENANT = "bench"
LOOK_SECONDS = 0.05
MOST_SECONDS = 240


async def fly(target: ScaleDeployment, jobs: int, seconds: float) -> FlightRun:
    """Run this number of jobs with a model that takes `seconds` per call. Raises CliError if a job
    takes another course, because the sides cannot be compared then.
    """
    name = model.flight(seconds)
    with target.operations() as operations:
        try:
            ended_count = await _count_ended(operations)
            with Peak(target.workers) as peak:
                started_at = time.perf_counter()
                admissions = (admit(operations, name, MOST_SECONDS) for _ in range(jobs))
                ids = await asyncio.gather(*admissions)
                await _wait_for_all(operations, ended_count + jobs)
                took = time.perf_counter() - started_at
            for job_id in ids:
                await _check(operations, job_id)
        finally:
            await operations.store.close()
    return FlightRun(took, peak.most)


async def admit(operations: Operations, name: str, timeout_seconds: int) -> str:
    """Submit a job of the model `name`; returns its id."""
    spec = JobSpec(task=model.TASK, model=name, timeout_seconds=timeout_seconds)
    submitted = await operations.submit(TENANT, spec, by="bench")
    assert isinstance(submitted, Submission), submitted
    return submitted.record.id


async def _wait_for_all(operations: Operations, count: int) -> None:
    """Wait until this number of jobs has ended."""
    deadline = time.monotonic() + MOST_SECONDS
    while (ended_count := await _count_ended(operations)) < count:
        if time.monotonic() > deadline:
            raise CliError("jobs do not end", f"{count - ended_count} are left")
        await asyncio.sleep(LOOK_SECONDS)


async def _count_ended(operations: Operations) -> int:
    counts = await operations.store.counts()
    return sum(count for status, count in counts.items() if status.final)


async def _check(operations: Operations, job_id: str) -> None:
    """Check that both sides did the same."""
    loaded = await operations.store.load(job_id)
    assert loaded is not None
    kinds = Counter(event.kind for event in await operations.store.events(job_id))
    tools = kinds["tool_used"] + kinds["run_finished"]
    done = (kinds["model_called"], tools, kinds["started"], loaded.record.status)
    if done != (model.FLIGHT_CALLS, model.FLIGHT_TOOLS, 1, Status.SUCCEEDED):
        raise CliError("a job took another course", f"{job_id}: {done}, {loaded.record.reason}")
