"""Two worker processes together respect a provider's rate limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.working_model import works
from support.processes.deployment import Deployment, running_deployment

from jobs.model.record import Status
from jobs.model.spec import JobSpec
from lab.provider import ProviderServer, Refusal, Request, Turn

LLAMA = "groq:llama-3.3-70b-versatile"
RATE = 6
PERIOD = 1.0
LATE = 1.2
"""The seconds from a request's turn to its arrival at the provider: the machine may be busy."""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as started_deployment:
        yield started_deployment


async def test_two_workers_together_respect_a_rate_and_a_hold(
    deployment: Deployment,
) -> None:
    refused_at: list[float] = []

    def busy_once(request: Request) -> Turn:
        if len(server.requests) == 2 * RATE:
            refused_at.append(request.at)
            return Refusal(429, retry_after=2.5)
        return works(request)

    with ProviderServer(busy_once) as server:
        for _ in range(2):
            deployment.worker(groq_base_url=server.groq_url, rate_groq=f"{RATE}/second")
        async with deployment.operations() as operations:
            await deployment.ready(workers=2)
            spec = JobSpec(task="work", model=LLAMA)
            started = time.monotonic()
            jobs = [await deployment.submit(operations, spec) for _ in range(8)]
            finished_jobs = [
                await deployment.until(operations, job_id, seconds=60) for job_id in jobs
            ]
        assert {job.status for job in finished_jobs} == {Status.SUCCEEDED}, deployment.logs()
        assert len({job.retries for job in finished_jobs}) == 1  # a wait is not a failure
        times = sorted(request.at for request in server.requests)
        assert len(times) == 8 * 4 + 1
        for turn, at in enumerate(times):  # no request before its turn, though some may be late
            assert at - started > turn // RATE * PERIOD - 0.1
        (refused,) = refused_at
        assert not [at for at in times if refused + LATE < at < refused + 2.5 - 0.05]
