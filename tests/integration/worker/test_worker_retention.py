"""Workers remove finished jobs, with all data that was stored for them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import one_run
from support.processes.deployment import Deployment, running_deployment

from jobs.model.record import Status
from jobs.model.spec import JobSpec

CONSTANT = (
    *("fettle:counts", "fettle:changes", "fettle:worker", "fettle:turn:", "fettle:numbers:"),
    *("fettle:fleet", "fettle:audit"),
)
"""What a deployment without jobs keeps: counts, live workers, leader locks, daily totals, rules,
the audit log."""
BIG = "open('big.txt', 'w').write('x' * 100_000)\nprint('y' * 50_000)"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, FETTLE_RETENTION_SWEEP_SECONDS="0.2") as started_deployment:
        yield started_deployment


def stored_paths(deployment: Deployment) -> list[Path]:
    return [path for path in (deployment.folder / "data" / "blobs").rglob("*") if path.is_file()]


async def remaining_keys(operations) -> set[str]:
    keys = {key.decode() for key in await operations.store.redis.keys("fettle:*")}
    return {key for key in keys if not key.startswith(CONSTANT)}


async def test_after_all_jobs_have_expired_redis_and_directory_are_as_before(
    deployment: Deployment,
) -> None:
    model = deployment.record("big", one_run("write", BIG, result_text="y" * 20))
    deployment.worker()
    async with deployment.operations() as operations:
        first = await deployment.submit(operations, JobSpec("write", model=model))
        record = await deployment.until(operations, first)
        assert record.status is Status.SUCCEEDED, deployment.logs()
        follow = JobSpec("write", model=model, conversation_id=first)
        assert (
            await deployment.until(operations, await deployment.submit(operations, follow))
        ).result
        cancelled = await deployment.submit(operations, JobSpec("never", model=model))
        await operations.cancel(cancelled, "test")
        waiting = await deployment.submit(operations, JobSpec("write", model=model, review=True))
        await deployment.until(operations, waiting, Status.AWAITING_REVIEW)
        assert len(stored_paths(deployment)) >= 3
        deployment.stop_workers()

        deployment.worker(retention_days="0.000001", blob_grace_seconds="0.2")
        async with asyncio.timeout(20):
            while await operations.store.load(first) or await operations.store.load(cancelled):
                await asyncio.sleep(0.05)
        # a job that waits for a person has lost no data
        assert (await deployment.record_of(operations, waiting)).status is Status.AWAITING_REVIEW
        assert len(stored_paths(deployment)) > 0
        await operations.cancel(waiting, "test")
        async with asyncio.timeout(20):
            while await remaining_keys(operations) or stored_paths(deployment):
                await asyncio.sleep(0.05)
        assert deployment.stop_workers() == [0]
