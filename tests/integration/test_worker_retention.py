"""Finished jobs are removed by the workers themselves, with all that was kept of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import one_run
from support.processes.deployment import House, a_house

from jobs.record import Status
from jobs.spec import JobSpec

CONSTANT = ("fettle:counts", "fettle:changes", "fettle:worker", "fettle:turn:", "fettle:numbers:")
"""What a house without jobs keeps: counts, of changes too, the workers that are there, whose turn
it is, and what the jobs of each day have added up to."""
BIG = "open('big.txt', 'w').write('x' * 100_000)\nprint('y' * 50_000)"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path, FETTLE_RETENTION_SWEEP_SECONDS="0.2") as made:
        yield made


def kept(house: House) -> list[Path]:
    return [path for path in (house.folder / "data" / "blobs").rglob("*") if path.is_file()]


async def left(operations) -> set[str]:
    keys = {key.decode() for key in await operations.store.redis.keys("fettle:*")}
    return {key for key in keys if not key.startswith(CONSTANT)}


async def test_after_all_jobs_have_expired_everything_is_where_it_was(house: House) -> None:
    model = house.record("big", one_run("write", BIG, seen="y" * 20))
    house.worker()
    async with house.operations() as operations:
        first = await house.submit(operations, JobSpec("write", model=model))
        record = await house.until(operations, first)
        assert record.status is Status.SUCCEEDED, house.logs()
        follow = JobSpec("write", model=model, conversation_id=first)
        assert (await house.until(operations, await house.submit(operations, follow))).result
        cancelled = await house.submit(operations, JobSpec("never", model=model))
        await operations.cancel(cancelled, "test")
        waiting = await house.submit(operations, JobSpec("write", model=model, review=True))
        await house.until(operations, waiting, Status.AWAITING_REVIEW)
        assert len(kept(house)) >= 3
        house.stop_workers()

        house.worker(retention_days="0.000001", blob_grace_seconds="0.2")
        async with asyncio.timeout(20):
            while await operations.store.load(first) or await operations.store.load(cancelled):
                await asyncio.sleep(0.05)
        # what waits for a person has lost nothing
        assert (await house.record_of(operations, waiting)).status is Status.AWAITING_REVIEW
        assert len(kept(house)) > 0
        await operations.cancel(waiting, "test")
        async with asyncio.timeout(20):
            while await left(operations) or kept(house):
                await asyncio.sleep(0.05)
        assert house.stop_workers() == [0]
