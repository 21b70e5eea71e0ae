"""Workers with faults: no sandbox, no money left, a stop in the middle of a call."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from support.graph.recorded import one_run
from support.processes.deployment import Deployment, running_deployment
from support.processes.scene import processes, waits_for_signal

from jobs.model.record import Status
from jobs.model.spec import JobSpec
from settings.sandbox import sandbox_python


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path) as started_deployment:
        yield started_deployment


MARK = f"runs-until-asked-{secrets.token_hex(4)}"
UNTIL_SIGNAL = f"open('left', 'w').write('x'); {waits_for_signal(MARK)}"


async def test_a_job_waits_for_a_worker_with_a_working_sandbox(deployment: Deployment) -> None:
    """A worker with a broken sandbox takes no job, and no job loses a try. After a repair, it takes
    jobs.
    """
    model = deployment.record("waits", one_run("waits", "print('x')"))
    python = deployment.folder / "python" / "bin" / "python"
    deployment.worker(sandbox_python=str(python))
    await deployment.ready()
    async with deployment.operations() as operations:
        job_id = await deployment.submit(operations, JobSpec(task="waits", model=model))
        async with asyncio.timeout(20):  # its first heartbeat may come after its first log lines
            while not (announced := await operations.store.workers()):
                await asyncio.sleep(0.02)
        (announced,) = announced
        assert announced["sandbox"]["works"] is False
        assert "make install" in announced["sandbox"]["why"]
        await asyncio.sleep(1)  # in this time, the hint of the job and the sweeper's hint arrive
        assert await deployment.kinds(operations, job_id) == ["submitted"]
        python.parent.parent.symlink_to(sandbox_python().parent.parent)
        job = await deployment.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        assert (job.attempts, job.retries) == (1, 0)
        async with asyncio.timeout(20):
            while not (await operations.store.workers())[0]["sandbox"]["works"]:
                await asyncio.sleep(0.1)


async def test_a_run_that_ends_while_redis_refuses_writes_is_not_repeated(
    deployment: Deployment,
) -> None:
    """The attempt can store its files only after the outage; it waits and keeps its results."""
    model = deployment.record("once", one_run("once", UNTIL_SIGNAL))
    deployment.worker()
    async with deployment.operations() as operations:
        client = operations.store.redis  # type: ignore[attr-defined]
        job_id = await deployment.submit(operations, JobSpec(task="once", model=model))
        started_deployment: set[int] = set()
        async with asyncio.timeout(20):
            while not (started_deployment := processes(MARK)):
                await asyncio.sleep(0.01)
            await client.config_set("min-replicas-to-write", 1)
            for process in started_deployment:
                os.kill(process, signal.SIGUSR1)
            while processes(MARK):
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        await client.config_set("min-replicas-to-write", 0)
        while not (job := await deployment.record_of(operations, job_id)).status.final:
            started_deployment |= processes(MARK)
            await asyncio.sleep(0.01)
        assert (job.status, job.attempts, len(started_deployment)) == (Status.SUCCEEDED, 1, 1), (
            deployment.logs()
        )
        assert "given_back" not in await deployment.kinds(operations, job_id)


async def test_a_sandbox_that_breaks_during_a_job_uses_no_try(deployment: Deployment) -> None:
    """The job of the interrupted run returns to the queue, paid calls stay paid, and the job ends
    after the repair.
    """
    link = deployment.folder / "python"
    link.symlink_to(sandbox_python().parent.parent)
    deployment.worker(sandbox_python=str(link / "bin" / "python"))
    await deployment.ready()
    # The first run continues until then; the next run finds the sandbox broken.
    until = time.time() + 4
    breaks = f"import time; time.sleep(max(0.0, {until} - time.time())); print('x')"
    model = deployment.record("breaks", one_run("breaks", breaks))
    async with deployment.operations() as operations:
        job_id = await deployment.submit(operations, JobSpec(task="breaks", model=model))
        await deployment.wait_for_event(operations, job_id, "model_called", times=2)
        link.unlink()
        while not (supervisor := deployment.child_of_worker("sandbox.local")):
            await asyncio.sleep(0.01)
        os.kill(supervisor, signal.SIGKILL)
        await deployment.wait_for_event(operations, job_id, "given_back")
        await asyncio.sleep(1)
        loaded = await operations.store.load(job_id)
        assert loaded is not None
        assert (loaded.record.status, loaded.record.retries) == (Status.QUEUED, 0)
        link.symlink_to(sandbox_python().parent.parent)
        job = await deployment.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        event_kinds = await deployment.kinds(operations, job_id)
        assert (event_kinds.count("given_back"), event_kinds.count("run_finished")) == (1, 1)
        assert event_kinds.count("model_called") == len(await operations.store.charges(job_id)) == 4


def test_an_invalid_setting_is_named_and_ends_the_worker(deployment: Deployment) -> None:
    worker = deployment.worker(sandbox="other")
    assert worker.wait(60) == 2
    assert "FETTLE_SANDBOX (environment): Input should be 'local' or 'docker'" in deployment.logs()
    assert "Traceback" not in deployment.logs()


def test_production_refuses_a_redis_without_persistence(deployment: Deployment) -> None:
    with redis.Redis.from_url(deployment.redis_url) as client:
        client.config_set("appendonly", "no")
    worker = deployment.worker(env="production")
    assert worker.wait(30) == 1
    assert "appendonly" in deployment.logs()
